"""Step 4, bits: signs, after a rotation that reduces the quantization loss (Sec. V)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bitfold._threads import borrow_buffer, map_blocks, serial_blas
from bitfold._types import Float32Array, Float64Array, StepCallback
from bitfold.io.rows import block_length

__all__ = ["Rotation", "itq", "unit_rows"]

_TINY = float(np.finfo(np.float32).tiny)


class Rotation(NamedTuple):
    """An orthogonal matrix, and the quantization loss before each iteration.

    Examples
    --------
    >>> rotation = itq(np.eye(2, dtype=np.float32), np.random.default_rng(0), max_iter=3)
    >>> rotation.matrix.shape, len(rotation.losses)
    ((2, 2), 3)
    """

    matrix: Float32Array
    losses: list[float]


def unit_rows(V: Float32Array) -> Float32Array:
    """Scale each row to length 1, so that all rows have the same influence on a rotation.

    Parameters
    ----------
    V
        One vector per row.

    Returns
    -------
    The scaled rows. Zero rows remain zero.

    Examples
    --------
    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]], np.float32)).round(1).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    lengths = np.linalg.norm(V, axis=1, keepdims=True)
    unit: Float32Array = np.divide(V, lengths, out=np.zeros_like(V), where=lengths > 0)
    return unit


@serial_blas()
def itq(
    V: Float32Array,
    rng: np.random.Generator,
    max_iter: int = 50,
    *,
    on_step: StepCallback | None = None,
) -> Rotation:
    """Learn the rotation R that brings V R closest to its signs (iterative quantization).

    Alternates between B = sgn(V R) and the orthogonal Procrustes solution of min |B - V R|².
    Neither step increases the loss.

    Parameters
    ----------
    V
        Zero-centered embedding, one row per vector.
    rng
        Generator of the initial random rotation.
    max_iter
        Number of iterations. The ITQ paper uses 50.
    on_step
        Called with (done, total).

    Returns
    -------
    The rotation, and the loss before each iteration.

    References
    ----------
    Gong et al., *Iterative quantization: a Procrustean approach to learning binary codes*, 2013.

    Examples
    --------
    >>> corners = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]], np.float32)
    >>> R = itq(corners, np.random.default_rng(0)).matrix
    >>> np.allclose(np.abs(corners @ R), 1, atol=1e-5)
    True
    """
    n, n_components = V.shape
    # The scale of V does not change the signs; at unit mean square, losses are comparable.
    V = V / max(float(np.sqrt(np.mean(V * V, dtype=np.float64))), _TINY)
    mean_square = float(np.mean(V * V, dtype=np.float64))
    R = np.linalg.qr(rng.standard_normal((n_components, n_components)))[0].astype(np.float32)
    losses = []
    for step in range(max_iter):
        products = _multiply_by_signs(V, R)
        # The mean of (B - VR)² is 1 - 2 mean|VR| + mean(V²), with Σ|VR| = trace(BᵀVR).
        losses.append(1 + mean_square - 2 * float(np.sum(products * R)) / (n * n_components))
        left, _, right = np.linalg.svd(products)
        R = (left @ right).astype(np.float32)
        if on_step:
            on_step(step + 1, max_iter)
    return Rotation(R, losses)


def _multiply_by_signs(V: Float32Array, R: Float32Array) -> Float64Array:
    """Return VᵀB for B = sgn(V R), computed in blocks that fit into the cache of a core."""
    step = block_length(2 * V.shape[1])

    def multiply(start: int) -> Float32Array:
        part = V[start : start + step]
        B = borrow_buffer("products", part.shape)
        np.matmul(part, R, out=B)
        B[...] = B > 0
        B *= 2
        B -= 1
        product: Float32Array = part.T @ B
        return product

    products = np.zeros(R.shape)
    for product in map_blocks(multiply, range(0, len(V), step)):
        products += product
    return products
