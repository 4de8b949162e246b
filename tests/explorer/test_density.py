"""Density on the map, and the regions around its peaks."""

from __future__ import annotations

import numpy as np

from bitfold.explorer.density import count_cells, find_regions, smooth


def clouds(*sizes: int) -> np.ndarray:
    """Return points around centers on a diagonal."""
    rng = np.random.default_rng(0)
    parts = [
        rng.normal((i + 1) / (len(sizes) + 1), 0.02, (size, 2)) for i, size in enumerate(sizes)
    ]
    return (np.clip(np.concatenate(parts), 0, 1) * 65535).astype(np.uint16)


def test_cells_count_every_point_once() -> None:
    points = np.array([[0, 0], [255, 0], [256, 0], [65535, 65535]], np.uint16)
    counts = count_cells(points)
    assert counts[0, 0] == 2 and counts[0, 1] == 1 and counts[255, 255] == 1
    assert counts.sum() == 4
    many = count_cells(clouds(500, 300))
    assert np.isclose(smooth(many).sum(), 800, rtol=1e-3)


def test_regions_are_the_clouds() -> None:
    sizes = (400, 900, 100)
    regions = find_regions(clouds(*sizes))
    assert regions.sizes.tolist() == [900, 400, 100]
    assert np.allclose(regions.peaks[0], 0.5, atol=0.03)
    truth = np.repeat([1, 0, 2], sizes)
    assert np.mean(regions.numbers == truth) > 0.99


def test_small_regions_have_no_number() -> None:
    regions = find_regions(clouds(2000, 3))
    assert len(regions.sizes) == 1
    assert np.count_nonzero(regions.numbers == -1) == 3
    assert len(find_regions(np.zeros((1, 2), np.uint16)).sizes) == 1
