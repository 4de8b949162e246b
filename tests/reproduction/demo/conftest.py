"""The demo, run once."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from reproduction.demo.command import compare_methods
from reproduction.demo.comparison import MethodResult, load_digits
from reproduction.demo.page import render_page

from bitfold.datasets import Dataset


class DemoRun(NamedTuple):
    """The digits, the results of the methods, and the page."""

    data: Dataset
    results: list[MethodResult]
    page: str


@pytest.fixture(scope="package")
def demo_run() -> DemoRun:
    data = load_digits(seed=0)
    results = compare_methods(data, 64, 0)
    return DemoRun(data, results, render_page(data, results, "command <x>"))
