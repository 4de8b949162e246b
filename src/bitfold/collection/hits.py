"""What a search in a collection returns: ids and distances, and tables with metadata."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bitfold._types import AnyArray, Float32Array

ReadMetadata = Callable[[AnyArray, bool | Sequence[str]], dict[str, list[Any]]]


@dataclass(frozen=True, eq=False)
class CollectionHits:
    """The nearest items of each query, nearest first, ties in the order they were added.

    Parameters
    ----------
    ids
        Ids of the items, integers or strings, one row per query.
    distances
        Their distances, float32; smaller is nearer. If the collection keeps vectors, they are
        exact: the Euclidean distance, or 1 - cosine, to the vector as it is kept. If not, they are
        those of an asymmetric search (:class:`bitfold.search.Hits`).
    read_metadata
        Reads the metadata of items by their ids, for the tables.

    Examples
    --------
    >>> import bitfold as bf
    >>> c = bf.Collection.create("words.bitfold", [[0.0, 1.0], [2.0, 3.0]], ids=["a", "b"])
    >>> hits = c.search([[2.0, 2.0]], k=1)
    >>> hits.ids.tolist(), hits.distances.tolist()
    ([['b']], [[1.0]])
    """

    ids: AnyArray
    distances: Float32Array
    read_metadata: ReadMetadata = field(repr=False)

    def __len__(self) -> int:
        return len(self.ids)

    def to_pandas(self, metadata: bool | Sequence[str] = False) -> Any:
        """Return a table of pandas: one row per hit, with query, rank, id and distance.

        Parameters
        ----------
        metadata
            True for all metadata columns, or the names of some. They are read now: the values of
            items that were removed since the search are missing.

        Returns
        -------
        A DataFrame.

        Raises
        ------
        ImportError
            If pandas is not installed.
        ParameterError
            If a column is unknown.
        """
        try:
            import pandas as pd
        except ImportError:
            raise ImportError('to_pandas needs pandas: pip install "bitfold[pandas]".') from None
        return pd.DataFrame(self._to_columns(metadata))

    def to_arrow(self, metadata: bool | Sequence[str] = False) -> Any:
        """Return an Arrow table: one row per hit, with query, rank, id and distance.

        Parameters
        ----------
        metadata
            True for all metadata columns, or the names of some, as for :meth:`to_pandas`.

        Returns
        -------
        A pyarrow.Table.

        Raises
        ------
        ImportError
            If pyarrow is not installed.
        ParameterError
            If a column is unknown.
        """
        try:
            import pyarrow as pa
        except ImportError:
            raise ImportError('to_arrow needs pyarrow: pip install "bitfold[parquet]".') from None
        return pa.table(self._to_columns(metadata))

    def _to_columns(self, metadata: bool | Sequence[str]) -> dict[str, Any]:
        n_queries, k = self.ids.shape
        flat = self.ids.ravel()
        columns = {
            "query": np.repeat(np.arange(n_queries), k),
            "rank": np.tile(np.arange(1, k + 1), n_queries),
            "id": flat,
            "distance": self.distances.ravel(),
        }
        values = self.read_metadata(flat, metadata) if metadata else {}
        # Metadata may have columns of the same names.
        named = {f"metadata_{name}" if name in columns else name: v for name, v in values.items()}
        return columns | named
