"""Arrays of maps in the cache folder, named by the digest of all that they depend on."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path

from bitfold._types import AnyArray
from bitfold.io import cache, model_file

_NAME = "array"


def read_array(content: str) -> AnyArray | None:
    """Return a cached array; None if it is missing or damaged.

    Parameters
    ----------
    content
        Text that changes with anything that the array depends on.
    """
    with suppress(OSError, ValueError, KeyError):
        return model_file.read_model(_path(content)).arrays[_NAME]
    return None


def write_array(content: str, array: AnyArray) -> None:
    """Write an array atomically; if that is not possible, it is computed again next time.

    Parameters
    ----------
    content
        Text that changes with anything that the array depends on.
    array
        The array.
    """
    with suppress(OSError):
        cache.make_cache_folder("explorer")
        stored = model_file.StoredModel("map", {}, {_NAME: array})
        model_file.write_model(_path(content), stored)


def _path(content: str) -> Path:
    name = hashlib.sha256(content.encode()).hexdigest()[:32]
    return cache.cache_root() / "explorer" / f"{name}.map"
