"""t-SNE of the base set (Sec. 3.4, Eq. 11), in as many dimensions as the code has bits."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.sparse import csr_array

from bitfold import _validation
from bitfold._kernels import forces
from bitfold._types import Float32Array, Int32Array, Int64Array
from bitfold.embedding import descent, sampled_repulsion
from bitfold.embedding.stochastic import COUNT_SURELY, Minimize, Stochastic

LATE = 0.2
"""Share of the iterations that exaggerates."""


def cauchy_repulsion(Y: Float32Array) -> descent.Push:
    """Σ_j w_ij² (y_i - y_j) / Z with w = 1 / (1 + d²); its cost is log Z."""
    products = descent.Products(Y)
    force = np.empty_like(Y)

    def push(rows: slice) -> float:
        weights = products.of(rows)
        sums = np.empty(len(weights), np.float32)
        mass = forces.cauchy(weights, products.sq_norms, rows.start, sums)
        force[rows] = descent.push_apart(Y, rows, weights, sums)
        return float(mass)

    Z = descent.over_row_blocks(push, len(Y))
    return descent.normalized(force, Z)


def cauchy_estimate(Y: Float32Array, near: Int32Array, sample: Int64Array) -> descent.Push:
    """As ``cauchy_repulsion``, by the listed pairs and, for all others, by ``sample``."""
    m, share = len(Y), len(Y) / len(sample)
    columns = np.ascontiguousarray(Y[sample])
    transposed = np.ascontiguousarray(columns.T)
    column_norms = np.einsum("ij,ij->i", columns, columns)
    # What a listed pair counts beyond what it counts as part of the sample.
    beyond = np.ones(m, np.float32)
    beyond[sample] -= np.float32(share)
    force = np.empty_like(Y)

    def push(rows: slice) -> float:
        mine = Y[rows]
        weights = mine @ transposed
        sums = np.empty(len(mine), np.float32)
        norms = np.einsum("ij,ij->i", mine, mine)
        far = forces.cauchy_between(weights, norms, column_norms, sums)
        part = sums[:, None] * mine
        part -= weights @ columns
        part *= np.float32(share)
        mass = forces.add_near(Y, near, beyond, rows.start, part)
        force[rows] = part
        return float(share * far + mass)

    # A sampled point met itself once, at weight 1.
    Z = descent.over_row_blocks(push, m) - share * len(sample)
    return descent.normalized(force, Z)


def tsne(
    P: csr_array,
    n_components: int,
    rng: np.random.Generator,
    schedule: descent.Schedule,
    exaggeration: float = 1.0,
) -> descent.Descent:
    """Minimize KL(P || Q), Eq. (11), with q_ij ∝ 1 / (1 + |y_i - y_j|²).

    The last fifth of the iterations pulls ``exaggeration`` times as strongly: what belongs
    together then closes ranks, and shares its codes.
    """
    start = descent.random_start(P.shape[0], n_components, rng)
    objective = kl_divergence(P, rng)
    if exaggeration == 1:
        return descent.descend(P, objective, start, schedule)
    first, last = descent.in_two(schedule, LATE)
    found = descent.descend(P, objective, start, first)
    if not last.max_iter:
        return found
    closed = descent.descend(exaggeration * P, objective, found.Y, last)
    return closed._replace(n_iter=found.n_iter + closed.n_iter)


def kl_divergence(P: csr_array, rng: np.random.Generator) -> descent.Objective:
    """Eq. (11), by all pairs or, of many points, by near pairs and a sample of the far ones."""
    constant = descent.negative_entropy(P)
    return sampled_repulsion.objective(
        cauchy_repulsion, cauchy_estimate, P.shape[0], rng, student=True, constant=constant
    )


class TSNE(Stochastic):
    """t-distributed stochastic neighbor embedding: IMH-tSNE, the paper's best.

    Neighbors of the base set stay neighbors, and all others are pushed apart by a heavy-tailed
    distribution, so that clusters do not crowd together: Eq. (11).

    Parameters
    ----------
    perplexity
        Effective number of neighbors of a base point, by distance (the paper's form). None counts
        the neighbors in the training data, where there are 5 for each base point, and is 5 else.
    max_iter
        The most iterations; fewer if the cost stops falling.
    learning_rate
        Step of the descent; None is the number of base points.
    exaggeration
        How much more strongly neighbors attract each other in the last fifth of the iterations:
        codes repeat more often, and a lookup in a radius finds more. None is 1, and where the
        neighbors are counted with fewer than 50 training points a base point the sixth root of
        the thousands of base points, at least 1.

    References
    ----------
    van der Maaten and Hinton, *Visualizing data using t-SNE*, JMLR 2008.

    Examples
    --------
    >>> TSNE(perplexity=2, max_iter=50).embed([[0.0], [1.0], [5.0], [6.0]], 16, rng=0).shape
    (4, 16)
    """

    def __init__(
        self,
        perplexity: float | None = None,
        max_iter: int = 500,
        learning_rate: float | None = None,
        exaggeration: float | None = None,
    ) -> None:
        super().__init__(perplexity, max_iter, learning_rate)
        self.exaggeration = exaggeration

    def _minimizer(self, m: int, points_each: float | None) -> Minimize:
        return partial(tsne, exaggeration=self._exaggeration(m, points_each))

    def _exaggeration(self, m: int, points_each: float | None) -> float:
        if self.exaggeration is not None:
            return _validation.check_positive(
                self.exaggeration, "exaggeration", type(self).__name__
            )
        if points_each is None or points_each >= COUNT_SURELY:
            return 1.0
        # The more base points, the less each pair is pulled, and the looser clusters become.
        return max(1.0, float((m / 1000) ** (1 / 6)))
