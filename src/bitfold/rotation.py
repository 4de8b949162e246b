"""Step 4, bits: the sign, after a rotation that makes it cost little (Sec. 5)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bitfold._kernels.products import to_signs
from bitfold._threads import map_blocks, scratch, serial_blas
from bitfold._types import BoolArray, Float32Array, Float64Array, StepCallback
from bitfold.io.rows import block_length

_TINY = float(np.finfo(np.float32).tiny)


class Rotation(NamedTuple):
    """An orthogonal matrix and the quantization loss before each iteration that led to it."""

    matrix: Float32Array
    losses: list[float]


def bits(embedding: Float32Array) -> BoolArray:
    """Step 4 of Alg. 1: threshold at zero."""
    return embedding > 0


def unit_rows(V: Float32Array) -> Float32Array:
    """Scale each row to length 1: signs know its direction only, so far-out points count alike."""
    lengths = np.linalg.norm(V, axis=1, keepdims=True)
    unit: Float32Array = np.divide(V, lengths, out=np.zeros_like(V), where=lengths > 0)
    return unit


def itq(
    V: Float32Array,
    rng: np.random.Generator,
    max_iter: int = 50,
    *,
    on_step: StepCallback | None = None,
) -> Rotation:
    """Learn the rotation R that brings V R closest to its signs (iterative quantization).

    Alternates B = sgn(V R) and the orthogonal Procrustes solution of min |B - V R|²; neither step
    can raise the loss.

    Parameters
    ----------
    V
        Zero-centered embeddings, one a row.
    rng
        Draws the random rotation to start from.
    max_iter
        Iterations; the ITQ paper uses 50.
    on_step
        Called with (done, total) as the work goes on.

    References
    ----------
    Gong et al., *Iterative quantization: a Procrustean approach to learning binary codes*, 2013.
    """
    n, n_components = V.shape
    # The scale of V does not change the signs; at unit mean square the loss is comparable.
    V = V / max(float(np.sqrt(np.mean(V * V, dtype=np.float64))), _TINY)
    mean_square = float(np.mean(V * V, dtype=np.float64))
    R = np.linalg.qr(rng.standard_normal((n_components, n_components)))[0].astype(np.float32)
    losses = []
    for step in range(max_iter):
        products, total = _toward_signs(V, R)
        # The mean of (B - Z)² is 1 - 2 |Z| + Z² on average, and a rotation keeps the squares.
        losses.append(1 + mean_square - 2 * total / (n * n_components))
        with serial_blas():
            left, _, right = np.linalg.svd(products)
        R = (left @ right).astype(np.float32)
        if on_step:
            on_step(step + 1, max_iter)
    return Rotation(R, losses)


def _toward_signs(V: Float32Array, R: Float32Array) -> tuple[Float64Array, float]:
    """Return VᵀB for B = sgn(V R), and the sum of |V R|; block by block, in a core's cache."""
    step = block_length(2 * V.shape[1])

    def of_block(start: int) -> tuple[Float32Array, float]:
        part = V[start : start + step]
        Z = scratch("products", part.shape)
        np.matmul(part, R, out=Z)
        total = to_signs(Z)
        return part.T @ Z, total

    products, total = np.zeros(R.shape), 0.0
    for product, magnitude in map_blocks(of_block, range(0, len(V), step)):
        products += product
        total += magnitude
    return products, total
