"""Decoding of untrusted images: limits by memory, and what large images become."""

from __future__ import annotations

import io
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from PIL import Image

from bitfold.explorer.decoding import (
    MAX_DECODING_BYTES,
    InvalidImageError,
    _has_several_scans,
    decode_image,
)

MEASURE = """
import sys
from bitfold.explorer.decoding import MAX_DECODING_BYTES, InvalidImageError, decode_image

def read(name):
    lines = open("/proc/self/status", encoding="ascii")
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(name))

content = sys.stdin.buffer.read()
before = read("VmRSS")
try:
    decode_image(content, MAX_DECODING_BYTES)
except InvalidImageError as error:
    print(error)
print(read("VmHWM") - before)
"""


def to_file(form: str, size: tuple[int, int], mode: str = "RGB", **options: Any) -> bytes:
    """Return an image of large squares."""
    squares = np.random.default_rng(0).integers(0, 255, (6, 8, 3), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(squares).resize(size, 0).convert(mode).save(file, form, **options)
    return file.getvalue()


LARGE: dict[str, tuple[str, tuple[int, int], str, dict[str, Any]]] = {
    "png": ("PNG", (8000, 6000), "RGB", {}),
    "png, allowed": ("PNG", (4800, 3300), "RGBA", {}),
    "jpeg": ("JPEG", (8000, 6000), "RGB", {}),
    "long jpeg": ("JPEG", (60_000, 800), "RGB", {}),
    "progressive": ("JPEG", (8000, 6000), "RGB", {"progressive": True, "subsampling": 0}),
    "progressive, allowed": ("JPEG", (4000, 3000), "CMYK", {"progressive": True}),
    "webp": ("WEBP", (8000, 6000), "RGB", {"quality": 10, "method": 0}),
    "webp, allowed": ("WEBP", (2900, 2500), "RGBA", {"lossless": True, "quality": 0, "method": 0}),
    "gif, allowed": ("GIF", (4800, 3300), "P", {"transparency": 0}),
    "bmp, allowed": ("BMP", (4800, 1100), "RGB", {}),
}


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
@pytest.mark.parametrize("name", LARGE)
def test_decoding_needs_at_most_200_megabytes(name: str) -> None:
    form, size, mode, options = LARGE[name]
    content = to_file(form, size, mode, **options)
    done = subprocess.run(
        [sys.executable, "-c", MEASURE], input=content, capture_output=True, check=True
    )
    *error, grown = done.stdout.decode().splitlines()
    assert float(grown) < 180
    assert not (error and "allowed" in name)


def test_a_large_image_is_reduced_to_the_same_picture() -> None:
    content = to_file("PNG", (4000, 3000))
    reduced, small = decode_image(content), decode_image(to_file("PNG", (40, 30)))
    assert reduced.size == (2000, 1500)
    difference = np.asarray(reduced.resize((40, 30), 0), int) - np.asarray(small, int)
    assert np.abs(difference).max() <= 2


def test_the_limit_names_what_is_allowed() -> None:
    with pytest.raises(InvalidImageError, match=r"at most 7\.27 million pixels, got 4000 × 3000"):
        decode_image(to_file("WEBP", (4000, 3000)), MAX_DECODING_BYTES)


@pytest.mark.parametrize(("options", "several"), [({}, False), ({"progressive": True}, True)])
@pytest.mark.parametrize("mode", ["L", "RGB", "CMYK"])
def test_scans_are_counted(options: dict[str, Any], several: bool, mode: str) -> None:
    content = to_file("JPEG", (64, 48), mode, **options)
    assert _has_several_scans(content) is several


def test_damaged_jpeg_counts_as_several_scans() -> None:
    content = to_file("JPEG", (64, 48))
    assert _has_several_scans(content[:20]) and _has_several_scans(b"\xff\xd8" + bytes(100))
