"""The weights of locally linear hashing as a loop in a graph.

They are the minimum that ``bitfold._kernels.locally_linear`` finds, by the same steps: weight moves
from one neighbor to another, for all rows of the batch at a time, until no row can improve.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bitfold._kernels.locally_linear import MAX_STEPS, RIDGE, TOLERANCE
from bitfold.integrations._onnx_graph import GraphBuilder, describe_tensor


def add_sparse_weights(
    graph: GraphBuilder,
    neighbors: tuple[str, str],
    k: int,
    base_sq_distances: Any,
    penalty: float,
) -> str:
    """Return the weights of the k nearest base points of each row, in float64.

    ``neighbors`` are their indices and squared distances.
    """
    indices, sq_distances = neighbors
    mean = graph.call("ReduceMean", sq_distances, axes=[1], keepdims=1)
    distances = graph.call("Sqrt", sq_distances)
    total = _sum_row(graph, distances)
    # All neighbors may be equal to the row.
    is_zero = graph.call("Equal", mean, np.float64(0))
    mean = graph.call("Where", is_zero, np.float64(1), mean)
    total = graph.call("Where", is_zero, np.float64(1), total)
    costs = graph.call("Mul", graph.call("Div", distances, total), np.float64(penalty))
    between = _gather_pairs(graph, indices, base_sq_distances)
    sums = graph.call("Add", _unsqueeze(graph, sq_distances, 2), _unsqueeze(graph, sq_distances, 1))
    scale = graph.call("Mul", _unsqueeze(graph, mean, 2), np.float64(2))
    G = graph.call("Div", graph.call("Sub", sums, between), scale)
    return _minimize(graph, graph.call("Add", G, RIDGE * np.eye(k)), costs, k)


def _gather_pairs(graph: GraphBuilder, indices: str, matrix: Any) -> str:
    """Return the entries of a square matrix for all pairs of indices of each row."""
    size = np.int64(len(matrix))
    rows = graph.call("Mul", _unsqueeze(graph, indices, 2), size)
    pairs = graph.call("Add", rows, _unsqueeze(graph, indices, 1))
    return graph.to_double(graph.call("Gather", matrix.ravel(), pairs, axis=0))


def _minimize(graph: GraphBuilder, G: str, costs: str, k: int) -> str:
    """Minimize wᵀGw/2 + Σ costs |w| over w of sum 1; see the kernel of the same name."""
    first = np.eye(1, k)
    w = graph.call("Add", graph.call("Mul", costs, np.float64(0)), first)
    slopes = _multiply(graph, G, w)
    body = _make_body(G, costs, k)
    outputs = graph.call(
        "Loop", np.int64(MAX_STEPS * k), np.array(True), w, slopes, n_outputs=2, body=body
    )
    return str(outputs[0])


def _make_body(G: str, costs: str, k: int) -> Any:
    """Return one step of all rows; rows that cannot improve do not move."""
    step = GraphBuilder("step_")
    rise = step.call("Neg", costs)
    not_below = step.call("GreaterOrEqual", "w", np.float64(0))
    above = step.call("Greater", "w", np.float64(0))
    up = step.call("Add", "slopes", step.call("Where", not_below, costs, rise))
    down = step.call("Add", "slopes", step.call("Where", above, costs, rise))
    gain = step.call("ReduceMin", up, axes=[1], keepdims=1)
    loss = step.call("ReduceMax", down, axes=[1], keepdims=1)
    improves = step.call("Less", gain, step.call("Sub", loss, np.float64(TOLERANCE)))
    target = _select(step, step.call("ArgMin", up, axis=1, keepdims=1), k)
    source = _select(step, step.call("ArgMax", down, axis=1, keepdims=1), k)
    to, away = _multiply(step, G, target), _multiply(step, G, source)

    def pick(values: str, chosen: str) -> str:
        return _sum_row(step, step.call("Mul", values, chosen))

    crossed = step.call("Mul", pick(to, source), np.float64(2))
    curvature = step.call("Sub", step.sum(pick(to, target), pick(away, source)), crossed)
    length = _find_step(
        step,
        step.call("Sub", gain, loss),
        curvature,
        (step.call("Neg", pick("w", target)), pick(costs, target)),
        (pick("w", source), pick(costs, source)),
    )
    length = step.call("Where", improves, length, np.float64(0))
    moved = step.call("Mul", length, step.call("Sub", target, source))
    bent = step.call("Mul", length, step.call("Sub", to, away))
    step.name_output(step.call("Add", "w", moved), "new_w")
    step.name_output(step.call("Add", "slopes", bent), "new_slopes")
    any_improves = step.call("ReduceMax", step.cast(improves, np.int32), keepdims=0)
    step.name_output(step.cast(any_improves, bool), "continues")
    inputs = [
        describe_tensor("iteration", np.int64, ()),
        describe_tensor("continued", bool, ()),
        describe_tensor("w", np.float64, None),
        describe_tensor("slopes", np.float64, None),
    ]
    outputs = [
        describe_tensor("continues", bool, ()),
        describe_tensor("new_w", np.float64, None),
        describe_tensor("new_slopes", np.float64, None),
    ]
    return step.finish("move_weight", inputs, outputs)


def _find_step(
    step: GraphBuilder, slope: str, curvature: str, first: tuple[str, str], second: tuple[str, str]
) -> str:
    """Return the step at which a negative slope reaches zero; see the kernel of the same name.

    ``first`` and ``second`` are corners: where they are, and half of what the slope jumps there.
    """
    is_swapped = step.call("Greater", first[0], second[0])
    corners = [
        [step.call("Where", is_swapped, a, b) for a, b in zip(one, other, strict=True)]
        for one, other in ((second, first), (first, second))
    ]
    zero = np.float64(0)
    position = step.call("Mul", slope, zero)
    found: list[tuple[str, str]] = []
    for corner, jump in corners:
        exists = step.call("Greater", corner, zero)
        way = step.call("Mul", curvature, step.call("Sub", corner, position))
        reached = step.sum(slope, way)
        found.append((_both(step, exists, reached), _stop(step, position, slope, curvature)))
        after = step.sum(reached, step.call("Mul", jump, np.float64(2)))
        slope = step.call("Where", exists, after, slope)
        position = step.call("Where", exists, corner, position)
        found.append((_both(step, exists, slope), position))
    result = _stop(step, position, slope, curvature)
    for condition, value in reversed(found):
        result = step.call("Where", condition, value, result)
    return result


def _both(step: GraphBuilder, exists: str, slope: str) -> str:
    """Return where a corner exists and the slope is not negative."""
    return str(step.call("And", exists, step.call("GreaterOrEqual", slope, np.float64(0))))


def _stop(step: GraphBuilder, position: str, slope: str, curvature: str) -> str:
    """Return where a slope reaches zero."""
    return str(step.call("Sub", position, step.call("Div", slope, curvature)))


def _select(step: GraphBuilder, index: str, k: int) -> str:
    """Return a row of zeros with a 1 at an index."""
    return step.to_double(step.call("Equal", np.arange(k)[None], index))


def _multiply(graph: GraphBuilder, G: str, w: str) -> str:
    """Return the products of matrices and vectors, one of each per row."""
    product = graph.call("MatMul", G, _unsqueeze(graph, w, 2))
    return str(graph.call("Squeeze", product, np.array([2])))


def _sum_row(graph: GraphBuilder, values: str) -> str:
    return str(graph.call("ReduceSum", values, np.array([1]), keepdims=1))


def _unsqueeze(graph: GraphBuilder, values: str, axis: int) -> str:
    return str(graph.call("Unsqueeze", values, np.array([axis])))
