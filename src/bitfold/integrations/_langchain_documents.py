"""Documents of LangChain as records, and its filters as functions of records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from uuid import uuid4

from langchain_core.documents import Document

from bitfold import _validation
from bitfold.errors import ParameterTypeError
from bitfold.integrations._records import Record

_OWNER = "BitfoldVectorStore"


def to_records(
    texts: Iterable[str],
    metadatas: Sequence[dict[str, Any]] | None,
    ids: Sequence[str | None] | None,
) -> list[Record]:
    """Return texts as records; those without an id get a new one."""
    listed = list(texts)
    metadata = [{}] * len(listed) if metadatas is None else metadatas
    given = [None] * len(listed) if ids is None else ids
    for name, values in (("metadatas", metadata), ("ids", given)):
        if len(values) != len(listed):
            requirement = f"one per text, {len(listed)}"
            _validation.raise_invalid(name, _OWNER, requirement, len(values))
    return list(map(Record, (item or str(uuid4()) for item in given), listed, metadata))


def to_document(record: Record) -> Document:
    """Return a record as a document."""
    return Document(id=record.id, page_content=record.text or "", metadata=record.metadata)


def to_matches(filter_by: Any) -> Callable[[Record], bool] | None:
    """Return a filter, a mapping or a function of documents, as a function of records."""
    if filter_by is None:
        return None
    if isinstance(filter_by, Mapping):
        wanted = filter_by
        return lambda record: all(record.metadata.get(name) == wanted[name] for name in wanted)
    if callable(filter_by):
        return lambda record: bool(filter_by(to_document(record)))
    requirement = "a mapping or a function of a document"
    raise ParameterTypeError("filter", _OWNER, requirement, type(filter_by).__name__)
