"""Texts with free metadata in a collection, which the stores of all frameworks share.

A collection has typed columns, but documents have metadata of any shape. So the metadata are one
column of JSON, and the columns that a user declares are copied from them, for conditions in SQL.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from bitfold import _validation
from bitfold._types import AnyArray, PathLike
from bitfold.collection import Collection, is_collection
from bitfold.errors import DataError
from bitfold.stores.columns import check_column_values

_OWNER = "the store"

TEXT, METADATA = "text", "metadata"
_OWN_COLUMNS = {TEXT: str, METADATA: str}

_RECORDS_PER_BATCH = 1 << 13


class Record(NamedTuple):
    """A text with its id and metadata; ``text`` is None if there is none."""

    id: str
    text: str | None
    metadata: dict[str, Any]


class RecordHit(NamedTuple):
    """A record that a search found, and its distance from the query."""

    record: Record
    distance: float


class RecordCollection:
    """Records in a collection.

    Parameters
    ----------
    collection
        A collection with the columns of :meth:`open`.
    """

    def __init__(self, collection: Collection) -> None:
        self.collection = collection
        self._lock = Lock()

    @classmethod
    def open(
        cls, path: PathLike, columns: Mapping[str, type] | None, options: dict[str, Any]
    ) -> RecordCollection:
        """Open a collection for writing, or create one; ``options`` are those of ``create``."""
        for name in _OWN_COLUMNS.keys() & (columns or {}):
            _validation.raise_invalid("columns", _OWNER, f"without {name!r}", "it")
        if is_collection(Path(path)):
            collection = Collection.open(path, "a")
        else:
            declared = {**_OWN_COLUMNS, **(columns or {})}
            collection = Collection.create(path, metadata=declared, **options)
        missing = _OWN_COLUMNS.keys() - collection.columns.keys()
        if missing:
            collection.close()
            raise DataError(f"{path} was not made by this store: it has no column {min(missing)}.")
        return cls(collection)

    @property
    def declared_columns(self) -> list[str]:
        """Names of the columns that are copied from the metadata."""
        return [name for name in self.collection.columns if name not in _OWN_COLUMNS]

    def to_similarity(self, distance: float) -> float:
        """Return the similarity of a distance: the cosine, or 1 / (1 + distance)."""
        return 1 - distance if self.collection.metric == "cosine" else 1 / (1 + distance)

    def put(
        self,
        records: Sequence[Record],
        vectors: Any,
        columns: Sequence[Mapping[str, Any]] | None = None,
    ) -> None:
        """Add records; those whose ids are there already are replaced, of equal ids the last wins.

        ``columns`` are the values of the declared columns of each record; None takes those of its
        metadata.
        """
        last = {record.id: number for number, record in enumerate(records)}
        numbers = list(last.values())
        if not numbers:
            return
        given = [record.metadata for record in records] if columns is None else columns
        values = {
            TEXT: [records[i].text for i in numbers],
            METADATA: [_to_json(records[i]) for i in numbers],
            **{name: [given[i].get(name) for i in numbers] for name in self.declared_columns},
        }
        X = self._check_rows([vectors[i] for i in numbers], values)
        # Another thread may replace the same records.
        with self._lock:
            self.remove(last)
            self.collection.add(X, ids=list(last), metadata=values)

    def _check_rows(self, vectors: Any, values: Mapping[str, Any]) -> AnyArray:
        """Return the vectors as a matrix; raise for anything that the collection cannot add.

        It would raise too, but only after the old records are removed.
        """
        X = _validation.check_matrix(vectors, _OWNER)
        _validation.check_finite(X, _OWNER)
        width = self.collection.n_features
        if width not in (None, X.shape[1]):
            raise DataError(f"Vectors have {X.shape[1]} features; those of the store {width}.")
        check_column_values(values, self.collection.columns, len(X), _OWNER)
        return X

    def find(self, ids: Any) -> list[str]:
        """Return those of some ids that are in the collection, in their order."""
        asked = [item for item in dict.fromkeys(ids) if item]
        found: set[str] = set()
        if not len(self.collection):
            return []
        for start in range(0, len(asked), _RECORDS_PER_BATCH):
            part = asked[start : start + _RECORDS_PER_BATCH]
            found.update(self.collection.ids([("id", "in", part)]))
        return [item for item in asked if item in found]

    def remove(self, ids: Any) -> list[str]:
        """Remove records; return those of the ids that were in the collection."""
        found = self.find(ids)
        if found:
            self.collection.remove(found)
        return found

    def read(self, ids: Any) -> list[Record]:
        """Return the records of ids that are in the collection."""
        listed = list(ids)
        if not listed:
            return []
        return _to_records(listed, self.collection.metadata(listed, list(_OWN_COLUMNS)))

    def scan(
        self, matches: Callable[[Record], bool] | None = None, where: Any = None
    ) -> Iterator[Record]:
        """Yield all records that match and meet a condition, in the order of adding."""
        if not len(self.collection):
            return
        ids = self.collection.ids(where)
        for start in range(0, len(ids), _RECORDS_PER_BATCH):
            for record in self.read(ids[start : start + _RECORDS_PER_BATCH]):
                if matches is None or matches(record):
                    yield record

    def search(
        self,
        vector: Any,
        k: int,
        *,
        matches: Callable[[Record], bool] | None = None,
        where: Any = None,
        n_candidates: int = 100,
    ) -> list[RecordHit]:
        """Return the k nearest records that match and meet a condition, nearest first.

        ``matches`` is called for every record that meets ``where``, so that the search is exact
        among those that match.
        """
        k = _validation.check_integer(k, "k", "search", low=0)
        if not len(self.collection) or not k:
            return []
        among = None
        if matches is not None:
            among, where = [record.id for record in self.scan(matches, where)], None
            if not among:
                return []
        hits = self.collection.search(
            [vector], k, where=where, among=among, n_candidates=max(k, n_candidates)
        )
        # Another thread may have removed some of them since.
        records = _to_records(hits.ids[0], hits.read_metadata(hits.ids[0], list(_OWN_COLUMNS)))
        distance_of = dict(zip(hits.ids[0], hits.distances[0].tolist(), strict=True))
        return [RecordHit(record, distance_of[record.id]) for record in records]


def _to_records(ids: Sequence[Any], columns: Mapping[str, list[Any]]) -> list[Record]:
    """Return the records of ids, without those that have no metadata because they were removed."""
    listed = zip(ids, columns[TEXT], columns[METADATA], strict=True)
    return [
        Record(str(item), text, json.loads(metadata))
        for item, text, metadata in listed
        if metadata is not None
    ]


def _to_json(record: Record) -> str:
    try:
        return json.dumps(record.metadata)
    except (TypeError, ValueError) as error:
        raise DataError(f"metadata of {record.id!r} cannot be stored as JSON: {error}.") from None
