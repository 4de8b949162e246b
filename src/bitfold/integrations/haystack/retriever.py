"""A retriever of Haystack: a component of a pipeline that searches a document store."""

from __future__ import annotations

import asyncio
from typing import Any, Self

from haystack import Document, component, default_to_dict
from haystack.document_stores.types import FilterPolicy, apply_filter_policy

from bitfold.integrations.haystack.document_store import BitfoldDocumentStore

__all__ = ["BitfoldEmbeddingRetriever"]


@component
class BitfoldEmbeddingRetriever:
    """A component of Haystack that retrieves documents from a :class:`BitfoldDocumentStore`.

    Parameters
    ----------
    document_store
        The store.
    filters
        A filter of Haystack for all queries.
    top_k
        Number of documents.
    return_embedding
        Whether to return the embeddings of the documents too.
    filter_policy
        Whether the filter of a query replaces ``filters``, or is merged with them.

    Examples
    --------
    >>> store = BitfoldDocumentStore("store.bitfold", embedding_dim=2)
    >>> store.write_documents([Document(content="apple", embedding=[1.0, 0.0])])
    1
    >>> retriever = BitfoldEmbeddingRetriever(store, top_k=1)
    >>> retriever.run(query_embedding=[1.0, 1.0])["documents"][0].content
    'apple'
    """

    def __init__(
        self,
        document_store: BitfoldDocumentStore,
        filters: dict[str, Any] | None = None,
        top_k: int = 10,
        return_embedding: bool = False,
        filter_policy: FilterPolicy = FilterPolicy.REPLACE,
    ) -> None:
        self.document_store = document_store
        self.filters = filters
        self.top_k = top_k
        self.return_embedding = return_embedding
        self.filter_policy = filter_policy

    def to_dict(self) -> dict[str, Any]:
        """Return the parameters, for a pipeline in YAML.

        Returns
        -------
        A dictionary that :meth:`from_dict` reads.
        """
        parameters = {
            "filters": self.filters,
            "top_k": self.top_k,
            "return_embedding": self.return_embedding,
            "filter_policy": self.filter_policy.value,
        }
        described: dict[str, Any] = default_to_dict(
            self, document_store=self.document_store.to_dict(), **parameters
        )
        return described

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Return a retriever with the parameters that :meth:`to_dict` returned.

        Parameters
        ----------
        data
            The dictionary.

        Returns
        -------
        The retriever; its store is open.
        """
        parameters = dict(data["init_parameters"])
        parameters["document_store"] = BitfoldDocumentStore.from_dict(parameters["document_store"])
        parameters["filter_policy"] = FilterPolicy.from_str(parameters["filter_policy"])
        return cls(**parameters)

    @component.output_types(documents=list[Document])
    def run(
        self,
        query_embedding: list[float],
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
    ) -> dict[str, list[Document]]:
        """Retrieve the documents nearest to a query.

        Parameters
        ----------
        query_embedding
            A vector.
        filters
            A filter of Haystack for this query.
        top_k
            Number of documents; None for that of the retriever.

        Returns
        -------
        The documents, under the key "documents".
        """
        found = self.document_store.embedding_retrieval(
            query_embedding,
            filters=apply_filter_policy(self.filter_policy, self.filters, filters),
            top_k=self.top_k if top_k is None else top_k,
            return_embedding=self.return_embedding,
        )
        return {"documents": found}

    @component.output_types(documents=list[Document])
    async def run_async(
        self,
        query_embedding: list[float],
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
    ) -> dict[str, list[Document]]:
        """Retrieve the documents nearest to a query, in a thread.

        Parameters
        ----------
        query_embedding
            A vector.
        filters
            A filter of Haystack for this query.
        top_k
            Number of documents; None for that of the retriever.

        Returns
        -------
        The documents, under the key "documents".
        """
        found: dict[str, list[Document]] = await asyncio.to_thread(
            self.run, query_embedding, filters, top_k
        )
        return found
