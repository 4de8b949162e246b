"""Signs that minimize a quadratic form, bit by bit (discrete cyclic coordinate descent)."""

from __future__ import annotations

from numba import njit

from bitfold._types import Float64Array, Int8Array


@njit(nogil=True, cache=True)
def descend_bits(
    bits: Int8Array, linear: Float64Array, quadratic: Float64Array, max_sweeps: int
) -> None:
    """Decrease bᵀHb - 2 qᵀb for the bits b of each row, 1 or -1, until no single flip does.

    Row i of ``linear`` is q, and ``quadratic`` is H, symmetric. A bit that makes no difference
    stays as it is, so that the sweeps end.
    """
    n_bits = bits.shape[1]
    for i in range(bits.shape[0]):
        b, q = bits[i], linear[i]
        for _ in range(max_sweeps):
            changed = False
            for j in range(n_bits):
                rest = q[j]
                for k in range(n_bits):
                    if k != j:
                        rest -= quadratic[j, k] * b[k]
                if rest != 0.0 and (rest > 0.0) != (b[j] > 0):
                    b[j] = -b[j]
                    changed = True
            if not changed:
                break
