"""Damaged copies of CIFAR-10."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from reproduction.data.cifar10_jpeg import find_jpeg_copy, read_jpeg_copy
from tests.reproduction.data.jpeg_copy import IMAGES, LABELS, RNG, to_jpeg, write_copy

from bitfold.errors import FormatError


def test_copy_is_found(copy_path: Path) -> None:
    assert find_jpeg_copy() is None
    write_copy(copy_path, to_jpeg(IMAGES[:3]))
    assert find_jpeg_copy() == copy_path


@pytest.mark.parametrize("wrong", ["size", "no image", "offsets", "labels", "text"])
def test_invalid_copy_is_rejected(wrong: str, copy_path: Path) -> None:
    valid = to_jpeg(IMAGES[:3])
    if wrong == "size":
        write_copy(copy_path, [valid[0], *to_jpeg(RNG.integers(0, 9, (1, 32, 1, 3), np.uint8))])
    elif wrong == "no image":
        write_copy(copy_path, [valid[0], b"hello"])
    elif wrong == "offsets":
        write_copy(copy_path, valid, offsets=np.array([0, 900, 100, 50]))
    elif wrong == "labels":
        write_copy(copy_path, valid, labels=LABELS[:2])
    else:
        copy_path.write_bytes(b"hello")
    with pytest.raises(FormatError, match=r"cifar10-jpeg\.npz"):
        read_jpeg_copy(copy_path, wrong.replace(" ", "-"))
