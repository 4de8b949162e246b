"""Real data for the tests of `make paper`; a test is skipped if its data are missing."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest
from reproduction.data.cifar10 import load_cifar10

from bitfold import datasets
from bitfold.errors import MissingDataError

LoadData = Callable[[str], datasets.Dataset]


@cache
def _load(name: str) -> datasets.Dataset:
    return datasets.mnist() if name == "mnist" else load_cifar10()


@pytest.fixture(scope="session")
def load_data() -> LoadData:
    """Return a function that loads "mnist" or "cifar10"."""

    def load(name: str) -> datasets.Dataset:
        try:
            return _load(name)
        except MissingDataError as error:
            pytest.skip(f"needs real data: {error}")

    return load
