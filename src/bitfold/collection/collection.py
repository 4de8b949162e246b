"""Collection: vectors, codes, ids and metadata in one folder, searched as one."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

from bitfold import _validation
from bitfold._types import PathLike, ProgressCallback
from bitfold.collection.additions import NewRows
from bitfold.collection.contents import CollectionContents
from bitfold.collection.creation import create_collection, open_writer
from bitfold.collection.database import Database
from bitfold.collection.fitting import check_hasher, choose_metric
from bitfold.collection.folder import DATABASE, is_collection
from bitfold.collection.reading import read_snapshot
from bitfold.collection.snapshot import Snapshot
from bitfold.collection.writer import CollectionWriter
from bitfold.errors import FormatError
from bitfold.hashers import Hasher


class Collection(CollectionContents):
    """Vectors, their codes, ids and metadata in one folder.

    A collection encodes vectors with its hasher, finds the nearest codes of a query by asymmetric
    search, and measures the best of them exactly with the vectors it keeps. With fewer than about
    1,000 items it compares all vectors; when there are enough, it fits its hasher.

    Make one with :meth:`create` or :meth:`open`. Any number of threads may use it. Changes happen
    one after another, each is durable when its method returns, and after an error nothing has
    changed. One process can write; the others read the last commit.

    Parameters
    ----------
    path
        The folder.
    database
        The database in it.
    content
        What was read, or the writer.

    Attributes
    ----------
    path
        The folder.

    Examples
    --------
    >>> import numpy as np
    >>> import bitfold as bf
    >>> X = np.random.default_rng(0).normal(size=(2000, 32))
    >>> c = bf.Collection.create("news.bitfold", X, metadata={"year": np.arange(2000) % 30 + 1995})
    >>> hits = c.search(X[:2], k=3, where="year >= 2020")
    >>> hits.ids.shape
    (2, 3)
    >>> c.add(X[:10] + 1, metadata={"year": [2025] * 10})
    >>> c.remove([0, 1])
    >>> len(c)
    2008
    """

    def __init__(
        self, path: Path, database: Database, content: Snapshot | CollectionWriter
    ) -> None:
        self._writer = content if isinstance(content, CollectionWriter) else None
        snapshot = content.snapshot if isinstance(content, CollectionWriter) else content
        super().__init__(path, database, snapshot)

    @classmethod
    def create(
        cls,
        path: PathLike,
        X: Any = None,
        *,
        hasher: Hasher | None = None,
        keep_vectors: str | bool = "float16",
        ids: Any = None,
        metadata: Any = None,
        metric: str | None = None,
        n_features: int | None = None,
        replace: bool = False,
        progress: ProgressCallback | None = None,
    ) -> Self:
        """Create a collection, with rows or empty, and open it for writing.

        Parameters
        ----------
        path
            A new folder.
        X
            Vectors in any form that hashers accept, also larger than memory; None for an empty
            collection.
        hasher
            A hasher, fitted or not. One that is not fitted is fitted to the first rows, as soon as
            there are 1,000; it is copied, not changed. None chooses what finds the most
            candidates: ``ITQ`` with up to 128 bits for vectors of at least 64 numbers,
            ``LSH(128)`` for shorter ones, and ``DualHasher(128)`` if vectors are not kept.
        keep_vectors
            How to keep the vectors for exact distances: "float32", "float16" or "int8", or False
            for codes only. Vectors are kept until the hasher is fitted in any case.
        ids
            One integer or string per row; None numbers the rows 0, 1, 2, …
        metadata
            Columns with one value per row: a DataFrame of pandas or Polars, an Arrow table, a
            mapping of names to values, or a list of dictionaries. Columns are of bool, int,
            float, str or time. For an empty collection also a mapping of names to these types.
        metric
            "euclidean" or "cosine"; None is "cosine" if the hasher has ``normalize=True``, and
            otherwise "euclidean". For vectors of unit length both give the same order.
        n_features
            Width of the vectors of an empty collection; None takes that of the first rows.
        replace
            Whether to replace a collection at the same path, which stays valid until the new one
            is complete.
        progress
            Called with (stage, done, total).

        Returns
        -------
        The collection.

        Raises
        ------
        ParameterError
            If a parameter is not valid.
        DataError
            If the vectors, ids or metadata cannot be used.
        FileExistsError
            If there is something at the path already.
        LockedError
            If another process is writing to the folder.
        """
        writer = create_collection(
            Path(path).absolute(),
            X,
            ids,
            metadata,
            hasher=check_hasher(hasher),
            keep_vectors=keep_vectors,
            metric=choose_metric(metric, hasher),
            n_features=n_features,
            replaces=replace,
            progress=progress,
        )
        return cls(Path(path).absolute(), writer.database, writer)

    @classmethod
    def open(cls, path: PathLike, mode: str = "r") -> Self:
        """Open a collection; nothing that grows with its size is read.

        Parameters
        ----------
        path
            The folder.
        mode
            "r" to search; "a" to change it as well, by one process at a time.

        Returns
        -------
        The collection, as it was after the last commit.

        Raises
        ------
        FileNotFoundError
            If the folder does not exist.
        FormatError
            If it is not a collection, or damaged.
        NewerFormatError
            If it was written by a newer version of bitfold.
        LockedError
            If another process has opened it for writing.
        """
        _validation.check_choice(mode, "mode", "Collection.open", ("r", "a"))
        folder = Path(path).absolute()
        if not folder.exists():
            raise FileNotFoundError(f"{path} does not exist.")
        if not is_collection(folder):
            raise FormatError(f"{path} is not a collection: it has no {DATABASE}.")
        if mode == "a":
            writer = open_writer(folder)
            return cls(folder, writer.database, writer)
        database = Database(folder)
        return cls(folder, database, read_snapshot(folder, database))

    def add(
        self,
        X: Any,
        *,
        ids: Any = None,
        metadata: Any = None,
        progress: ProgressCallback | None = None,
    ) -> None:
        """Add rows, durably: all of them with their ids and metadata, or none.

        Parameters
        ----------
        X
            Vectors in any form that hashers accept.
        ids
            One new integer or string per row; None continues after the largest integer so far.
        metadata
            Values of the columns, as for :meth:`create`; those of other columns are missing.
        progress
            Called with (stage, done, total).

        Raises
        ------
        ParameterError
            If a column is unknown, or a value has another type than its column.
        DataError
            If the vectors cannot be used, or an id appears twice or is already there.
        PermissionError
            If the collection is open for reading.
        """
        self._check_writer().add(NewRows.open(X, ids, metadata), progress)

    def remove(self, ids: Any) -> None:
        """Remove items; after an error none of them is removed.

        Parameters
        ----------
        ids
            Ids of items.

        Raises
        ------
        DataError
            If an id is not in the collection.
        PermissionError
            If the collection is open for reading.
        """
        self._check_writer().remove(ids)

    def rebuild(
        self, hasher: Hasher | None = None, *, progress: ProgressCallback | None = None
    ) -> None:
        """Fit the hasher to the vectors that are kept now, and encode all of them again.

        Parameters
        ----------
        hasher
            Another hasher; None keeps the settings. One that is fitted is used as it is. With
            fewer than 1,000 items, a hasher that is not fitted waits for more.
        progress
            Called with (stage, done, total).

        Raises
        ------
        ParameterError
            If the hasher does not suit the metric.
        DataError
            If the collection keeps no vectors.
        PermissionError
            If the collection is open for reading.
        """
        writer = self._check_writer()
        if check_hasher(hasher) is not None:
            choose_metric(self.metric, hasher)
        writer.rebuild(hasher, progress)

    def compact(self, *, progress: ProgressCallback | None = None) -> None:
        """Give the space of removed items back to the file system.

        Parameters
        ----------
        progress
            Called with (stage, done, total).

        Raises
        ------
        PermissionError
            If the collection is open for reading.
        """
        self._check_writer().compact(progress)

    def refresh(self) -> None:
        """See what other processes have committed since the collection was opened."""
        if self._writer is None:
            super().refresh()

    def _renew(self) -> None:
        if self._writer is None:
            super()._renew()
        else:
            # Another thread may be between committing and replacing its snapshot.
            self._writer.wait()

    def close(self) -> None:
        """Release files and locks, so that another process can write; closing twice is allowed."""
        if self._writer is not None:
            self._writer.close()
        super().close()

    @property
    def _snapshot(self) -> Snapshot:
        return self._opened if self._writer is None else self._writer.snapshot

    def _check_writer(self) -> CollectionWriter:
        if self._writer is None:
            raise PermissionError(f"{self.path} is open for reading; open it with mode 'a'.")
        return self._writer
