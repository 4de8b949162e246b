"""HammingIndex: codes with ids in memory or a folder, changed by one thread at a time."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from bitfold import _validation
from bitfold._progress import show_progress
from bitfold._threads import SharedLock
from bitfold._types import PathLike
from bitfold.codes import Codes, combine_digests
from bitfold.search.contract import MAX_BITS
from bitfold.search.disk.index_folder import IndexFolder
from bitfold.search.generation import Generation
from bitfold.search.grouping import GroupableCodes
from bitfold.search.ids import IdAssigner, check_ids
from bitfold.search.segment import Segment
from bitfold.search.segments import SegmentList, compact


class HammingIndex(GroupableCodes):
    """Search by Hamming distance: exact, on all cores, each distinct code scanned once.

    Any number of threads may use one index. Changes happen one after another; every other call
    sees the index as it was when the call began, and does not wait for changes.

    Parameters
    ----------
    n_bits
        Length of the codes, 1 to 1024.

    Raises
    ------
    ParameterError
        If ``n_bits`` is not an integer from 1 to 1024.

    Examples
    --------
    >>> codes = Codes.from_bits([[0, 0, 1], [1, 1, 1], [0, 0, 0]])
    >>> index = HammingIndex(n_bits=3)
    >>> index.add(codes)
    >>> index.search(codes[:1], k=2).ids.tolist()
    [[0, 2]]
    >>> index.within(codes[:1], radius=1).distances.tolist()
    [0, 1]
    """

    def __init__(self, n_bits: int) -> None:
        self.n_bits = _validation.check_integer(
            n_bits, "n_bits", "HammingIndex", low=1, high=MAX_BITS
        )
        # Replaced as a whole by the thread that holds the lock; all others only read it.
        self._generation = Generation(SegmentList(self.n_bits))
        self._writing, self._saving = SharedLock(), SharedLock()
        self._folder: IndexFolder | None = None

    def add(self, codes: Codes, ids: ArrayLike | None = None) -> None:
        """Add codes; after an error none of them is added.

        Parameters
        ----------
        codes
            Codes of ``n_bits``.
        ids
            One unique integer per code; None continues after the largest id so far, starting
            with 0. Ids of removed codes are not assigned again.

        Raises
        ------
        ParameterError
            If the codes have another length, or ``ids`` are not one integer per code.
        ModelMismatchError
            If the codes were made by another model than those in the index.
        DataError
            If an id appears twice or is already present.
        """
        with self._writing:
            current = self._check_codes(codes, "index.add(hasher.encode(X))")
            assigner = IdAssigner("HammingIndex", current.next_id)
            assigned = assigner.assign(ids, len(codes))
            if not len(codes):
                return
            if ids is not None:
                current.check_new(assigned)
            digest = combine_digests([current.model_digest, codes.model_digest])
            with show_progress(None) as report:
                report("index", 0, 0)
                segment = Segment.build(codes.words(), assigned)
                self._replace([*current.segments.segments, segment], assigner.next_id, digest)
                report("index", len(codes), len(codes))

    def remove(self, ids: ArrayLike) -> None:
        """Remove codes by id; after an error none of them is removed.

        Parameters
        ----------
        ids
            Ids of codes in the index.

        Raises
        ------
        ParameterError
            If ``ids`` are not integers.
        DataError
            If an id is not in the index.
        """
        unique = np.unique(check_ids(ids, "HammingIndex"))
        with self._writing:
            current = self._generation
            current.check_known(unique)
            segments = current.segments.without(unique)
            self._replace(segments, current.next_id, current.model_digest)

    def build_tables(self, radius: int) -> None:
        """Build the tables for a radius now; otherwise this happens as soon as they pay off.

        An index that is open for writing also stores them in its folder, from which others load
        them. Tables never change results.

        Parameters
        ----------
        radius
            The radius of later calls of :meth:`within`. Nothing is built if a scan is faster, or
            if the tables would take more than :attr:`max_table_bytes`.

        Raises
        ------
        ParameterError
            If ``radius`` is not an integer of at least 0.

        Examples
        --------
        >>> index = HammingIndex(n_bits=64)
        >>> index.add(Codes(np.random.default_rng(0).integers(0, 256, (5000, 8), np.uint8), 64))
        >>> index.build_tables(radius=2)
        >>> index.table_bytes > 0
        True
        """
        self._generation.segments.build_tables(self._check_radius(radius, "build_tables"))

    @property
    def max_table_bytes(self) -> int | None:
        """Memory that the tables of :meth:`within` may take, 0 for no tables.

        None, the default, is 8 times the memory of the codes, or 64 MB if that is more.
        """
        return self._generation.segments.max_table_bytes

    @max_table_bytes.setter
    def max_table_bytes(self, value: int | None) -> None:
        if value is not None:
            value = _validation.check_integer(value, "max_table_bytes", "HammingIndex", low=0)
        with self._writing:
            current = self._generation
            segments = SegmentList(self.n_bits, current.segments.segments, value)
            self._generation = current._replace(segments=segments)
            segments.drop_tables()

    @property
    def table_bytes(self) -> int:
        """Memory of the tables that exist; those in a folder are memory-mapped."""
        return self._generation.segments.table_bytes

    def save(self, path: PathLike) -> None:
        """Write the index to a folder; :meth:`open` reads it.

        Parameters
        ----------
        path
            A new folder, or one that contains an index, which is replaced.

        Raises
        ------
        LockedError
            If another process has opened the folder for writing.
        OSError
            If the folder cannot be written; an index in it is unchanged.
        """
        if self._folder is not None and self._folder.writes_to(path):
            return  # every change is already on disk
        with self._saving, IndexFolder.create(path, self.n_bits) as folder:
            segments, next_id, digest = self._generation
            folder.commit(segments.segments, next_id, digest)

    @classmethod
    def open(cls, path: PathLike, mode: str = "r") -> Self:
        """Open an index on disk; its arrays are memory-mapped.

        Parameters
        ----------
        path
            A folder written by :meth:`save`.
        mode
            "r" to search; "a" to add and remove as well. With "a", every change is durable when
            the method returns. There is one writer at a time; readers are not affected.

        Returns
        -------
        The index.

        Raises
        ------
        FormatError
            If the folder contains no index, or a damaged one.
        LockedError
            If another process has opened the folder for writing.
        """
        _validation.check_choice(mode, "mode", "HammingIndex.open", ("r", "a"))
        return cls.from_folder(IndexFolder.open(path, mode))

    @classmethod
    def from_folder(cls, folder: IndexFolder) -> Self:
        """Return the index in an open folder; the folder commits the changes of the index.

        Parameters
        ----------
        folder
            The folder; closing the index closes it.

        Returns
        -------
        The index.
        """
        index = cls(folder.n_bits)
        segments = SegmentList(folder.n_bits, folder.segments)
        index._generation = Generation(segments, folder.next_id, folder.model_digest)
        index._folder = folder
        return index

    def snapshot(self) -> Self:
        """Return an index of the codes as they are now, which later changes do not affect.

        Returns
        -------
        An index in memory that shares its arrays with this one, so it costs almost nothing.

        Examples
        --------
        >>> index = HammingIndex(n_bits=2)
        >>> before = index.snapshot()
        >>> index.add(Codes.from_bits([[0, 1]]))
        >>> len(before), len(index)
        (0, 1)
        """
        copied = type(self)(self.n_bits)
        copied._generation = self._generation
        return copied

    def close(self) -> None:
        """Release the folder, so that another writer can open it; closing twice is allowed."""
        with self._writing:  # a commit of another thread ends first
            if self._folder is not None:
                self._folder.close()

    def __repr__(self) -> str:
        return f"HammingIndex({len(self)} x {self.n_bits} bits)"

    def _replace(self, segments: list[Segment], next_id: int, digest: str | None) -> None:
        """Replace the segments, on disk first: after an error there, nothing has changed."""
        segments = compact(segments)
        if self._folder is not None:
            self._folder.commit(segments, next_id, digest)
            segments = self._folder.segments
        replaced = self._generation.segments.replace(segments)
        self._generation = Generation(replaced, next_id, digest)
