"""Step 4, bits: the sign, after a rotation that makes it cost little (Sec. 5)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float32]


class Rotation(NamedTuple):
    """An orthogonal matrix and the quantisation loss before each iteration that led to it."""

    matrix: FloatArray
    losses: list[float]


def bits(embedding: FloatArray) -> NDArray[np.bool_]:
    """Step 4 of Alg. 1: threshold at zero."""
    return embedding > 0


def unit_rows(V: FloatArray) -> FloatArray:
    """Scale each row to length 1: signs know its direction only, so far-out points count alike."""
    lengths = np.linalg.norm(V, axis=1, keepdims=True)
    unit: FloatArray = np.divide(V, lengths, out=np.zeros_like(V), where=lengths > 0)
    return unit


def itq(V: FloatArray, rng: np.random.Generator, n_iter: int = 50) -> Rotation:
    """Learn the rotation R that brings V R closest to its signs (iterative quantisation).

    Alternates B = sgn(V R) and the orthogonal Procrustes solution of min |B - V R|²; neither step
    can raise the loss.

    Parameters
    ----------
    V
        Zero-centred embeddings, one a row.
    rng
        Draws the random rotation to start from.
    n_iter
        Iterations; the ITQ paper uses 50.

    References
    ----------
    Gong et al., *Iterative quantization: a Procrustean approach to learning binary codes*, 2013.
    """
    n_components = V.shape[1]
    # The scale of V does not change the signs; at unit mean square the loss is comparable.
    V = V / max(float(np.sqrt(np.mean(V * V))), float(np.finfo(np.float32).tiny))
    R = np.linalg.qr(rng.standard_normal((n_components, n_components)))[0].astype(np.float32)
    losses = []
    for _ in range(n_iter):
        Z = V @ R
        B = np.where(Z > 0, np.float32(1), np.float32(-1))
        losses.append(float(np.mean((B - Z) ** 2)))
        left, _, right = np.linalg.svd((V.T @ B).astype(np.float64))
        R = (left @ right).astype(np.float32)
    return Rotation(R, losses)
