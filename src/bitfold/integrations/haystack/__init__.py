"""A document store of Haystack on a collection, and a retriever for it."""

from __future__ import annotations

from bitfold.integrations.haystack.document_store import BitfoldDocumentStore
from bitfold.integrations.haystack.retriever import BitfoldEmbeddingRetriever

__all__ = ["BitfoldDocumentStore", "BitfoldEmbeddingRetriever"]
