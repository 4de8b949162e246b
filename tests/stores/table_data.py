"""Codes and columns that the tests of tables share."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from tests.stores.conftest import TABLE_KINDS

import bitfold as bf

RNG = np.random.default_rng(0)
N_ROWS = 200
CODES = bf.Codes(RNG.integers(0, 256, (N_ROWS, 4), np.uint8), 32)
COLUMN_TYPES: dict[str, type] = {
    "label": int,
    "price": float,
    "title": str,
    "new": bool,
    "Größe in cm": float,
    "on": datetime,
}
TITLES = ["plain", "it's", 'a "quote"', "100 %", "'; DROP TABLE t; --", "日本", ""]
COLUMNS: dict[str, Any] = {
    "label": RNG.integers(0, 5, N_ROWS),
    "price": RNG.random(N_ROWS),
    "title": [TITLES[i % len(TITLES)] for i in range(N_ROWS)],
    "new": [None if i % 10 == 0 else bool(i % 2) for i in range(N_ROWS)],
    "Größe in cm": np.arange(N_ROWS) / 2,
    "on": [datetime(2026, 1, 1 + i % 28, tzinfo=UTC) for i in range(N_ROWS)],
}

every_table = pytest.mark.parametrize("kind", TABLE_KINDS)
