"""The store in a faiss index."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Self

import faiss
import numpy as np
from numpy.typing import ArrayLike

from bitfold import _validation
from bitfold._types import Float32Array, Ids, PathLike, ProgressCallback, UInt8Array
from bitfold.codes import Codes, count_bytes
from bitfold.errors import StoreError
from bitfold.search import Batch, HammingIndex, Hits, RadiusHits, group_radius_hits
from bitfold.search.ids import check_ids, check_unique_ids, raise_duplicate_ids
from bitfold.stores.contract import Store
from bitfold.stores.faiss.binary_index import BinaryIndex, kind_of
from bitfold.stores.faiss.exact_search import search_flat, search_flat_within
from bitfold.stores.faiss.files import read_index, write_index
from bitfold.stores.loading import BatchLoader
from bitfold.stores.locking import synchronized, synchronized_read
from bitfold.stores.schema import StoreSchema, check_n_bits
from bitfold.stores.transfer import take_vectors

_OWNER = "FaissStore"

_BATCH_ROWS = 1 << 17


class FaissStore(Store):
    """A binary index of faiss, in memory and in faiss's own files.

    Search is exact for every kind of index: HNSW and MultiHash are searched through the flat codes
    that they keep, an IVF through a copy in a :class:`bitfold.HammingIndex`, made when needed. With
    ``exact=False`` faiss searches the index by the settings of :attr:`engine` (``nprobe``,
    ``hnsw.efSearch``, ``nflip``). HNSW and MultiHash are rebuilt when codes are removed. faiss's
    files do not keep :attr:`model_digest`.

    Parameters
    ----------
    index
        A Flat, IVF, HNSW or MultiHash binary index of faiss, also in an IDMap. Without an IDMap
        the codes get the ids 0, 1, 2, ...
    n_bits
        Length of the codes. faiss requires a multiple of 8; other codes are padded with zeros.
        None takes the length of the index.
    vectors
        Vectors for :class:`RerankByStoredVectors`, an array or a memory map; row i belongs to
        id i. They are not part of the index or its file.

    Attributes
    ----------
    index
        The faiss index that answers with ids.
    engine
        The Flat, IVF, HNSW or MultiHash index inside.

    Raises
    ------
    ParameterError
        If faiss has another kind of index here, or ``n_bits`` does not fit it.
    DataError
        If two codes have the same id.

    Examples
    --------
    >>> store = FaissStore.create(n_bits=3, factory="BFlat")
    >>> store.add(Codes.from_bits([[0, 0, 1], [1, 1, 1], [0, 0, 0]]))
    >>> store.search(Codes.from_bits([[0, 0, 1]]), k=2).ids.tolist()
    [[0, 2]]
    >>> store.save("codes.faiss")
    >>> len(FaissStore.open("codes.faiss", n_bits=3))
    3
    """

    def __init__(self, index: Any, n_bits: int | None = None, *, vectors: Any = None) -> None:
        self._binary = BinaryIndex(index)
        self.index, self.engine = self._binary.index, self._binary.engine
        width = self.engine.d
        super().__init__(StoreSchema(check_n_bits(width if n_bits is None else n_bits, _OWNER)))
        if 8 * count_bytes(self.n_bits) != width:
            requirement = f"{width - 7} to {width}, as in the index"
            _validation.raise_invalid("n_bits", _OWNER, requirement, n_bits)
        self._vectors = vectors
        self._ivf_copy: HammingIndex | None = None
        ids, packed = self._binary.content()
        Codes(packed, self.n_bits)  # raises if bits beyond n_bits are set
        check_unique_ids(ids, _OWNER)
        self._next_id = max(0, int(ids.max()) + 1) if len(ids) else 0

    @classmethod
    def create(cls, n_bits: int, factory: str = "BFlat", *, vectors: Any = None) -> Self:
        """Create an empty store in memory.

        Parameters
        ----------
        n_bits
            Length of the codes.
        factory
            Kind of index, as for faiss's ``index_binary_factory``: "BFlat", "BIVF1024", "BHNSW32",
            "BHash4x16" (four tables of 16 bits). An IVF is trained on the first codes added.
        vectors
            Vectors for :class:`RerankByStoredVectors`; row i belongs to id i.

        Returns
        -------
        FaissStore
            The new store.

        Raises
        ------
        ParameterError
            If faiss cannot make such an index.
        """
        check_n_bits(n_bits, _OWNER)
        try:
            index = faiss.index_binary_factory(8 * count_bytes(n_bits), str(factory))
        except RuntimeError:
            requirement = "an index such as 'BFlat', 'BIVF1024' or 'BHNSW32'"
            _validation.raise_invalid("factory", _OWNER, requirement, repr(factory))
        return cls(index, n_bits, vectors=vectors)

    @classmethod
    def open(cls, path: PathLike, n_bits: int | None = None, *, vectors: Any = None) -> Self:
        """Read a file of faiss. It has no checksum: open only files that you trust.

        Parameters
        ----------
        path
            A file written by :meth:`save` or by faiss.
        n_bits
            Length of the codes, which the file rounds up to a multiple of 8; None takes that.
        vectors
            Vectors for :class:`RerankByStoredVectors`; row i belongs to id i.

        Returns
        -------
        FaissStore
            The store.

        Raises
        ------
        MissingStoreError
            If the file does not exist.
        FormatError
            If the file is damaged, or not a binary index of faiss.
        """
        return cls(read_index(path), n_bits, vectors=vectors)

    @synchronized_read
    def save(self, path: PathLike) -> None:
        """Write a file of faiss; after an error the old file is unchanged.

        Parameters
        ----------
        path
            The file to create or replace.
        """
        write_index(self.index, path)

    def add_batches(
        self, batches: Iterable[Batch], progress: ProgressCallback | None = None
    ) -> None:
        super().add_batches(map(_check_plain, batches), progress)

    def _load(self, loader: BatchLoader) -> None:
        batches = list(loader.read(self._next_id, self._model_digest))
        if any(len(batch.codes) for batch in batches):
            packed = np.concatenate([batch.codes.packed for batch in batches])
            self._append(packed, np.concatenate([batch.ids for batch in batches]))
        self._next_id, self._model_digest = loader.next_id, loader.model_digest

    @synchronized
    def remove(self, ids: ArrayLike) -> None:
        unique = np.unique(check_ids(ids, _OWNER))
        self._find(unique)
        self._binary.remove(unique)
        self._ivf_copy = None

    @synchronized_read
    def codes(self, ids: ArrayLike) -> Codes:
        positions = self._find(check_ids(ids, _OWNER))
        return Codes(self._binary.content()[1][positions], self.n_bits, self._model_digest)

    def vectors(self, ids: ArrayLike) -> Float32Array:
        """Return the vectors of some ids, from the array that was passed to the store.

        Parameters
        ----------
        ids
            Row numbers of that array.

        Returns
        -------
        Float32Array
            One row per id.

        Raises
        ------
        StoreError
            If the store has no vectors.
        DataError
            If an id has no row.
        """
        if self._vectors is None:
            raise StoreError("This FaissStore has no vectors; pass them to create() or open().")
        matrix = _validation.check_matrix(self._vectors, _OWNER, name="vectors")
        return np.asarray(take_vectors(matrix, check_ids(ids, _OWNER)), np.float32)

    def batches(self) -> Iterator[Batch]:
        with self._lock:
            ids, packed = self._binary.content()
            # The codes may be a view, which the next change of another thread would move.
            packed, digest = packed.copy(), self._model_digest
        for start in range(0, len(ids), _BATCH_ROWS):
            rows = slice(start, start + _BATCH_ROWS)
            yield Batch(ids[rows], Codes(packed[rows], self.n_bits, digest))

    @synchronized_read
    def __len__(self) -> int:
        return len(self._binary)

    def __repr__(self) -> str:
        return f"FaissStore({len(self)} x {self.n_bits} bits, {kind_of(self.engine)})"

    def _search_exact(self, codes: Codes, k: int, conditions: Any) -> Hits:
        if self._binary.is_ivf:
            return self._copy_ivf().search(codes, k)
        return search_flat(self._binary, codes, k)

    def _search_within(self, codes: Codes, radius: int, conditions: Any) -> RadiusHits:
        if self._binary.is_ivf:
            return self._copy_ivf().within(codes, radius)
        return search_flat_within(self._binary, codes, radius)

    def _probe_index(self, codes: Codes, k: int, conditions: Any) -> RadiusHits:
        distances, ids = self.index.search(codes.packed, k)
        # Missing results have the id -1, which may also be a user's, and an impossible distance.
        is_found = (distances >= 0) & (distances <= self.engine.d)
        queries = np.nonzero(is_found)[0]
        return group_radius_hits(queries, ids[is_found], distances[is_found], len(codes))

    def _copy_ivf(self) -> HammingIndex:
        """Return the codes of an IVF for exact search.

        faiss searches only the lists that its quantizer finds, which may not be all of them, and
        drops a code with the id -1.
        """
        if self._ivf_copy is None:
            ids, packed = self._binary.content()
            index = HammingIndex(self.n_bits)
            index.add(Codes(packed, self.n_bits), ids=ids)
            self._ivf_copy = index
        return self._ivf_copy

    def _append(self, packed: UInt8Array, ids: Ids) -> None:
        """Add codes to the index: all, or none after an error."""
        check_unique_ids(ids, _OWNER)
        taken = ids[np.isin(ids, self._binary.ids)]
        if len(taken):
            raise_duplicate_ids(taken, _OWNER)
        if not self.engine.is_trained:
            n_lists = self.engine.nlist
            if len(ids) < n_lists:
                requirement = f"at least {n_lists} in the first call, to train the {n_lists} lists"
                _validation.raise_invalid("number of codes", _OWNER, requirement, len(ids))
            self._binary.train(packed)
        self._binary.add(packed, ids)
        self._ivf_copy = None

    def _find(self, ids: Ids) -> Ids:
        """Return the positions of some ids; raise if one is not present."""
        positions, is_present = self._binary.find(ids)
        self._check_present(ids, is_present)
        return positions


def _check_plain(batch: Batch) -> Batch:
    if batch.vectors is not None or batch.columns:
        raise StoreError(
            "FaissStore batches take ids and codes only; pass vectors to create() or open()."
        )
    return batch
