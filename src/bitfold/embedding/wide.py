"""t-SNE along a wide graph, in which attraction and repulsion share the distances of all pairs.

The graph of the paper's authors has affinities between half of the pairs of 400 base points. Most
of a step would be spent on them one by one; in the same matrix products as the repulsion, a step
takes less than half of the time.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.sparse import csr_array

from bitfold._kernels import base_points
from bitfold._types import Float32Array
from bitfold.embedding.stochastic import (
    Gradient,
    GramBlocks,
    Objective,
    push_apart,
    sum_over_row_blocks,
)


class WideObjective(Objective):
    """The cost of t-SNE, Eq. (11), along a wide graph."""

    def make_gradient(self, P: csr_array, factor: float) -> Gradient:
        """Return the gradient of the cost with affinities P, multiplied by a factor."""
        affinities = (factor * P).toarray().astype(np.float32)
        weights = np.empty_like(affinities)

        def compute(Y: Float32Array, out: Float32Array, with_cost: bool = True) -> float:
            gram = GramBlocks(Y)

            def weigh(rows: slice) -> float:
                weights[rows] = gram.compute(rows)
                return float(base_points.student_weights(weights[rows], gram.sq_norms, rows.start))

            def move(rows: slice) -> float:
                own = weights[rows], affinities[rows]
                cost = base_points.student_cost(*own) if with_cost else 0.0
                sums = np.empty(len(own[0]), np.float32)
                base_points.student_forces(*own, mass, sums)
                out[rows] = push_apart(Y, rows, own[0], sums)
                return float(cost)

            mass = sum_over_row_blocks(weigh, len(Y))
            if not mass > 0:  # the points are so far apart that all weights underflow
                out[:] = 0
                return math.inf
            cost = sum_over_row_blocks(move, len(Y))
            np.multiply(out, np.float32(4), out=out)
            return cost + math.log(mass) + self.constant

        return compute
