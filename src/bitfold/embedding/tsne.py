"""t-SNE of the base set (Sec. 3.4, Eq. 11), in as many dimensions as the code has bits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from bitfold._kernels import forces
from bitfold.embedding import descent
from bitfold.embedding._stochastic import Stochastic

FloatArray = NDArray[np.float32]


def cauchy_repulsion(Y: FloatArray) -> descent.Push:
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
    force *= np.float32(1 / Z)
    return descent.Push(force, float(np.log(Z)))


def tsne(
    P: csr_array, n_components: int, rng: np.random.Generator, schedule: descent.Schedule
) -> descent.Descent:
    """Minimise KL(P || Q), Eq. (11), with q_ij ∝ 1 / (1 + |y_i - y_j|²)."""
    objective = descent.Objective(cauchy_repulsion, True, descent.negative_entropy(P))
    start = descent.random_start(P.shape[0], n_components, rng)
    return descent.descend(P, objective, start, schedule)


class TSNE(Stochastic):
    """t-distributed stochastic neighbour embedding: IMH-tSNE, the paper's best.

    Neighbours of the base set stay neighbours, and all others are pushed apart by a heavy-tailed
    distribution, so that clusters do not crowd together: Eq. (11).

    Parameters
    ----------
    perplexity
        Effective number of neighbours of a base point, by distance (the paper's form). None counts
        the neighbours in the training data, where there are 20 for each base point, and is 5 else.
    n_iter
        The most iterations; fewer if the cost stops falling.
    learning_rate
        Step of the descent; None is the number of base points.

    References
    ----------
    van der Maaten and Hinton, *Visualizing data using t-SNE*, JMLR 2008.

    Examples
    --------
    >>> TSNE(perplexity=2, n_iter=50).embed([[0.0], [1.0], [5.0], [6.0]], 16, rng=0).shape
    (4, 16)
    """

    _minimise = staticmethod(tsne)
