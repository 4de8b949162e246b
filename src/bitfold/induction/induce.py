"""Eq. (8): the weighted mean of the nearest base points, and the bandwidth of the weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from bitfold import _validation
from bitfold._kernels.induction import weighted_mean
from bitfold._types import Float32Array
from bitfold.neighbors import Neighbors, mean_kth_distance

KTH_DISTANCE = "kth_distance"
"""The rule of the paper's authors: the mean distance to the k-th nearest base point."""


def induce(neighbors: Neighbors, embedding: Float32Array, bandwidth: float) -> Float32Array:
    """Embed a block of rows by Eq. (8), each row on its own.

    Parameters
    ----------
    neighbors
        The nearest base points of the rows.
    embedding
        Embedding of the base set, one row per base point.
    bandwidth
        σ of the weights exp(-d²/σ²).

    Returns
    -------
    One row per row of the block.

    Examples
    --------
    A row halfway between two base points is embedded halfway between their embeddings:

    >>> halfway = Neighbors(np.array([[0, 1]], np.int32), np.array([[1.0, 1.0]]))
    >>> induce(halfway, np.array([[0.0], [4.0]], np.float32), bandwidth=1.0).tolist()
    [[2.0]]
    """
    out = np.empty((len(neighbors.indices), embedding.shape[1]), np.float32)
    weighted_mean(*neighbors, bandwidth, embedding, out)
    return out


def learn_bandwidth(neighbors: Neighbors, n_base_points: int = 1) -> float:
    """Return σ, the root of the mean difference between squared distances.

    Only differences of squared distances matter in Eq. (8), so σ² is their mean over the k
    nearest base points, relative to the nearest. Noise in unrelated directions adds the same to
    all distances and changes nothing. With more than a thousand base points, the k nearest span
    less than a neighborhood, so σ grows with the cube root of the number of base points.

    Parameters
    ----------
    neighbors
        The nearest base points of a sample of rows.
    n_base_points
        Size of the base set.

    Returns
    -------
    The bandwidth; 1 if all differences are zero, because any bandwidth gives the same mean then.

    Examples
    --------
    >>> learn_bandwidth(Neighbors(np.array([[0, 1]], np.int32), np.array([[1.0, 9.0]])))
    2.0
    """
    d = neighbors.sq_distances
    sigma = float(np.sqrt(np.mean(d - d[:, :1]))) * max(1.0, float(np.cbrt(n_base_points / 1000)))
    return sigma if sigma > 0 else 1.0


def check_bandwidth_rule(value: Any, owner: str) -> float | str | None:
    """Return a bandwidth, or the name of the rule by which it is learned.

    Parameters
    ----------
    value
        A number, "kth_distance", or None for the rule of bitfold.
    owner
        Class whose parameter ``bandwidth`` is checked, for errors.

    Returns
    -------
    The bandwidth, the name or None.

    Raises
    ------
    ParameterError
        If the value is not allowed.

    Examples
    --------
    >>> check_bandwidth_rule(2, "IMH"), check_bandwidth_rule("kth_distance", "IMH")
    (2.0, 'kth_distance')
    """
    if value is None:
        return None
    if not isinstance(value, str):
        return _validation.check_bandwidth(value, "bandwidth", owner)
    if value != KTH_DISTANCE:
        requirement = f'a number, "{KTH_DISTANCE}" or None'
        _validation.raise_invalid("bandwidth", owner, requirement, repr(value))
    return value


def choose_bandwidth(rule: float | str | None, neighbors: Neighbors, n_base_points: int) -> float:
    """Return σ, learned from the nearest base points of a sample unless it is given.

    Parameters
    ----------
    rule
        A result of :func:`check_bandwidth_rule`.
    neighbors
        The nearest base points of some rows of the training data.
    n_base_points
        Number of base points.

    Returns
    -------
    The bandwidth.

    Examples
    --------
    >>> neighbors = Neighbors(np.array([[0, 1]], np.int32), np.array([[1.0, 9.0]]))
    >>> choose_bandwidth("kth_distance", neighbors, 2)
    3.0
    """
    if isinstance(rule, float):
        return rule
    if rule == KTH_DISTANCE:
        return mean_kth_distance([neighbors])
    return learn_bandwidth(neighbors, n_base_points)
