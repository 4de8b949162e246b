"""Tests that only some systems can run."""

from __future__ import annotations

import os

import pytest


def posix_only(need: str) -> pytest.MarkDecorator:
    """Skip a test on Windows, which lacks what the test needs, such as forks."""
    return pytest.mark.skipif(os.name != "posix", reason=f"needs {need}, which only POSIX has")
