"""Uploads that are not images: vectors as text and as .npy."""

from __future__ import annotations

import io
import tracemalloc

import numpy as np
import pytest

from bitfold.errors import DataError
from bitfold.explorer.queries import read_upload


def to_npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


@pytest.mark.parametrize(
    "content",
    [b"1," * 600_000, to_npy(np.zeros(8_000_000, np.uint8))],
    ids=["text", "npy"],
)
def test_vectors_of_absurd_length_are_rejected_before_they_are_converted(content: bytes) -> None:
    tracemalloc.start()
    with pytest.raises(DataError, match="at most"):
        read_upload(content, None)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 << 20


def test_npy_of_negative_size_is_rejected() -> None:
    content = to_npy(np.zeros(64)).replace(b"(64,)", b"(-1,)")
    with pytest.raises(DataError, match="npy"):
        read_upload(content, None)
