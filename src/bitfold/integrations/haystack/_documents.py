"""Documents of Haystack as records, and its filters as functions of records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from haystack import Document
from haystack.utils.filters import document_matches_filter

from bitfold.integrations._records import Record


def to_record(document: Document) -> Record:
    """Return a document as a record, without its embedding."""
    fields = document.to_dict(flatten=False)
    for name in ("id", "content", "embedding", "score"):
        fields.pop(name, None)
    return Record(document.id, document.content, fields)


def to_document(
    record: Record, embedding: list[float] | None = None, score: float | None = None
) -> Document:
    """Return a record as a document."""
    own = {"id": record.id, "content": record.text, "embedding": embedding, "score": score}
    document: Document = Document.from_dict({**record.metadata, **own})
    return document


def to_matches(filters: dict[str, Any] | None) -> Callable[[Record], bool] | None:
    """Return filters of Haystack as a function of records."""
    if not filters:
        return None
    return lambda record: bool(document_matches_filter(filters, to_document(record)))
