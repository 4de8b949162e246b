"""The bits of every family of hashers as operators of a graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bitfold._kernels import products
from bitfold.errors import ParameterTypeError
from bitfold.hashers import AGH, LLH, MDSH, DualHasher, Hasher, SpH
from bitfold.hashers.base import BaseSetHasher, KernelHasher, LinearHasher, PeriodicHasher
from bitfold.hashers.base.kernelized import KernelizedHasher
from bitfold.integrations._onnx_graph import GraphBuilder
from bitfold.integrations._onnx_llh import add_sparse_weights

_TURN = 2 * np.pi


def add_centered(graph: GraphBuilder, hasher: Hasher, vectors: str) -> str:
    """Return rows as hashers see them: relative to the center, and of unit length if they scale."""
    if not hasher.normalize_:
        return str(graph.call("Sub", vectors, hasher.center_))
    rows = graph.to_double(vectors)
    length = graph.call("ReduceL2", rows, axes=[1], keepdims=1)
    # Rows of zeros remain zeros.
    is_zero = graph.call("Equal", length, np.float64(0))
    unit = graph.call("Div", rows, graph.call("Where", is_zero, np.float64(1), length))
    centered = graph.call("Sub", unit, hasher.center_.astype(np.float64))
    return graph.cast(centered, np.float32)


def add_bits(graph: GraphBuilder, hasher: Hasher, values: str) -> str:
    """Return the bits of centered rows, as booleans."""
    # The class that computes the reals; a subclass that changes them is not in the table.
    owner = next(kind for kind in type(hasher).__mro__ if "_embed_block" in vars(kind))
    add = _FAMILIES.get(owner)
    if add is None:
        requirement = "a hasher of bitfold, or one with the reals of a base class"
        raise ParameterTypeError("hasher", "export", requirement, type(hasher).__name__)
    return add(graph, hasher, values)


def _add_linear(graph: GraphBuilder, hasher: Any, values: str) -> str:
    inner = graph.product(values, hasher.directions_)
    return str(graph.call("Greater", inner, hasher.thresholds_.astype(np.float64)))


def _add_kernels(graph: GraphBuilder, hasher: Any, values: str) -> str:
    sq_distances = graph.sq_distances(values, hasher.anchors_)
    scale = np.float64(-0.5 / hasher.bandwidth_ / hasher.bandwidth_)
    K = graph.call("Exp", graph.call("Mul", sq_distances, scale))
    summed = graph.product(graph.cast(K, np.float32), hasher.coefficients_)
    return str(graph.call("Greater", summed, hasher.thresholds_.astype(np.float64)))


def _add_kernelized(graph: GraphBuilder, hasher: Any, values: str) -> str:
    add = _add_kernels if hasher.directions_ is None else _add_linear
    return add(graph, hasher, values)


def _add_waves(graph: GraphBuilder, hasher: Any, values: str) -> str:
    # As float32 first, because the reals are cosines of rounded angles.
    angles = graph.to_double(graph.cast(graph.product(values, hasher.frequencies_), np.float32))
    angles = graph.call("Add", angles, hasher.phases_.astype(np.float64))
    turns = graph.call("Floor", graph.call("Mul", angles, np.float64(1 / _TURN)))
    rest = graph.call("Sub", angles, graph.call("Mul", turns, np.float64(_TURN)))
    waves = graph.call("Cos", graph.cast(rest, np.float32))
    return str(graph.call("Greater", waves, hasher.thresholds_))


def _add_spheres(graph: GraphBuilder, hasher: Any, values: str) -> str:
    sq_distances = graph.sq_distances(values, hasher.pivots_)
    return str(graph.call("Less", sq_distances, hasher.sq_radii_.astype(np.float64)))


def _add_nearest(graph: GraphBuilder, hasher: Any, values: str) -> tuple[str, str]:
    """Return the indices and squared distances of the nearest base points, by exact search."""
    if hasher.directions_ is not None:
        values = graph.cast(graph.product(values, hasher.directions_), np.float32)
    sq_distances = graph.sq_distances(values, hasher.base_set_)
    k = np.array([_count_neighbors(hasher)])
    found, indices = graph.call("TopK", sq_distances, k, n_outputs=2, axis=1, largest=0)
    return indices, found


def _count_neighbors(hasher: Any) -> int:
    return int(min(hasher.n_neighbors_, len(hasher.base_set_)))


def _combine(graph: GraphBuilder, hasher: Any, indices: str, weights: str) -> str:
    """Return weighted sums of the reals of base points, in float64."""
    reals = graph.to_double(graph.call("Gather", hasher.bit_embedding_, indices, axis=0))
    rows = graph.call("Unsqueeze", weights, np.array([1]))
    return str(graph.call("Squeeze", graph.call("MatMul", rows, reals), np.array([1])))


def _add_weighted_mean(graph: GraphBuilder, hasher: Any, values: str) -> str:
    """Return Eq. (8)."""
    indices, sq_distances = _add_nearest(graph, hasher, values)
    smallest = graph.call("ReduceMin", sq_distances, axes=[1], keepdims=1)
    excess = graph.call("Sub", smallest, sq_distances)
    for _ in range(2):  # because the square of σ may underflow or overflow
        excess = graph.call("Div", excess, np.float64(hasher.bandwidth_))
    weights = graph.call("Exp", excess)
    total = graph.call("ReduceSum", weights, np.array([1]), keepdims=1)
    return str(graph.call("Div", _combine(graph, hasher, indices, weights), total))


def _add_base_set(graph: GraphBuilder, hasher: Any, values: str) -> str:
    return graph.is_positive(_add_weighted_mean(graph, hasher, values))


def _add_two_layers(graph: GraphBuilder, hasher: Any, values: str) -> str:
    first = _add_weighted_mean(graph, hasher, values)
    is_positive = graph.is_positive(first)
    n_second = hasher.n_bits_ - hasher.bit_embedding_.shape[1]
    if not n_second:
        return is_positive
    above, below = hasher.thresholds_[:n_second].T.astype(np.float64)
    start, stop, axis = np.array([0]), np.array([n_second]), np.array([1])
    side = graph.call("Slice", is_positive, start, stop, axis)
    Y = graph.call("Slice", first, start, stop, axis)
    upper = graph.call("And", side, graph.call("Greater", Y, above))
    lower = graph.call("And", graph.call("Not", side), graph.call("Less", Y, below))
    second = graph.call("Or", upper, lower)
    return str(graph.call("Concat", is_positive, second, axis=1))


def _add_locally_linear(graph: GraphBuilder, hasher: Any, values: str) -> str:
    indices, found = _add_nearest(graph, hasher, values)
    between = np.empty((len(hasher.base_set_),) * 2, np.float32)
    products.sq_distances(hasher.base_set_, hasher.base_set_, between)
    k = _count_neighbors(hasher)
    weights = add_sparse_weights(graph, (indices, found), k, between, hasher.sparsity_)
    return graph.is_positive(_combine(graph, hasher, indices, weights))


def _add_eigenfunctions(graph: GraphBuilder, hasher: Any, values: str) -> str:
    """Interpolate between the values of each eigenfunction on the grid of its direction."""
    directions = hasher.bit_directions_.astype(np.int64)
    grids, n_bins = hasher.grids_.astype(np.float64)[directions], hasher.grids_.shape[1]
    along = graph.product(values, hasher.directions_)
    x = graph.call("Gather", along, directions, axis=1)
    x = graph.call("Min", graph.call("Max", x, grids[:, 0]), grids[:, -1])
    # The grids are even.
    place = graph.call("Sub", x, grids[:, 0])
    place = graph.call("Div", place, (grids[:, -1] - grids[:, 0]) / (n_bins - 1))
    left = graph.call("Min", graph.cast(place, np.int64), np.int64(n_bins - 2))
    left = graph.call("Add", left, n_bins * np.arange(len(grids)))
    right = graph.call("Add", left, np.int64(1))
    flat = (grids.ravel(), hasher.eigenfunctions_.astype(np.float64).ravel())
    (x0, y0), (x1, y1) = (
        [graph.call("Gather", table, at, axis=0) for table in flat] for at in (left, right)
    )
    slope = graph.call("Div", graph.call("Sub", y1, y0), graph.call("Sub", x1, x0))
    value = graph.sum(y0, graph.call("Mul", slope, graph.call("Sub", x, x0)))
    return graph.is_positive(value)


def _add_both(graph: GraphBuilder, hasher: Any, values: str) -> str:
    parts = [add_bits(graph, part, values) for part in (hasher.coarse_, hasher.fine_)]
    return str(graph.call("Concat", *parts, axis=1))


_FAMILIES: dict[type, Callable[[GraphBuilder, Any, str], str]] = {
    AGH: _add_two_layers,
    BaseSetHasher: _add_base_set,
    DualHasher: _add_both,
    KernelHasher: _add_kernels,
    KernelizedHasher: _add_kernelized,
    LLH: _add_locally_linear,
    LinearHasher: _add_linear,
    MDSH: _add_eigenfunctions,
    PeriodicHasher: _add_waves,
    SpH: _add_spheres,
}
