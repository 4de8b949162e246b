"""A vector store of LlamaIndex on a collection."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.indices.query.embedding_utils import get_top_k_mmr_embeddings
from llama_index.core.schema import BaseNode
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
    VectorStoreQueryResult,
)

from bitfold import _validation
from bitfold._types import PathLike
from bitfold.collection import Collection
from bitfold.integrations._llama_index_nodes import (
    DOCUMENT,
    filter_by_metadata,
    filter_by_query,
    to_node,
    to_record,
)
from bitfold.integrations._records import Record, RecordCollection, RecordHit

__all__ = ["BitfoldNodeStore"]

_OWNER = "BitfoldNodeStore"

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
        declared = {**(columns or {}), DOCUMENT: str}
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
        records = list(map(to_record, nodes))
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
            self._records.remove(self.client.ids([(DOCUMENT, "=", ref_doc_id)]))

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
        return list(map(to_node, self._select(node_ids, filters)))

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
            matches=filter_by_query(query),
            **kwargs,
        )
        if is_mmr:
            hits = self._choose_different(hits, query, threshold)
        return VectorStoreQueryResult(
            nodes=[to_node(hit.record) for hit in hits],
            similarities=[self._records.to_similarity(hit.distance) for hit in hits],
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
        matches = filter_by_metadata(filters)
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
