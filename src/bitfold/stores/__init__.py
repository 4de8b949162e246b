"""Stores: codes in database engines, searched with the results of ``HammingIndex``.

Each engine has a subpackage (``faiss``, ``lance``, ``postgres``) with a subclass of
:class:`Store`. To add an engine, implement the abstract methods of :class:`Store`, or of
:class:`TableStore` if the engine has tables with columns, and verify the result with
:func:`bitfold.testing.check_store`.
"""

from bitfold.errors import MissingStoreError, StoreError
from bitfold.search import Batch
from bitfold.stores.contract import Store
from bitfold.stores.faiss.store import FaissStore
from bitfold.stores.lance.store import LanceStore
from bitfold.stores.postgres.store import PgvectorStore
from bitfold.stores.stored_vectors import RerankByStoredVectors
from bitfold.stores.table_store import TableStore
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
    "TableStore",
    "iter_batches",
    "to_index",
]
