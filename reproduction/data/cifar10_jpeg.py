"""A copy of CIFAR-10 in which the images are stored as JPEG.

It is the file ``cifar10/cifar10-jpeg.npz`` in ``BITFOLD_DATA``. Its images have another order than
those of the original, so that the same seed draws other queries.
"""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from PIL import Image

from bitfold.errors import FormatError
from bitfold.io.cache import cache_rows, make_cache_folder
from bitfold.io.download import find_file
from bitfold.io.formats.request import translate_errors
from reproduction.shared_types import AnyArray, UInt8Array

FILE_NAME = "cifar10-jpeg.npz"
SIDE = 32

_ROWS_PER_BLOCK = 2048


def find_jpeg_copy() -> Path | None:
    """Return the path of the copy, or None."""
    return find_file(["cifar10", ""], [FILE_NAME])


def read_jpeg_copy(path: Path, digest: str) -> tuple[UInt8Array, UInt8Array]:
    """Return images (n, 32, 32, 3) and labels; images are decoded once and kept in the cache.

    Parameters
    ----------
    path
        The copy.
    digest
        Digest of its content, which becomes part of a file name in the cache.

    Raises
    ------
    FormatError
        If the file is damaged.
    """
    with translate_errors(path, "an archive of JPEG images"):
        with np.load(path, allow_pickle=False) as archive:
            data, offsets, labels = (archive[key] for key in ("data", "offsets", "labels"))
        if len(offsets) != len(labels) + 1:
            raise FormatError(f"{path} has {len(offsets) - 1} images, but {len(labels)} labels.")
        images = cache_rows(
            make_cache_folder("cifar10") / f"jpeg-{digest}.npy",
            (len(labels), SIDE, SIDE, 3),
            np.uint8,
            lambda rows: _decode_images(data, offsets[rows.start : rows.stop + 1]),
            step=_ROWS_PER_BLOCK,
            stage="JPEG",
        )
    return images, np.asarray(labels, np.uint8)


def _decode_images(data: UInt8Array, offsets: AnyArray) -> UInt8Array:
    """Decode the JPEG images between consecutive offsets."""
    pairs = zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
    return np.array([_decode_image(data[start:stop].tobytes()) for start, stop in pairs])


def _decode_image(content: bytes) -> UInt8Array:
    with Image.open(io.BytesIO(content), formats=["JPEG"]) as image:
        # Checked before decoding: a header may announce any size.
        if image.size != (SIDE, SIDE):
            raise ValueError(f"an image of size {image.size}")
        return np.asarray(image.convert("RGB"))
