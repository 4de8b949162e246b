"""CIFAR-10 from the copy, in miniature."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from reproduction.data.cifar10 import load_cifar10, load_images, split_images
from tests.reproduction.data.jpeg_copy import IMAGES, LABELS, N_IMAGES, to_jpeg, write_copy

from bitfold.errors import MissingDataError


def test_images_are_nearly_the_originals(copy_path: Path) -> None:
    write_copy(copy_path, to_jpeg(IMAGES))
    images, labels, _ = load_images()
    assert np.abs(images.astype(int) - IMAGES).mean() < 6
    assert np.array_equal(labels, LABELS)
    data, split = load_cifar10(4, 1, features="pixels"), split_images(4, 1)
    assert data.name == "CIFAR-10 pixels"
    assert np.array_equal(data.database, split.database.reshape(N_IMAGES - 4, -1))
    assert np.array_equal(data.queries, split.queries.reshape(4, -1))


@pytest.mark.usefixtures("copy_path")
def test_original_is_needed_without_the_copy() -> None:
    with pytest.raises(MissingDataError, match=r"cifar-10-binary\.tar\.gz"):
        load_cifar10()
