"""What is searched for: an item, a base point, or what a visitor uploaded."""

from __future__ import annotations

import hashlib
import re
import threading
from collections import OrderedDict
from io import BytesIO
from typing import NamedTuple

import numpy as np

from bitfold import _validation
from bitfold._types import AnyArray, Float64Array
from bitfold.explorer.image_features import Reading
from bitfold.explorer.images import NoPicture, decode, png

MOST_BYTES = 16 << 20
"""Of an upload."""

_KEPT = 256
"""Uploads that are remembered."""

_NPY = b"\x93NUMPY"
_LONGEST_HEADER = 10_000


class Unknown(LookupError):
    """Raised when a query names nothing that is there."""


class Query(NamedTuple):
    """What is searched for; ``item`` or ``vector`` or both are known, and a picture may be."""

    key: str
    title: str
    item: int | None = None
    vector: Float64Array | None = None
    picture: str | None = None


class Upload(NamedTuple):
    """What a visitor gave: a vector, and the picture it came from, if any, as PNG."""

    key: str
    vector: Float64Array
    picture: bytes | None


class Uploads:
    """The last uploads; the same content has the same key."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Upload] = OrderedDict()
        self._lock = threading.Lock()

    def keep(self, vector: Float64Array, picture: bytes | None) -> Upload:
        """Remember an upload, and forget the oldest if there are many."""
        content = vector.tobytes() + (picture or b"")
        upload = Upload(f"upload:{hashlib.sha256(content).hexdigest()[:24]}", vector, picture)
        with self._lock:
            self._kept[upload.key] = upload
            self._kept.move_to_end(upload.key)
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return upload

    def __getitem__(self, key: str) -> Upload:
        with self._lock:
            if key not in self._kept:
                raise Unknown("This upload is no longer kept; upload it again.")
            self._kept.move_to_end(key)
            return self._kept[key]


def read_upload(content: bytes, reading: Reading | None) -> tuple[Float64Array, bytes | None]:
    """Make a vector of an upload: a picture, a .npy file, or numbers as text.

    Parameters
    ----------
    content
        Bytes from outside, whatever they may be.
    reading
        How pictures become vectors, if that is known.
    """
    if not content:
        raise ValueError("upload must be a picture or a vector, got nothing.")
    if content.startswith(_NPY):
        return _one_row(_from_npy(content)), None
    numbers = _from_text(content)
    if numbers is not None:
        return _one_row(numbers), None
    image = decode(content)
    if reading is None:
        raise NoPicture(
            "upload must be a vector here, got a picture: the model was not trained on pixels or "
            "GIST of the pictures that are shown."
        )
    return reading.vector(image), png(image)


def _one_row(values: AnyArray) -> Float64Array:
    if values.ndim == 2 and len(values) == 1:
        values = values[0]
    if values.ndim != 1 or not values.size or values.dtype.kind not in "fiub":
        came = f"{values.dtype} of shape {values.shape}"
        raise ValueError(f"upload must hold one vector of real numbers, got {came}.")
    vector = values.astype(np.float64)
    _validation.check_finite(vector[None], "the upload", name="vector")
    return vector


def _from_npy(content: bytes) -> AnyArray:
    """Read a .npy file; nothing is laid out that the file does not hold."""
    file = BytesIO(content)
    headers = np.lib.format.read_array_header_1_0, np.lib.format.read_array_header_2_0
    try:
        version = np.lib.format.read_magic(file)
        shape, _, dtype = headers[version != (1, 0)](file, max_header_size=_LONGEST_HEADER)
        n_items = int(np.prod([int(side) for side in shape], dtype=object))
        # A view of what came: it refuses objects, and more than the file holds.
        return np.frombuffer(content, dtype, n_items, file.tell()).reshape(shape)
    # Whatever numpy makes of a header that someone made up.
    except Exception:
        raise ValueError("upload must be a whole .npy file of numbers, got another.") from None


def _from_text(content: bytes) -> AnyArray | None:
    """Read numbers between commas or blanks, in brackets or not; None if it is no text."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    if not text.isprintable() and not re.fullmatch(r"[\s\x20-\x7e]*", text):
        return None
    words = re.split(r"[\s,;]+", text.strip().strip("[](){}").strip())
    try:
        return np.array([float(word) for word in words if word])
    except ValueError:
        raise ValueError(
            "upload must be a picture, a .npy file or numbers as text, got other text."
        ) from None
