"""Stores: codes in the engines people already run, with the answers of ``HammingIndex``."""

from bitfold.errors import MissingStoreError, StoreError
from bitfold.stores.contract import Batch, Store
from bitfold.stores.faiss.store import FaissStore
from bitfold.stores.lance.store import LanceStore
from bitfold.stores.originals import RerankByStoredVectors
from bitfold.stores.postgres.store import PgvectorStore
from bitfold.stores.transfer import iter_batches, to_index

__all__ = [
    "Batch",
    "FaissStore",
    "LanceStore",
    "MissingStoreError",
    "PgvectorStore",
    "RerankByStoredVectors",
    "Store",
    "StoreError",
    "iter_batches",
    "to_index",
]
