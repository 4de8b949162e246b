"""Stores: codes in the engines people already run, with the answers of ``HammingIndex``."""

from bitfold.stores.contract import Batch, MissingStore, Store, StoreError
from bitfold.stores.faiss import FaissStore
from bitfold.stores.lance import LanceStore
from bitfold.stores.originals import Originals
from bitfold.stores.pgvector import PgvectorStore
from bitfold.stores.transfer import batches_of, index_of

__all__ = [
    "Batch",
    "FaissStore",
    "LanceStore",
    "MissingStore",
    "Originals",
    "PgvectorStore",
    "Store",
    "StoreError",
    "batches_of",
    "index_of",
]
