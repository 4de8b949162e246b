"""The content of a collection, which readers and the writer see alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np

from bitfold import _validation
from bitfold._types import AnyArray, Float32Array, Int64Array
from bitfold.codes import Codes
from bitfold.collection.database import Database
from bitfold.collection.hits import CollectionHits
from bitfold.collection.id_map import check_item_ids
from bitfold.collection.kept_vectors import KeptVectors
from bitfold.collection.reading import CollectionSummary, read_snapshot, verify_snapshot
from bitfold.collection.snapshot import LiveVectors, Snapshot
from bitfold.errors import DataError, FormatError
from bitfold.hashers import Hasher
from bitfold.search import Batch
from bitfold.search.ids import raise_repeated_ids

R = TypeVar("R")

_OWNER = "Collection"

_ITEMS_PER_BATCH = 1 << 13


class CollectionContents:
    """What can be read of a collection; :class:`Collection` adds the changes.

    Parameters
    ----------
    path
        The folder.
    database
        The database in it.
    snapshot
        The content.

    Attributes
    ----------
    path
        The folder.

    Examples
    --------
    >>> import bitfold as bf
    >>> c = bf.Collection.create("some.bitfold", [[0.0, 1.0]], metadata={"kind": ["news"]})
    >>> isinstance(c, CollectionContents), c.columns
    (True, {'kind': <class 'str'>})
    """

    def __init__(self, path: Path, database: Database, snapshot: Snapshot) -> None:
        self.path = path
        self._database = database
        self._opened = snapshot

    def search(
        self,
        Q: Any,
        k: int = 10,
        *,
        where: Any = None,
        among: Any = None,
        n_candidates: int = 100,
    ) -> CollectionHits:
        """Find the k nearest items of each query.

        The codes nearest to the embedding of the query are found by an exact scan; the best of
        them are measured with the kept vectors. If there are fewer than about 1,000 items, or so
        few meet the condition, all of them are measured.

        Parameters
        ----------
        Q
            Query vectors, one per row.
        k
            Number of items per query, at least 1. All are returned if there are fewer.
        where
            A condition on the metadata, such as ``"year >= 2020 and kind in ('news', 'blog')"``,
            with ``and``, ``or``, ``not``, parentheses, comparisons, ``in``, ``between``, ``like``
            and ``is null``; or a list of tuples as for stores. Columns may be in double quotes,
            and ``id`` is one. The search is exact among the items that meet it.
        among
            Unique ids of the items to search among; None searches all. With ``where``, items must
            meet both.
        n_candidates
            Number of nearest codes per query whose vectors are measured, if vectors are kept.

        Returns
        -------
        Ids and distances.

        Raises
        ------
        ParameterError
            If a parameter is not valid, or the condition cannot be understood.
        DataError
            If the queries cannot be used, or an id of ``among`` is not in the collection or
            appears twice.
        """
        queries = _validation.check_matrix(Q, _OWNER, name="Q", min_rows=0)
        _validation.check_finite(queries, _OWNER, name="Q")
        k = _validation.check_integer(k, "k", "search", low=1)
        n_candidates = _validation.check_integer(n_candidates, "n_candidates", "search", low=1)

        def find(snapshot: Snapshot) -> CollectionHits:
            if snapshot.state.n_features not in (None, queries.shape[1]):
                raise DataError(
                    f"Q has {queries.shape[1]} features, but the collection has vectors of "
                    f"{snapshot.state.n_features}."
                )
            rows = _select_rows(snapshot, where, among)
            nearest, distances = snapshot.search(queries, k, rows, n_candidates)
            return CollectionHits(snapshot.ids.to_ids(nearest), distances, self._read_metadata)

        return self._read(find)

    def metadata(self, ids: Any, columns: Sequence[str] | None = None) -> dict[str, list[Any]]:
        """Return the metadata of some items, in the order of the ids.

        Parameters
        ----------
        ids
            Ids of items; they may repeat.
        columns
            Names of columns; None for all.

        Returns
        -------
        One list of values per column; None marks a missing value.

        Raises
        ------
        ParameterError
            If a column is unknown.
        DataError
            If an id is not in the collection.
        """

        def read(snapshot: Snapshot) -> dict[str, list[Any]]:
            rows = snapshot.ids.find_known(ids)
            return snapshot.items.read(rows, _check_columns(columns, snapshot))

        return self._read(read)

    def vectors(self, ids: Any = None) -> Float32Array:
        """Return the kept vectors of some items, in the order of the ids.

        Parameters
        ----------
        ids
            Ids of items; None for all, in the order they were added.

        Returns
        -------
        One row per item, as the vectors are kept: rounded to their format, and of unit length if
        the metric is cosine.

        Raises
        ------
        DataError
            If the collection keeps no vectors, or an id is not in it.
        """

        def read(snapshot: Snapshot) -> Float32Array:
            rows = snapshot.live_rows if ids is None else snapshot.ids.find_known(ids)
            return _require_vectors(snapshot).decode(rows)

        return self._read(read)

    def open_vectors(self) -> LiveVectors:
        """Return the kept vectors of all items as a matrix that is read from the disk in slices.

        Returns
        -------
        Anything that takes vectors larger than memory takes it, such as ``hasher.fit``.

        Raises
        ------
        DataError
            If the collection keeps no vectors.
        """
        snapshot = self._snapshot
        return LiveVectors(_require_vectors(snapshot), snapshot.live_rows)

    def ids(self, where: Any = None) -> AnyArray:
        """Return the ids of all items, or of those that meet a condition, in the order of adding.

        Parameters
        ----------
        where
            A condition on the metadata, as for :meth:`search`; None for all items.

        Returns
        -------
        Integers, or an array of strings.

        Raises
        ------
        ParameterError
            If the condition cannot be understood.
        """

        def read(snapshot: Snapshot) -> AnyArray:
            rows = _select_rows(snapshot, where, None)
            return snapshot.ids.to_ids(snapshot.live_rows if rows is None else rows)

        return self._read(read)

    def batches(self) -> Iterator[Batch]:
        """Iterate over all items in the order they were added, in batches of bounded size.

        Yields
        ------
        Ids, codes, kept vectors (None without) and metadata.

        Raises
        ------
        DataError
            If the hasher is not fitted, so that there are no codes.
        """
        snapshot = self._snapshot
        if snapshot.index is None:
            raise DataError(
                f"{self.path} has no codes yet: its hasher is fitted when it has 1,000 items."
            )
        for start in range(0, len(snapshot.live_rows), _ITEMS_PER_BATCH):
            rows = snapshot.live_rows[start : start + _ITEMS_PER_BATCH]
            vectors = None if snapshot.vectors is None else snapshot.vectors.decode(rows)
            columns = snapshot.items.read(rows, list(snapshot.state.columns))
            ids = snapshot.ids.to_ids(rows)
            yield Batch(ids, snapshot.index.codes(rows), vectors, columns)

    def codes(self) -> Codes:
        """Return the codes of all items, in the order they were added.

        Returns
        -------
        One code per item.

        Raises
        ------
        DataError
            If the hasher is not fitted, so that there are no codes.
        """
        return Codes.concatenate([batch.codes for batch in self.batches()])

    def verify(self) -> CollectionSummary:
        """Check every byte of the collection.

        Returns
        -------
        What it contains.

        Raises
        ------
        FormatError
            If a file is damaged.
        """
        return self._read(verify_snapshot)

    def refresh(self) -> None:
        """See what other processes have committed since the collection was opened."""
        self._opened = read_snapshot(self.path, self._database)

    @property
    def hasher(self) -> Hasher | None:
        """The fitted hasher; None as long as there are too few items."""
        return self._read(lambda snapshot: snapshot.hasher)

    @property
    def query_hasher(self) -> Hasher | None:
        """The hasher as :meth:`search` uses it, or None as long as there are too few items.

        If vectors are kept, a :class:`~bitfold.DualHasher` with the default ``coarse_weight``
        gives its coarse bits less weight, which finds more of the nearest vectors. The codes are
        the same.
        """
        return self._read(lambda snapshot: snapshot.query_hasher)

    @property
    def metric(self) -> str:
        """The metric, "euclidean" or "cosine"."""
        return self._snapshot.state.metric

    @property
    def keep_vectors(self) -> str | bool:
        """The format in which vectors are kept, or False."""
        return self._snapshot.state.keep_vectors

    @property
    def n_features(self) -> int | None:
        """Width of the vectors; None before the first row."""
        return self._snapshot.state.n_features

    @property
    def n_bits(self) -> int | None:
        """Length of the codes; None as long as there are none."""
        index = self._snapshot.index
        return None if index is None else index.n_bits

    @property
    def columns(self) -> Mapping[str, type]:
        """Types of the metadata columns by name."""
        return dict(self._snapshot.state.columns)

    def __len__(self) -> int:
        """Return the number of items."""
        return self._snapshot.state.n_items

    def __repr__(self) -> str:
        state = self._snapshot.state
        codes = "no codes yet" if self.n_bits is None else f"{self.n_bits} bits"
        return f"Collection({len(self)} items, {codes}, {state.metric})"

    def close(self) -> None:
        """Release files and locks; closing twice is allowed."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    @property
    def _snapshot(self) -> Snapshot:
        return self._opened

    def _read(self, read: Callable[[Snapshot], R]) -> R:
        """Return what is read from the present snapshot.

        Another thread or process may have replaced the files and tables that it refers to; it is
        then read from the next one.
        """
        while True:
            snapshot = self._snapshot
            try:
                return read(snapshot)
            except FormatError:
                self._renew()
                if self._snapshot.state.generation == snapshot.state.generation:
                    raise

    def _renew(self) -> None:
        """Replace the snapshot if another process has committed."""
        self.refresh()

    def _read_metadata(self, ids: AnyArray, columns: bool | Sequence[str]) -> dict[str, list[Any]]:
        """Return metadata of hits; None for items that were removed since."""
        names = None if isinstance(columns, bool) else columns

        def read(snapshot: Snapshot) -> dict[str, list[Any]]:
            rows = snapshot.ids.find(check_item_ids(ids))
            return snapshot.items.read(rows, _check_columns(names, snapshot))

        return self._read(read)


