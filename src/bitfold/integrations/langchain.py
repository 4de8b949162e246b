"""A vector store of LangChain on a collection."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore
from langchain_core.vectorstores.utils import maximal_marginal_relevance

from bitfold._types import PathLike
from bitfold.collection import Collection
from bitfold.integrations._langchain_documents import to_document, to_matches, to_records
from bitfold.integrations._records import RecordCollection, RecordHit

__all__ = ["BitfoldVectorStore"]


class BitfoldVectorStore(VectorStore):
    """A vector store of LangChain that keeps its documents in a :class:`~bitfold.Collection`.

    Scores are distances: smaller is nearer. Relevance scores are between 0 and 1.

    All searches take two conditions. ``filter`` is a mapping of metadata keys to values, or a
    function of a document; it is called for every document. ``where`` is a condition on the
    declared columns, as for :meth:`bitfold.Collection.search`, which is much faster. Both are
    exact. The asynchronous methods run in threads.

    Parameters
    ----------
    embedding
        Embeds texts and queries.
    path
        Folder of the collection. It is created if it does not exist.
    columns
        Metadata keys that ``where`` can use, and their types: bool, int, float or str.
        Only for a new collection.
    metric
        "cosine" or "euclidean". Only for a new collection.
    options
        More parameters of :meth:`bitfold.Collection.create`, such as ``hasher``.

    Examples
    --------
    >>> from langchain_core.embeddings import DeterministicFakeEmbedding
    >>> embedding = DeterministicFakeEmbedding(size=32)
    >>> store = BitfoldVectorStore(embedding, "notes.bitfold", columns={"year": int})
    >>> store.add_texts(["apples", "pears"], [{"year": 2019}, {"year": 2024}], ids=["a", "p"])
    ['a', 'p']
    >>> [found.page_content for found in store.similarity_search("apples", k=1)]
    ['apples']
    >>> [found.page_content for found in store.similarity_search("apples", where="year > 2020")]
    ['pears']
    """

    def __init__(
        self,
        embedding: Embeddings,
        path: PathLike,
        *,
        columns: Mapping[str, type] | None = None,
        metric: str = "cosine",
        **options: Any,
    ) -> None:
        self._embedding = embedding
        self._records = RecordCollection.open(path, columns, {"metric": metric, **options})

    @property
    def collection(self) -> Collection:
        """The collection, open for writing."""
        return self._records.collection

    @property
    def embeddings(self) -> Embeddings:
        """What embeds texts and queries."""
        return self._embedding

    def close(self) -> None:
        """Release the files, so that another process can write."""
        self.collection.close()

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """Embed and add texts; those whose ids are there already are replaced.

        Parameters
        ----------
        texts
            The texts.
        metadatas
            Metadata of each, which JSON can represent.
        ids
            Their ids; None makes new ones.
        kwargs
            Not used.

        Returns
        -------
        The ids.

        Raises
        ------
        ParameterError
            If there are not as many metadata or ids as texts.
        DataError
            If metadata cannot be stored.
        """
        records = to_records(texts, metadatas, ids)
        listed = [record.text for record in records]
        self._records.put(records, self._embedding.embed_documents(listed) if records else [])
        return [record.id for record in records]

    def delete(self, ids: list[str] | None = None, **kwargs: Any) -> bool:
        """Delete documents; unknown ids are ignored.

        Parameters
        ----------
        ids
            Their ids; None deletes all.
        kwargs
            Not used.

        Returns
        -------
        True.
        """
        self._records.remove(self.collection.ids() if ids is None else ids)
        return True

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Return documents by their ids, without those that are unknown.

        Parameters
        ----------
        ids
            Ids of documents.

        Returns
        -------
        The documents, in the order of the ids.
        """
        return list(map(to_document, self._records.read(self._records.find(ids))))

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        """Return the documents nearest to a text.

        Parameters
        ----------
        query
            A text.
        k
            Number of documents.
        kwargs
            ``filter``, ``where`` and ``n_candidates``.

        Returns
        -------
        Documents, nearest first.
        """
        return [found for found, _ in self.similarity_search_with_score(query, k, **kwargs)]

    def similarity_search_with_score(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Return the documents nearest to a text, and their distances.

        Parameters
        ----------
        query
            A text.
        k
            Number of documents.
        kwargs
            ``filter``, ``where`` and ``n_candidates``.

        Returns
        -------
        Documents and distances, nearest first.
        """
        hits = self._search(self._embedding.embed_query(query), k, **kwargs)
        return [(to_document(hit.record), hit.distance) for hit in hits]

    def similarity_search_by_vector(
        self, embedding: list[float], k: int = 4, **kwargs: Any
    ) -> list[Document]:
        """Return the documents nearest to a vector.

        Parameters
        ----------
        embedding
            A vector.
        k
            Number of documents.
        kwargs
            ``filter``, ``where`` and ``n_candidates``.

        Returns
        -------
        Documents, nearest first.
        """
        return [to_document(hit.record) for hit in self._search(embedding, k, **kwargs)]

    def max_marginal_relevance_search(
        self, query: str, k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **kwargs: Any
    ) -> list[Document]:
        """Return documents that are near a text, and different from each other.

        Parameters
        ----------
        query
            A text.
        k
            Number of documents.
        fetch_k
            Number of nearest documents to choose from.
        lambda_mult
            From 0 for the most different to 1 for the nearest.
        kwargs
            ``filter``, ``where`` and ``n_candidates``.

        Returns
        -------
        Documents, in the order they were chosen.
        """
        vector = self._embedding.embed_query(query)
        return self.max_marginal_relevance_search_by_vector(
            vector, k, fetch_k, lambda_mult, **kwargs
        )

    def max_marginal_relevance_search_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        **kwargs: Any,
    ) -> list[Document]:
        """Return documents that are near a vector, and different from each other.

        Parameters
        ----------
        embedding
            A vector.
        k
            Number of documents.
        fetch_k
            Number of nearest documents to choose from.
        lambda_mult
            From 0 for the most different to 1 for the nearest.
        kwargs
            ``filter``, ``where`` and ``n_candidates``.

        Returns
        -------
        Documents, in the order they were chosen.
        """
        hits = self._search(embedding, max(k, fetch_k), **kwargs)
        if not hits:
            return []
        vectors = self.collection.vectors([hit.record.id for hit in hits])
        chosen = maximal_marginal_relevance(
            np.asarray(embedding, np.float32), list(vectors), lambda_mult, k
        )
        return [to_document(hits[number].record) for number in chosen]

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **kwargs: Any,
    ) -> Self:
        """Create a store with texts.

        Parameters
        ----------
        texts
            The texts.
        embedding
            Embeds texts and queries.
        metadatas
            Metadata of each, which JSON can represent.
        ids
            Their ids; None makes new ones.
        kwargs
            ``path`` and other parameters of the store.

        Returns
        -------
        The store.
        """
        store = cls(embedding, **kwargs)
        store.add_texts(texts, metadatas, ids=ids)
        return store

    def _search(self, vector: Any, k: int, **conditions: Any) -> list[RecordHit]:
        matches = to_matches(conditions.pop("filter", None))
        return self._records.search(vector, k, matches=matches, **conditions)

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        return self._records.to_similarity
