"""Whether the lengths of rows suggest that only their directions matter."""

from __future__ import annotations

from typing import Any

import numpy as np

from bitfold._types import AnyArray
from bitfold.io import Rows, Stream, check_source

_N_SAMPLED_ROWS = 1000

_MIN_VARIATION = 0.1
"""Minimum standard deviation of the lengths, relative to their mean.

The squared distance of two rows of length 1 and cosine 0.8 is 0.4. If their lengths vary by v, it
grows by about 2 v²: by 5 percent if v is 0.1.
"""

_MIN_SHARE_OF_SIGN = 0.25
"""Share of positive and of negative values that rows must have to look like embeddings.

Pixels, counts and histograms are not negative, and their lengths have a meaning of their own.
"""


def suggest_cosine(X: Any) -> str | None:
    """Return a hint to use --cosine if the lengths of embeddings vary; None for other vectors."""
    values = _sample_rows(X).astype(np.float64)
    lengths = np.linalg.norm(values, axis=1)
    lengths = lengths[lengths > 0]
    if not len(lengths) or not _has_both_signs(values):
        return None
    variation = float(lengths.std() / lengths.mean())
    # The lengths of n independent normal features vary by 1 / sqrt(2 n) already.
    if variation < max(_MIN_VARIATION, np.sqrt(2 / values.shape[1])):
        return None
    percent = f"{100 * variation:.0f} %"
    return f"Row lengths vary by {percent}; use --cosine if only their direction matters."


def _has_both_signs(values: AnyArray) -> bool:
    n_positive, n_negative = np.count_nonzero(values > 0), np.count_nonzero(values < 0)
    return bool(min(n_positive, n_negative) >= _MIN_SHARE_OF_SIGN * (n_positive + n_negative))


def _sample_rows(X: Any) -> AnyArray:
    """Return evenly spaced rows, or the first rows of a source that is read forward."""
    matrix = check_source(X, "fit")
    if isinstance(matrix, Stream):
        return np.asarray(matrix[:_N_SAMPLED_ROWS])
    center = np.zeros(matrix.shape[1], np.float32)
    positions = np.unique(np.linspace(0, len(matrix) - 1, _N_SAMPLED_ROWS).astype(np.int64))
    # Rows releases the pages of a memory map, which would otherwise add up.
    return Rows(matrix, center, "fit").take(positions)
