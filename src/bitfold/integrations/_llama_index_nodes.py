"""Nodes of LlamaIndex as records, and its filters as functions of records."""

from __future__ import annotations

from collections.abc import Callable

from llama_index.core.schema import BaseNode, MetadataMode
from llama_index.core.vector_stores.types import (
    FilterCondition,
    MetadataFilters,
    VectorStoreQuery,
)
from llama_index.core.vector_stores.utils import (
    build_metadata_filter_fn,
    metadata_dict_to_node,
    node_to_metadata_dict,
)

from bitfold.integrations._records import Record

DOCUMENT = "ref_doc_id"
"""Column with the document of a node, by which nodes are deleted."""


def to_record(node: BaseNode) -> Record:
    """Return a node as a record, without its embedding."""
    metadata = node_to_metadata_dict(node, remove_text=True, flat_metadata=False)
    return Record(node.node_id, node.get_content(MetadataMode.NONE), metadata)


def to_node(record: Record) -> BaseNode:
    """Return a record as a node."""
    return metadata_dict_to_node(record.metadata, text=record.text)


def filter_by_metadata(filters: MetadataFilters | None) -> Callable[[Record], bool] | None:
    """Return filters of LlamaIndex as a function of records."""
    return None if filters is None else lambda record: _meets(record, filters)


def _meets(record: Record, filters: MetadataFilters) -> bool:
    """Return whether a record meets a filter; LlamaIndex itself does not evaluate nested ones."""
    answers = [
        _meets(record, each)
        if isinstance(each, MetadataFilters)
        else build_metadata_filter_fn(lambda _: record.metadata, MetadataFilters(filters=[each]))(
            ""
        )
        for each in filters.filters
    ]
    if filters.condition == FilterCondition.NOT:
        return not any(answers)
    return any(answers) if filters.condition == FilterCondition.OR else all(answers)


def filter_by_query(query: VectorStoreQuery) -> Callable[[Record], bool] | None:
    """Return the conditions of a query as one function of records."""
    by_metadata = filter_by_metadata(query.filters)
    # An index passes an empty list of nodes if its store keeps the texts.
    nodes = set(query.node_ids) if query.node_ids else None
    documents = set(query.doc_ids) if query.doc_ids else None
    if by_metadata is None and nodes is None and documents is None:
        return None
    return lambda record: (
        (nodes is None or record.id in nodes)
        and (documents is None or record.metadata.get(DOCUMENT) in documents)
        and (by_metadata is None or by_metadata(record))
    )
