"""Sizes: how many base points, and how many rows they are learned from."""

from __future__ import annotations

from typing import NamedTuple

from bitfold.base_set.clusters import PROJECTED, projects

SAMPLE_BYTES = 320 << 20
"""What the sample that a base set is learned from may weigh."""


FEWEST, ROWS_EACH = 400, 10
"""Base points of small data, and training rows that call for one more."""

FEW_ROWS = 20 * FEWEST
"""Rows up to which the fewest base points do."""

BUDGET = 6
"""How much more work than with the fewest base points the automatic size may take."""


def sample_size(n: int, n_features: int, m: int) -> int:
    """How many rows a base set is learned from: 256 a point, within reason for time and memory.

    Beyond that, more rows hardly move a center; below 64 a point they would.
    """
    return min(n, max(64 * m, min(256 * min(m, 1000), SAMPLE_BYTES // (4 * n_features))))


class Size(NamedTuple):
    """A number of base points, and why it is that."""

    m: int
    why: str


def automatic_size(n: int, n_features: int) -> Size:
    """As many base points as there are data to tell their neighborhoods, and time.

    MAP rises with m for as long as every base point has some ten training points: fewer no
    longer tell who its neighbors are on the manifold. Work, which grows faster than m, is held
    to six times that of 400 base points.

    Parameters
    ----------
    n
        Training rows.
    n_features
        Their width.
    """
    if n <= FEW_ROWS:
        return Size(min(n, FEWEST), f"all that {n:,} rows call for")
    m = n // ROWS_EACH
    most = next(
        size for size in range(m - m % 50, 0, -50)
        if size <= FEWEST or work(n, n_features, size) <= BUDGET * work(n, n_features, FEWEST)
    )  # fmt: skip
    if most < m - m % 50:
        return Size(most, f"as much work as {BUDGET} times that of {FEWEST}, for {n:,} rows")
    return Size(m, f"one for {ROWS_EACH} of {n:,} rows")


def work(n: int, n_features: int, m: int) -> float:
    """Estimate the arithmetic of fitting: k-means, the nearest base points, an embedding."""
    width = PROJECTED if projects(n_features, m) else n_features
    clusters = 20.0 * 2 * sample_size(n, n_features, m) * m * width
    neighbors = 2.0 * min(n, 256 * m) * m * width
    # Of so many base points, t-SNE no longer looks at every pair.
    pairs = m * (m if m <= 4096 else 1500)
    return clusters + neighbors + 500.0 * 4 * pairs * 64
