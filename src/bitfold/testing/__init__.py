"""Checks that hashers and stores keep their contracts, for code outside of bitfold too."""

from bitfold.testing.hashers import HASHER_CHECKS, check_hasher

__all__ = ["HASHER_CHECKS", "check_hasher"]
