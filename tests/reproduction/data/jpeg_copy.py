"""A copy of CIFAR-10 in miniature."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from reproduction.shared_types import UInt8Array

RNG = np.random.default_rng(0)
N_IMAGES = 24
IMAGES = np.repeat(np.repeat(RNG.integers(0, 256, (N_IMAGES, 2, 2, 3)), 16, 1), 16, 2).astype(
    np.uint8
)
LABELS = (np.arange(N_IMAGES) * 7 % 10).astype(np.uint8)


def to_jpeg(images: UInt8Array) -> list[bytes]:
    contents = []
    for image in images:
        file = io.BytesIO()
        Image.fromarray(image).save(file, "JPEG", quality=95)
        contents.append(file.getvalue())
    return contents


def write_copy(path: Path, contents: list[bytes], **changed: Any) -> None:
    arrays = {
        "data": np.frombuffer(b"".join(contents), np.uint8),
        "offsets": np.cumsum([0, *map(len, contents)]),
        "labels": LABELS[: len(contents)],
    }
    np.savez(path, **(arrays | changed))
