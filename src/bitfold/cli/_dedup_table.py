"""The result of ``bitfold dedup``: one row per item in a group, written to a file in blocks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from bitfold._types import AnyArray, BoolArray, Float32Array, Ids, Int32Array, Int64Array
from bitfold.io.atomic import replace_atomically
from bitfold.search import Clusters, Matches

SUFFIXES = (".parquet", ".jsonl")
"""Formats of the output."""

_BLOCK = 1 << 16
"""Rows that are written at once."""


class GroupTable(NamedTuple):
    """Items in groups, group by group; one entry per item in every column."""

    group: Int64Array
    id: Ids
    representative: Ids
    distance: Int32Array
    keep: BoolArray
    in_index: BoolArray | None = None
    exact_distance: Float32Array | None = None

    @classmethod
    def from_clusters(cls, clusters: Clusters) -> GroupTable:
        """List groups of the input; their representatives are kept."""
        group = np.repeat(np.arange(len(clusters.sizes)), clusters.sizes)
        representative = clusters.representatives[group]
        keep = representative == clusters.ids
        return cls(group, clusters.ids, representative, clusters.distances, keep)

    @classmethod
    def from_matches(cls, matches: Matches) -> GroupTable:
        """List items that are near an item of the other index; none is kept."""
        order = np.lexsort((matches.ids, matches.matches))
        representatives = matches.matches[order]
        group = np.cumsum(np.diff(representatives, prepend=representatives[:1]) != 0)
        keep = np.zeros(len(order), bool)
        distances = matches.distances[order]
        return cls(group, matches.ids[order], representatives, distances, keep, ~keep)

    def append(self, other: GroupTable) -> GroupTable:
        """Add the groups of another table after those of this one."""
        first = int(self.group[-1]) + 1 if len(self.group) else 0
        moved = other._replace(group=other.group + first, in_index=np.zeros(len(other.id), bool))
        joined = {
            name: np.concatenate([values, getattr(moved, name)])
            for name, values in self.columns().items()
        }
        return GroupTable(**joined)

    @property
    def offsets(self) -> Int64Array:
        """Where each group begins; one entry more than there are groups."""
        return np.searchsorted(self.group, np.arange(self.n_groups + 1))

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return int(self.group[-1]) + 1 if len(self.group) else 0

    @property
    def dropped(self) -> Ids:
        """Ids of the items that are not kept."""
        return self.id[~self.keep]

    def columns(self) -> dict[str, AnyArray]:
        """Return the columns that exist, by name."""
        return {name: values for name, values in self._asdict().items() if values is not None}

    def write(self, path: Path) -> None:
        """Write Parquet or JSON lines, by the suffix; the file appears complete or not at all."""
        writer = _write_parquet if path.suffix.lower() == ".parquet" else _write_jsonl
        with replace_atomically(path) as file:
            writer(self.columns(), file)


def import_parquet() -> Any:
    """Import the library that writes Parquet, or say how to install it."""
    try:
        from pyarrow import parquet
    except ImportError:
        raise ImportError(
            'Writing Parquet needs pyarrow: pip install "bitfold[parquet]"; or write .jsonl.'
        ) from None
    return parquet


def _write_parquet(columns: dict[str, AnyArray], file: BinaryIO) -> None:
    parquet = import_parquet()
    import pyarrow as pa

    schema = pa.schema(
        {name: pa.from_numpy_dtype(values.dtype) for name, values in columns.items()}
    )
    with parquet.ParquetWriter(file, schema) as writer:
        for block in _split(columns):
            writer.write_table(pa.table(block, schema=schema))


def _write_jsonl(columns: dict[str, AnyArray], file: BinaryIO) -> None:
    for block in _split(columns):
        rows = zip(*(values.tolist() for values in block.values()), strict=True)
        lines = (json.dumps(dict(zip(block, row, strict=True))) + "\n" for row in rows)
        file.write("".join(lines).encode())


def _split(columns: dict[str, AnyArray]) -> Iterator[dict[str, AnyArray]]:
    n_rows = len(columns["id"])
    for first, last in pairwise([*range(0, n_rows, _BLOCK), n_rows]):
        yield {name: values[first:last] for name, values in columns.items()}
