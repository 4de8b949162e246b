"""Exact scan for the k closest rows, k large: bounded memory, rows read block by block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bitfold import _validation
from bitfold._threads import n_threads
from bitfold._types import AnyArray, Float32Array, Float64Array, Int64Array, SignedIntArray
from bitfold.io.rows import Rows, block_length

_LIST_BYTES = 64 << 20
"""What the lists of one block of queries may weigh."""

_MOST_QUERIES = 256
"""More queries in one matrix product make it no faster."""

_SAMPLE = 4096
"""Rows by which the distance of the k-th closest is guessed."""


class _Scores(NamedTuple):
    """Parts of |x - b|² = |x|² + |b|² - 2 x·b, and what the rounding of all may come to."""

    sq_lengths: Float64Array
    sq_norms: Float32Array
    products: Float32Array
    error: Float64Array

    @classmethod
    def of(cls, Q: Float32Array, B: Float32Array) -> _Scores:
        sq_lengths = np.einsum("ij,ij->i", Q, Q, dtype=np.float64)
        sq_norms = np.einsum("ij,ij->i", B, B)
        # Float32 sums of d products are off by d 2⁻²⁴ at worst (Higham, Sec. 3.1): |b|² by that,
        # 2 x·b by half of it relative to (|x| + |b|)². The 8 is for rounding the vectors and the
        # sum of the three; the rest up to 2 is a margin that costs nothing.
        reach = np.sqrt(sq_lengths) + np.sqrt(float(sq_norms.max()))
        error = 2 * 2.0**-24 * (Q.shape[1] + 8) * reach**2
        return cls(sq_lengths, sq_norms, Q @ B.T, error)


class _Lists(NamedTuple):
    """Candidates of each query in the order of their ids, and the limit they must be below."""

    k: int
    limits: Float64Array
    distances: Float64Array
    ids: SignedIntArray
    filled: Int64Array

    def make_room(self, space: int) -> None:
        """Cut the lists that have no space left down to their k best."""
        for q in np.flatnonzero(self.filled > self.ids.shape[1] - space):
            self._cut(int(q))

    def ranked(self, q: int) -> SignedIntArray:
        """Ids of a query's k best, nearest first."""
        self._cut(q)
        best: SignedIntArray = self.ids[q, np.argsort(self.distances[q, : self.k], kind="stable")]
        return best

    def _cut(self, q: int) -> None:
        """Keep the k best; of those at the largest distance the first, which ties by id."""
        distances, ids = self.distances[q, : self.filled[q]], self.ids[q, : self.filled[q]]
        limit = np.partition(distances, self.k - 1)[self.k - 1]
        kept = distances < limit
        kept[np.flatnonzero(distances == limit)[: self.k - np.count_nonzero(kept)]] = True
        self.distances[q, : self.k], self.ids[q, : self.k] = distances[kept], ids[kept]
        self.limits[q], self.filled[q] = limit, self.k


@dataclass(frozen=True)
class Scan:
    """What all blocks of queries share: the rows to scan, and some of them to guess from."""

    rows: Rows
    queries: Rows
    k: int
    sample: Float32Array

    @classmethod
    def over(cls, X: AnyArray, Q: AnyArray, k: int) -> Scan:
        """Prepare to find the k rows of X closest to each row of Q."""
        rows = Rows.centered(X, "the database")
        chosen = np.linspace(0, len(X) - 1, min(len(X), _SAMPLE)).astype(np.int64)
        return cls(rows, Rows(Q, rows.center, "the queries"), k, rows.take(chosen))

    @property
    def id_type(self) -> type[np.int32] | type[np.int64]:
        """The narrowest that numbers all rows."""
        return np.int32 if len(self.rows) <= np.iinfo(np.int32).max else np.int64

    @property
    def step(self) -> int:
        """Rows read at a time."""
        return min(block_length(self.rows.n_features), len(self.rows))

    @property
    def room(self) -> int:
        """Length of a query's list: its k best, as many candidates, and one block of them."""
        return 2 * self.k + self.step

    def parts(self) -> list[slice]:
        """Blocks of queries whose lists fit, enough of them to keep all threads busy."""
        fitting = _LIST_BYTES // (16 * self.room)
        size = max(1, min(fitting, _MOST_QUERIES, -(-len(self.queries) // n_threads())))
        starts = range(0, len(self.queries), size)
        return [slice(i, min(i + size, len(self.queries))) for i in starts]

    def closest(self, part: slice) -> SignedIntArray:
        """Ids of the k closest rows to each of a block of queries, nearest first."""
        Q = self.queries.block(part.start, part.stop)
        _validation.check_distances_fit(Q, "the queries", first_row=part.start)
        exact = self.queries.matrix[part].astype(np.float64)
        found = np.empty((len(Q), self.k), self.id_type)
        left, limits = np.arange(len(Q)), self._guess(Q)
        while len(left):
            lists = self._collect(Q[left], exact[left], limits)
            enough = lists.filled >= self.k
            for q in np.flatnonzero(enough):
                found[left[q]] = lists.ranked(int(q))
            left = left[~enough]
            limits = np.full(len(left), np.inf)
        return found

    def _guess(self, Q: Float32Array) -> Float64Array:
        """Guess a squared distance within which k rows lie, very likely.

        Too low a guess costs a second scan, too high a one some more distances to measure.
        """
        expected = self.k * len(self.sample) / len(self.rows)
        place = int(expected + 4 * np.sqrt(expected) + 4)
        if place >= len(self.sample):
            return np.full(len(Q), np.inf)
        scores = _Scores.of(Q, self.sample)
        kth = np.partition(scores.sq_norms - 2 * scores.products, place, axis=1)[:, place]
        return kth + scores.sq_lengths + scores.error

    def _collect(self, Q: Float32Array, exact: Float64Array, limits: Float64Array) -> _Lists:
        """List all rows within the limits, which sink as the lists fill up."""
        # The kernel module imports numba, which takes long enough to be put off until needed.
        from bitfold._kernels.closest import collect

        shape = (len(Q), self.room)
        filled = np.zeros(len(Q), np.int64)
        lists = _Lists(self.k, limits, np.empty(shape), np.empty(shape, self.id_type), filled)
        for start in range(0, len(self.rows), self.step):
            values, block = self._read(start)
            scores = _Scores.of(Q, block)
            bounds = (lists.limits - scores.sq_lengths + scores.error).astype(np.float32)
            collect(exact, values, start, scores.sq_norms, scores.products, bounds, *lists[1:])
            lists.make_room(self.step)
        return lists

    def _read(self, start: int) -> tuple[AnyArray, Float32Array]:
        """Rows from here on, as they are and as they are multiplied."""
        X, stop = self.rows.matrix, min(start + self.step, len(self.rows))
        # Copied first: reading the block lets go of a memory map's pages.
        values = np.array(X[start:stop], _exact_type(X.dtype))
        return values, self.rows.block(start, stop)


def _exact_type(dtype: np.dtype[Any]) -> type[np.float32] | type[np.float64]:
    """Narrowest of the types the kernel is compiled for that holds such values exactly."""
    return np.float32 if np.can_cast(dtype, np.float32) else np.float64
