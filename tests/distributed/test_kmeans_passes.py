"""Computations of workers in a pass of k-means."""

from __future__ import annotations

import numpy as np

from bitfold._kernels.base_points import add_rows
from bitfold.distributed._kmeans_passes import (
    ClusterSums,
    KeyedRows,
    add_sums,
    draw_keys,
    draw_uniforms,
    merge_smallest,
)


def test_random_numbers_do_not_depend_on_blocks() -> None:
    whole = draw_uniforms(7, 0, 100)
    assert np.array_equal(whole[37:], draw_uniforms(7, 37, 63))
    assert not np.array_equal(whole, draw_uniforms(8, 0, 100))
    assert 0 <= whole.min() < whole.max() < 1


def test_rows_at_distance_zero_are_never_drawn() -> None:
    keys = draw_keys(np.array([0, 1, 4], np.float32), seed=0, first_row=0)
    assert np.isinf(keys).tolist() == [True, False, False]


def test_rows_are_drawn_in_proportion_to_squared_distances() -> None:
    rates = np.array([1, 3], np.float32)
    first = [int(np.argmin(draw_keys(rates, seed, 0))) for seed in range(2000)]
    assert abs(np.mean(first) - 0.75) < 0.04


def test_smallest_keys_of_blocks_are_merged() -> None:
    a = KeyedRows(np.array([1.0, 3]), np.array([[1], [3]], np.float32))
    b = KeyedRows(np.array([1.0, 2]), np.array([[9], [2]], np.float32))
    merged = merge_smallest(3, a, b)
    assert merged.keys.tolist() == [1, 1, 2]
    assert merged.rows.tolist() == [[1], [9], [2]]


def test_sums_of_blocks_are_added() -> None:
    farthest = KeyedRows(np.array([-1.0]), np.array([[1]], np.float32))
    part = ClusterSums(np.array([[2.0]]), np.array([3.0]), farthest)
    total = add_sums(part, part)
    assert (total.totals.tolist(), total.counts.tolist()) == ([[4]], [6])
    assert part.totals.tolist() == [[2]]


def test_rows_are_added_to_their_clusters() -> None:
    values = np.array([[1, 2], [3, 4], [5, 6]], np.float32)
    totals, counts = np.zeros((3, 2)), np.zeros(3)
    add_rows(values, np.array([1, 0, 1], np.int32), np.array([1.0, 2, 3]), totals, counts)
    assert totals.tolist() == [[6, 8], [16, 20], [0, 0]]
    assert counts.tolist() == [2, 4, 0]
