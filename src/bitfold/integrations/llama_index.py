"""A vector store of LlamaIndex on a collection."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.indices.query.embedding_utils import get_top_k_mmr_embeddings
from llama_index.core.schema import BaseNode, MetadataMode
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    FilterCondition,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
    VectorStoreQueryResult,
)
from llama_index.core.vector_stores.utils import (
    build_metadata_filter_fn,
    metadata_dict_to_node,
    node_to_metadata_dict,
)

from bitfold import _validation
from bitfold._types import PathLike
from bitfold.collection import Collection
from bitfold.integrations._records import Record, RecordCollection, RecordHit

__all__ = ["BitfoldNodeStore"]

_OWNER = "BitfoldNodeStore"

_DOCUMENT = "ref_doc_id"
"""Column with the document of a node, by which nodes are deleted."""

_MODES = (VectorStoreQueryMode.DEFAULT, VectorStoreQueryMode.MMR)


class BitfoldNodeStore(BasePydanticVectorStore):
    """A vector store of LlamaIndex that keeps its nodes in a :class:`~bitfold.Collection`.

    Filters are evaluated by LlamaIndex for every node. ``where``, a keyword of :meth:`query`, is a
    condition on the declared columns, as for :meth:`bitfold.Collection.search`, which is much
    faster. Both are exact.

    Parameters
    ----------
    path
        Folder of the collection. It is created if it does not exist.
    columns
        Metadata keys that ``where`` can use, and their types: bool, int, float or str. Only for a
        new collection.
    metric
        "cosine" or "euclidean". Only for a new collection.
    options
        More parameters of :meth:`bitfold.Collection.create`, such as ``hasher``.

    Examples
    --------
    >>> from llama_index.core.schema import TextNode
    >>> store = BitfoldNodeStore("nodes.bitfold")
    >>> store.add([TextNode(id_="a", text="apple", embedding=[1.0, 0.0])])
    ['a']
    >>> query = VectorStoreQuery(query_embedding=[1.0, 0.0], similarity_top_k=1)
    >>> store.query(query).nodes[0].text
    'apple'
    """

    stores_text: bool = True

    _records: RecordCollection = PrivateAttr()

    def __init__(
        self,
        path: PathLike,
        *,
        columns: Mapping[str, type] | None = None,
        metric: str = "cosine",
        **options: Any,
    ) -> None:
        super().__init__()
        declared = {**(columns or {}), _DOCUMENT: str}
        self._records = RecordCollection.open(path, declared, {"metric": metric, **options})

    @classmethod
    def class_name(cls) -> str:
        """Return the name of the class, for LlamaIndex.

        Returns
        -------
        The name.
        """
        return _OWNER

    @property
    def client(self) -> Collection:
        """The collection, open for writing."""
        return self._records.collection

    def close(self) -> None:
        """Release the files, so that another process can write."""
        self.client.close()

    def add(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[str]:
        """Add nodes; those whose ids are there already are replaced.

        Parameters
        ----------
        nodes
            Nodes with embeddings.
        kwargs
            Not used.

        Returns
        -------
        Their ids.
        """
        records = list(map(_to_record, nodes))
        self._records.put(records, [node.get_embedding() for node in nodes])
        return [node.node_id for node in nodes]

    def delete(self, ref_doc_id: str, **delete_kwargs: Any) -> None:
        """Delete the nodes of a document.

        Parameters
        ----------
        ref_doc_id
            Id of the document.
        delete_kwargs
            Not used.
        """
        if len(self.client):
            self._records.remove(self.client.ids([(_DOCUMENT, "=", ref_doc_id)]))

    def get_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None
    ) -> list[BaseNode]:
        """Return nodes by their ids, by a filter, or by both.

        Parameters
        ----------
        node_ids
            Ids of nodes; None for all. Unknown ones are ignored.
        filters
            A filter of LlamaIndex; None for all.

        Returns
        -------
        The nodes.
        """
        return list(map(_to_node, self._select(node_ids, filters)))

    def delete_nodes(
        self,
        node_ids: list[str] | None = None,
        filters: MetadataFilters | None = None,
        **delete_kwargs: Any,
    ) -> None:
        """Delete nodes by their ids, by a filter, or by both.

        Parameters
        ----------
        node_ids
            Ids of nodes; None for all. Unknown ones are ignored.
        filters
            A filter of LlamaIndex; None for all.
        delete_kwargs
            Not used.
        """
        self._records.remove([record.id for record in self._select(node_ids, filters)])

    def clear(self) -> None:
        """Delete all nodes."""
        self._records.remove(self.client.ids())

    def query(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        """Return the nodes nearest to a query.

        Parameters
        ----------
        query
            A query with an embedding, of the mode "default" or "mmr".
        kwargs
            ``where``, ``n_candidates``; ``mmr_threshold`` and ``mmr_prefetch_factor``, the number
            of nodes to choose from per node to return.

        Returns
        -------
        Nodes, ids and similarities: the cosine, or 1 / (1 + distance).

        Raises
        ------
        ParameterError
            If the mode is another one.
        """
        _validation.check_choice(query.mode, "mode", _OWNER, _MODES)
        threshold, factor = kwargs.pop("mmr_threshold", None), kwargs.pop("mmr_prefetch_factor", 4)
        is_mmr = query.mode == VectorStoreQueryMode.MMR
        hits = self._records.search(
            query.query_embedding,
            query.similarity_top_k * (factor if is_mmr else 1),
            matches=_to_matches(query),
            **kwargs,
        )
        if is_mmr:
            hits = self._choose_different(hits, query, threshold)
        is_cosine = self.client.metric == "cosine"
        return VectorStoreQueryResult(
            nodes=[_to_node(hit.record) for hit in hits],
            similarities=[1 - h.distance if is_cosine else 1 / (1 + h.distance) for h in hits],
            ids=[hit.record.id for hit in hits],
        )

    async def aquery(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        """Return the nodes nearest to a query; the search runs in a thread.

        Parameters
        ----------
        query
            As for :meth:`query`.
        kwargs
            As for :meth:`query`.

        Returns
        -------
        Nodes, ids and similarities.
        """
        return await asyncio.to_thread(self.query, query, **kwargs)

    def persist(self, persist_path: str, fs: Any = None) -> None:
        """Do nothing: every change is on the disk when its method returns.

        Parameters
        ----------
        persist_path
            Not used; the nodes are at the path of the store.
        fs
            Not used.
        """

    def _select(self, node_ids: list[str] | None, filters: MetadataFilters | None) -> list[Record]:
        matches = _filter_by_metadata(filters)
        if node_ids is None:
            return list(self._records.scan(matches))
        found = self._records.read(self._records.find(node_ids))
        return [record for record in found if matches is None or matches(record)]

    def _choose_different(
        self, hits: list[RecordHit], query: VectorStoreQuery, threshold: float | None
    ) -> list[RecordHit]:
        if not hits:
            return hits
        by_id = {hit.record.id: hit for hit in hits}
        vectors = self.client.vectors(list(by_id)).tolist()
        _, chosen = get_top_k_mmr_embeddings(
            query.query_embedding,
            vectors,
            similarity_top_k=query.similarity_top_k,
            embedding_ids=list(by_id),
            mmr_threshold=query.mmr_threshold if threshold is None else threshold,
        )
        return [by_id[item] for item in chosen]


def _to_record(node: BaseNode) -> Record:
    metadata = node_to_metadata_dict(node, remove_text=True, flat_metadata=False)
    return Record(node.node_id, node.get_content(MetadataMode.NONE), metadata)


def _to_node(record: Record) -> BaseNode:
    return metadata_dict_to_node(record.metadata, text=record.text)


def _filter_by_metadata(filters: MetadataFilters | None) -> Callable[[Record], bool] | None:
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


def _to_matches(query: VectorStoreQuery) -> Callable[[Record], bool] | None:
    """Return the conditions of a query as one function of records."""
    by_metadata = _filter_by_metadata(query.filters)
    # An index passes an empty list of nodes if its store keeps the texts.
    nodes = set(query.node_ids) if query.node_ids else None
    documents = set(query.doc_ids) if query.doc_ids else None
    if by_metadata is None and nodes is None and documents is None:
        return None
    return lambda record: (
        (nodes is None or record.id in nodes)
        and (documents is None or record.metadata.get(_DOCUMENT) in documents)
        and (by_metadata is None or by_metadata(record))
    )
