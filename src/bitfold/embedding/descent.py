"""Descent: the one solver of t-SNE, SNE and the elastic embedding, in 2 to 128 dimensions.

All three pull neighbors together along sparse affinities and push every pair apart. The push is
dense, m × m, and is computed by row blocks as two matrix products with one pass between them, so
that a step costs little more than those products and memory stays at one block.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from bitfold._kernels import forces
from bitfold._threads import map_blocks, n_threads, serial_blas
from bitfold._types import Float32Array, Int32Array, StepCallback

Edges = tuple[Int32Array, Int32Array, Float32Array]

_BLOCK_ROWS = 256
_PARALLEL_FROM = 1024
"""Below this many points one thread is faster than handing out blocks."""

_LOOK_EVERY = 50
"""Iterations between two looks at the progress made."""

_GUARD_EVERY = 5
"""Iterations between two looks at whether the steps are too long; divides the former."""


_MOST_RISE = 1.2
"""How far momentum may carry the cost above that of the last look."""


class Push(NamedTuple):
    """Repulsion on all points: its gradient (over 4, and downhill) and its part of the cost."""

    force: Float32Array
    cost: float


def normalized(force: Float32Array, Z: float) -> Push:
    """Divide a repulsion by its normalizer; its cost is log Z.

    Points flung so far apart that nothing is left of Z are no place to be.
    """
    if not Z > 0:
        return Push(np.zeros_like(force), math.inf)
    force *= np.float32(1 / Z)
    return Push(force, math.log(Z))


@dataclass(frozen=True)
class Objective:
    """What distinguishes the methods.

    ``repulsion`` pushes all pairs apart; ``student`` tells whether attraction is weighted by
    1 / (1 + d²); ``constant`` makes the cost the paper's (a divergence, zero at best); ``doubt``
    is how far, as a share, an estimated cost may be off.
    """

    repulsion: Callable[[Float32Array], Push]
    student: bool
    constant: float = 0.0
    doubt: float = 0.0


@dataclass(frozen=True)
class Schedule:
    """How the descent goes.

    ``max_iter`` is the most iterations; it stops earlier when 50 of them gained less than the share
    ``tolerance`` of the cost. The default ``learning_rate`` is the number of points.
    """

    max_iter: int = 500
    learning_rate: float | None = None
    tolerance: float = 1e-4
    on_step: StepCallback | None = None


def in_two(schedule: Schedule, share: float) -> tuple[Schedule, Schedule]:
    """Part a schedule: all but the last ``share`` of its iterations, and those."""
    last = int(share * schedule.max_iter)
    first = schedule.max_iter - last
    told = schedule.on_step

    def before(done: int, _: int) -> None:
        if told:
            told(done, schedule.max_iter)

    def after(done: int, _: int) -> None:
        if told:
            told(first + done, schedule.max_iter)

    return replace(schedule, max_iter=first, on_step=before), replace(
        schedule, max_iter=last, on_step=after
    )


class Descent(NamedTuple):
    """An embedding, its cost, and the iterations that led there."""

    Y: Float32Array
    cost: float
    n_iter: int


def descend(P: csr_array, objective: Objective, Y: Float32Array, schedule: Schedule) -> Descent:
    """Minimize attraction along P plus repulsion, from Y, by descent with momentum and gains.

    Unlike in the plane, points pass each other freely in 16 and more dimensions; neither early
    exaggeration nor a period of low momentum is needed to untangle them.
    """
    Y = np.array(Y, np.float32, order="C")
    edges = (P.indptr.astype(np.int32), P.indices.astype(np.int32), P.data.astype(np.float32))
    velocity, gains, gradient = np.zeros_like(Y), np.ones_like(Y), np.empty_like(Y)
    rate = schedule.learning_rate or float(len(Y))
    good, reached = Y.copy(), _gradient(Y, edges, objective, gradient)
    since = 0
    with serial_blas(), _quiet():
        for iteration in range(1, schedule.max_iter + 1):
            since += 1
            look = since % _GUARD_EVERY == 0 or iteration == schedule.max_iter
            cost = _gradient(Y, edges, objective, gradient, with_cost=look)
            if look and not cost <= _MOST_RISE * reached:
                # The steps were too long for this objective: back to firm ground, half as fast.
                Y[:], velocity[:], gains[:], rate, since = good, 0, 1, rate / 2, 0
                continue
            if since == _LOOK_EVERY:
                if schedule.on_step:
                    schedule.on_step(iteration, schedule.max_iter)
                if reached - cost < schedule.tolerance * abs(cost):
                    break
                good, reached, since = Y.copy(), cost, 0
            forces.step(Y, gradient, velocity, gains, 0.8, rate)
        cost = _gradient(Y, edges, objective, gradient)
    # The last steps, too, may have been too long.
    if cost <= reached + objective.doubt * abs(reached):
        return Descent(Y, cost, iteration)
    return Descent(good, reached, iteration)


def _gradient(
    Y: Float32Array, edges: Edges, objective: Objective, out: Float32Array, with_cost: bool = True
) -> float:
    """Write the gradient into ``out``; return the cost, if it is wanted."""

    def attract(rows: slice) -> float:
        own = out[rows]
        return float(forces.attraction(Y, *edges, objective.student, with_cost, rows.start, own))

    pull = over_row_blocks(attract, len(Y))
    push = objective.repulsion(Y)
    out -= push.force
    out *= np.float32(4)
    return float(pull + push.cost + objective.constant)


def random_start(m: int, n_components: int, rng: np.random.Generator) -> Float32Array:
    """All points near the origin, as in the t-SNE paper."""
    return (1e-4 * rng.standard_normal((m, n_components))).astype(np.float32)


def negative_entropy(P: csr_array) -> float:
    """Σ p log p: the part of a divergence from P that no embedding changes."""
    p = P.data[P.data > 0]
    return float(np.sum(p * np.log(p)))


class Products:
    """Inner products of all points, row block by row block."""

    def __init__(self, Y: Float32Array) -> None:
        self.Y = Y
        self.sq_norms = np.einsum("ij,ij->i", Y, Y)
        self._transposed = np.ascontiguousarray(Y.T)

    def of(self, rows: slice) -> Float32Array:
        """Y_rows Yᵀ."""
        products: Float32Array = self.Y[rows] @ self._transposed
        return products


def over_row_blocks(work: Callable[[slice], float], m: int) -> float:
    """Run ``work`` on every row block, on all cores when that pays; return the sum of results."""
    blocks = [slice(i, min(i + _BLOCK_ROWS, m)) for i in range(0, m, _BLOCK_ROWS)]

    def quietly(rows: slice) -> float:
        with _quiet():
            return work(rows)

    if m < _PARALLEL_FROM or n_threads() == 1:
        return sum(map(quietly, blocks))
    return sum(map_blocks(quietly, blocks))


def _quiet() -> np.errstate:
    """Let steps that were too long overflow: the descent sees it in the cost and goes back."""
    return np.errstate(over="ignore", invalid="ignore")


def push_apart(
    Y: Float32Array, rows: slice, weights: Float32Array, sums: Float32Array
) -> Float32Array:
    """Σ_j weights_ij (y_i - y_j) for a row block; ``sums`` are the rows' sums of the weights."""
    force: Float32Array = sums[:, None] * Y[rows]
    force -= weights @ Y
    return force
