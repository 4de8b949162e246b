"""The images of a data set are in the order of its rows."""

from __future__ import annotations

import numpy as np
import pytest

from bitfold import datasets
from bitfold.errors import ParameterError


def test_images_match_the_vectors() -> None:
    data, split = datasets.digits(50, 7), datasets.images("digits", 50, 7)
    assert split.database.dtype == np.uint8
    for vectors, images in ((data.database, split.database), (data.queries, split.queries)):
        assert np.array_equal(np.round(images.reshape(len(images), -1) / 255 * 16), vectors)


def test_unknown_name_is_rejected() -> None:
    with pytest.raises(ParameterError, match=r"name of images .*'cifar10', 'digits'.*'x'"):
        datasets.images("x")
