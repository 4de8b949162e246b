"""Hamming distances over 64-bit words."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray


@intrinsic
def popcount(typing_context: Any, word: Any) -> Any:
    """Count the ones of a word: the processor's own instruction, which numba does not offer."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.IntType(64)
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(kind, [kind]), "llvm.ctpop.i64"
        )
        return builder.call(function, arguments)

    return types.int64(types.uint64), generate


@njit(nogil=True, cache=True)
def histograms_by_label(
    queries: NDArray[np.uint64],
    database: NDArray[np.uint64],
    query_labels: NDArray[np.int64],
    labels: NDArray[np.int64],
    found: NDArray[np.int64],
    relevant: NDArray[np.int64],
) -> None:
    """Count, per query and distance, all codes and those with the query's label."""
    n_words = database.shape[1]
    for q in range(len(queries)):
        for i in range(len(database)):
            distance = 0
            for w in range(n_words):
                distance += popcount(queries[q, w] ^ database[i, w])
            found[q, distance] += 1
            relevant[q, distance] += labels[i] == query_labels[q]
