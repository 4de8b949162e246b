"""Stores: codes in the engines people already run, with the answers of ``HammingIndex``."""

from bitfold.stores.contract import Batch, MissingStore, Store, StoreError
from bitfold.stores.faiss.store import FaissStore
from bitfold.stores.lance.store import LanceStore
from bitfold.stores.originals import Originals
from bitfold.stores.postgres.store import PgvectorStore
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
