"""A document store of Haystack on a collection."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from haystack import Document, default_from_dict, default_to_dict
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy

from bitfold._types import PathLike
from bitfold.collection import Collection
from bitfold.errors import ParameterTypeError
from bitfold.integrations._records import RecordCollection
from bitfold.integrations.haystack._documents import to_document, to_matches, to_record

__all__ = ["BitfoldDocumentStore"]

_LENGTH = "embedding_length"
"""Column with the length of an embedding, which cosine loses; missing without an embedding."""

_HAS_EMBEDDING = f"{_LENGTH} is not null"
_HAS_NONE = f"{_LENGTH} is null"


class BitfoldDocumentStore:
    """A document store of Haystack that keeps its documents in a :class:`~bitfold.Collection`.

    Filters are evaluated by Haystack for every document, and the search is exact among the
    documents that match.

    Parameters
    ----------
    path
        Folder of the collection. It is created if it does not exist.
    embedding_dim
        Width of the embeddings. Only for a new collection.
    metric
        "cosine" or "euclidean". Only for a new collection.
    keep_vectors
        "float32", "float16" or "int8": how embeddings are kept. Only for a new collection.

    Examples
    --------
    >>> store = BitfoldDocumentStore("store.bitfold", embedding_dim=2)
    >>> apple = Document(id="a", content="apple", embedding=[1.0, 0.0], meta={"year": 2019})
    >>> pear = Document(id="p", content="pear", embedding=[0.0, 1.0], meta={"year": 2024})
    >>> store.write_documents([apple, pear])
    2
    >>> [found.content for found in store.embedding_retrieval([0.9, 0.1], top_k=1)]
    ['apple']
    >>> late = {"field": "meta.year", "operator": ">", "value": 2020}
    >>> [found.content for found in store.filter_documents(late)]
    ['pear']
    """

    def __init__(
        self,
        path: PathLike,
        *,
        embedding_dim: int = 768,
        metric: str = "cosine",
        keep_vectors: str = "float16",
    ) -> None:
        self._parameters: dict[str, Any] = {
            "path": str(path),
            "embedding_dim": embedding_dim,
            "metric": metric,
            "keep_vectors": keep_vectors,
        }
        options = {"n_features": embedding_dim, "metric": metric, "keep_vectors": keep_vectors}
        self._records = RecordCollection.open(path, {_LENGTH: float}, options)

    @property
    def collection(self) -> Collection:
        """The collection, open for writing."""
        return self._records.collection

    def to_dict(self) -> dict[str, Any]:
        """Return the parameters, for a pipeline in YAML.

        Returns
        -------
        A dictionary that :meth:`from_dict` reads.
        """
        described: dict[str, Any] = default_to_dict(self, **self._parameters)
        return described

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Open the store with the parameters that :meth:`to_dict` returned.

        Parameters
        ----------
        data
            The dictionary.

        Returns
        -------
        The store.
        """
        store: Self = default_from_dict(cls, data)
        return store

    def close(self) -> None:
        """Release the files, so that another process can write."""
        self.collection.close()

    def count_documents(self) -> int:
        """Return the number of documents.

        Returns
        -------
        The number.
        """
        return len(self.collection)

    def filter_documents(self, filters: dict[str, Any] | None = None) -> list[Document]:
        """Return the documents that match a filter, in the order they were written.

        Parameters
        ----------
        filters
            A filter of Haystack; None for all documents.

        Returns
        -------
        Documents with their embeddings.
        """
        found = list(self._records.scan(to_matches(filters)))
        embeddings = self._read_embeddings([record.id for record in found])
        return list(map(to_document, found, embeddings))

    def write_documents(
        self, documents: list[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE
    ) -> int:
        """Write documents, with or without embeddings.

        Parameters
        ----------
        documents
            The documents; their meta must be storable as JSON.
        policy
            What happens to documents whose ids are there already; NONE means FAIL.

        Returns
        -------
        The number of documents that were written.

        Raises
        ------
        ParameterTypeError
            If ``documents`` is not a list of documents.
        DuplicateDocumentError
            If the policy is FAIL and an id is there already.
        """
        listed: Any = documents
        if not isinstance(listed, list) or not all(isinstance(d, Document) for d in listed):
            raise ParameterTypeError(
                "documents", "write_documents", "a list of documents", repr(documents)[:60]
            )
        known = set(self._records.find([document.id for document in documents]))
        if known and policy in (DuplicatePolicy.NONE, DuplicatePolicy.FAIL):
            raise DuplicateDocumentError(f"ID {min(known)!r} is already in the store.")
        is_skipped = known if policy == DuplicatePolicy.SKIP else set()
        written = [document for document in documents if document.id not in is_skipped]
        self._put(written)
        return len(written)

    def delete_documents(self, document_ids: list[str]) -> None:
        """Delete documents; unknown ids are ignored.

        Parameters
        ----------
        document_ids
            Ids of documents.
        """
        self._records.remove(document_ids)

    def delete_all_documents(self) -> None:
        """Delete all documents."""
        self._records.remove(self.collection.ids())

    def delete_by_filter(self, filters: dict[str, Any]) -> int:
        """Delete the documents that match a filter.

        Parameters
        ----------
        filters
            A filter of Haystack.

        Returns
        -------
        The number of deleted documents.
        """
        matching = [record.id for record in self._records.scan(to_matches(filters))]
        return len(self._records.remove(matching))

    def update_by_filter(self, filters: dict[str, Any], meta: dict[str, Any]) -> int:
        """Change meta values of the documents that match a filter.

        Parameters
        ----------
        filters
            A filter of Haystack.
        meta
            The new values; others are kept.

        Returns
        -------
        The number of updated documents.
        """
        found = self.filter_documents(filters)
        for document in found:
            document.meta.update(meta)
        self._put(found)
        return len(found)

    def embedding_retrieval(
        self,
        query_embedding: list[float],
        *,
        filters: dict[str, Any] | None = None,
        top_k: int = 10,
        return_embedding: bool = False,
    ) -> list[Document]:
        """Return the documents whose embeddings are nearest to a query.

        Parameters
        ----------
        query_embedding
            A vector.
        filters
            A filter of Haystack.
        top_k
            Number of documents.
        return_embedding
            Whether to return their embeddings too.

        Returns
        -------
        Documents, best first. Their score is the cosine, or 1 / (1 + distance).
        """
        has_none = len(self.collection) and len(self.collection.ids(_HAS_NONE))
        hits = self._records.search(
            query_embedding,
            top_k,
            matches=to_matches(filters),
            where=_HAS_EMBEDDING if has_none else None,
        )
        ids = [hit.record.id for hit in hits]
        embeddings = self._read_embeddings(ids) if return_embedding else [None] * len(ids)
        scores = [self._records.to_similarity(hit.distance) for hit in hits]
        return list(map(to_document, (hit.record for hit in hits), embeddings, scores))

    def _put(self, documents: list[Document]) -> None:
        width = self.collection.n_features or self._parameters["embedding_dim"]
        lengths = [
            None if d.embedding is None else float(np.linalg.norm(d.embedding)) for d in documents
        ]
        # A document without an embedding has zeros in its place, which no search sees.
        nothing = [0.0] * width
        vectors = [nothing if d.embedding is None else d.embedding for d in documents]
        columns = [{_LENGTH: length} for length in lengths]
        self._records.put(list(map(to_record, documents)), vectors, columns)

    def _read_embeddings(self, ids: list[str]) -> list[list[float] | None]:
        """Return the embeddings of documents as they were written, up to rounding."""
        if not ids:
            return []
        lengths = self.collection.metadata(ids, [_LENGTH])[_LENGTH]
        vectors = self.collection.vectors(ids)
        if self.collection.metric == "cosine":
            scales = [1.0 if length is None else length for length in lengths]
            vectors = vectors * np.array(scales, np.float32)[:, None]
        return [
            None if length is None else vector.tolist()
            for vector, length in zip(vectors, lengths, strict=True)
        ]
