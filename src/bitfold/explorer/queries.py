"""Queries: an item, a base point, or something a visitor uploaded."""

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
from bitfold.errors import BitfoldError, DataError
from bitfold.explorer.decoding import MAX_DECODING_BYTES, InvalidImageError, decode_image
from bitfold.explorer.image_features import ImageFeatures
from bitfold.explorer.images import encode_png
from bitfold.io import read_npy_header

MAX_UPLOAD_BYTES = 16 << 20

MAX_TEXT_BYTES = 1 << 20
"""Maximum size of a vector as text: in memory, a number is a hundred times larger than "1,"."""

_MAX_VALUES = 1 << 20
"""Maximum length of an uploaded vector; more than any model has features."""

_MAX_KEPT_UPLOADS = 256

_NPY_MAGIC = b"\x93NUMPY"


class NotFoundError(BitfoldError, LookupError):
    """A request names something that does not exist."""


class Query(NamedTuple):
    """A query: an item by its row, a vector, or a code; ``image`` is the path of its image."""

    key: str
    title: str
    item: int | None = None
    vector: Float64Array | None = None
    image: str | None = None
    code: str | None = None


class Upload(NamedTuple):
    """An uploaded vector, and the image it was computed from, if any, as PNG."""

    key: str
    vector: Float64Array
    image: bytes | None


class Uploads:
    """The most recent uploads; equal content has equal keys."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Upload] = OrderedDict()
        self._lock = threading.Lock()

    def keep(self, vector: Float64Array, image: bytes | None) -> Upload:
        """Store an upload, and drop the oldest if there are too many."""
        content = vector.tobytes() + (image or b"")
        upload = Upload(f"upload:{hashlib.sha256(content).hexdigest()[:24]}", vector, image)
        with self._lock:
            self._kept[upload.key] = upload
            self._kept.move_to_end(upload.key)
            while len(self._kept) > _MAX_KEPT_UPLOADS:
                self._kept.popitem(last=False)
        return upload

    def __getitem__(self, key: str) -> Upload:
        with self._lock:
            if key not in self._kept:
                raise NotFoundError("This upload has expired; upload it again.")
            self._kept.move_to_end(key)
            return self._kept[key]


def read_upload(
    content: bytes, features: ImageFeatures | None
) -> tuple[Float64Array, bytes | None]:
    """Convert an upload to a vector: an image, a .npy file, or numbers as text.

    Parameters
    ----------
    content
        Untrusted bytes.
    features
        How images become vectors, if known.

    Returns
    -------
    tuple
        The vector, and the image as PNG if it was one.

    Raises
    ------
    DataError
        If the content is not usable.
    """
    accepted = "an image or a vector" if features else "a vector"
    if not content:
        raise DataError(f"The upload is empty; send {accepted}.")
    if content.startswith(_NPY_MAGIC):
        return _check_vector(_read_npy(content)), None
    numbers = _read_text(content, f"{accepted}: a .npy file, or numbers separated by commas")
    if numbers is not None:
        return _check_vector(numbers), None
    image = decode_image(content, MAX_DECODING_BYTES)
    if features is None:
        raise InvalidImageError(
            "Upload a vector instead of an image: the model was not trained on pixels or GIST "
            "features of the images shown."
        )
    return features.compute(image), encode_png(image)


def _check_vector(values: AnyArray) -> Float64Array:
    if values.ndim == 2 and len(values) == 1:
        values = values[0]
    if values.ndim != 1 or not values.size or values.dtype.kind not in "fiub":
        found = f"{values.dtype} of shape {values.shape}"
        raise DataError(f"The upload must contain one vector of real numbers, got {found}.")
    if values.size > _MAX_VALUES:
        raise DataError(f"A vector must have at most {_MAX_VALUES} numbers, got {values.size}.")
    vector = values.astype(np.float64)
    _validation.check_finite(vector[None], "the upload", name="vector")
    return vector


def _read_npy(content: bytes) -> AnyArray:
    """Read a .npy file without allocating more than the file contains."""
    file = BytesIO(content)
    try:
        shape, _, dtype = read_npy_header(file)
        n_items = int(np.prod([int(side) for side in shape], dtype=object))
        # A view of the content: it rejects objects, and sizes beyond the end of the file.
        return np.frombuffer(content, dtype, n_items, file.tell()).reshape(shape)
    # numpy raises many kinds of errors for invented headers.
    except Exception:
        raise DataError("The .npy file is truncated, damaged, or does not hold numbers.") from None


def _read_text(content: bytes, accepted: str) -> AnyArray | None:
    """Read numbers separated by commas or spaces, with or without brackets; None if not text."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    if not text.isprintable() and not re.fullmatch(r"[\s\x20-\x7e]*", text):
        return None
    if len(content) > MAX_TEXT_BYTES:
        raise DataError(
            f"A vector as text must have at most {MAX_TEXT_BYTES >> 20} MiB; send a .npy file."
        )
    words = re.split(r"[\s,;]+", text.strip().strip("[](){}").strip())
    numbers = []
    for word in filter(None, words):
        try:
            numbers.append(float(word))
        except ValueError:
            found = f"The upload is text, but {word[:40]!r} is not a number"
            raise DataError(f"{found}; send {accepted}.") from None
    return np.array(numbers)
