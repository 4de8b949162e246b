"""Checks that hashers and stores keep their contracts, for code outside of bitfold too."""

from bitfold.testing.hashers import HASHER_CHECKS, check_hasher
from bitfold.testing.stores import INDEX_CHECKS, STORE_CHECKS, check_store

__all__ = ["HASHER_CHECKS", "INDEX_CHECKS", "STORE_CHECKS", "check_hasher", "check_store"]
