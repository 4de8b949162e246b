"""Count how far codes are from each other in parts of their bits."""

from __future__ import annotations

from numba import njit

from bitfold._kernels.hamming import popcount
from bitfold._types import Int64Array, Words


@njit(nogil=True, cache=True)
def count_part_distances(targets: Words, codes: Words, masks: Words, counts: Int64Array) -> None:
    """Add the codes at each distance from each target in each part to ``counts[t, part, d]``.

    Targets, codes and the bits of the parts have one row each.
    """
    for t in range(targets.shape[0]):
        for part in range(masks.shape[0]):
            out = counts[t, part]
            for c in range(codes.shape[0]):
                d = 0
                for w in range(masks.shape[1]):
                    d += popcount((codes[c, w] ^ targets[t, w]) & masks[part, w])
                out[d] += 1