def _select_rows(snapshot: Snapshot, where: Any, among: Any) -> Int64Array | None:
    """Return the rows that meet a condition and have one of some ids, ascending; None for all."""
    found = None if where is None else snapshot.find_rows(where)
    if among is None:
        return found
    listed, counts = np.unique(
        snapshot.ids.find_known(check_item_ids(among, "among", "search")), return_counts=True
    )
    if (counts > 1).any():
        raise_repeated_ids(snapshot.ids.to_ids(listed[counts > 1]).tolist(), "search")
    return listed if found is None else np.intersect1d(found, listed, assume_unique=True)


def _check_columns(columns: Sequence[str] | None, snapshot: Snapshot) -> list[str]:
    known = snapshot.state.columns
    names = list(known) if columns is None else list(columns)
    for name in names:
        if name not in known:
            listed = ", ".join(map(repr, known))
            requirement = f"among {listed}" if known else "None, because there are no metadata"
            _validation.raise_invalid("columns", _OWNER, requirement, repr(name))
    return names


def _require_vectors(snapshot: Snapshot) -> KeptVectors:
    if not snapshot.state.n_rows:
        nothing = np.empty((0, snapshot.state.n_features or 0), np.float32)
        return KeptVectors("float32", nothing, np.empty(0, np.float32))
    if snapshot.vectors is None:
        raise DataError(f"{snapshot.path} keeps no vectors; create it with keep_vectors.")
    return snapshot.vectors
