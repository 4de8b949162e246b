"""Features: vectors from pictures."""

from bitfold.features.gist import gist

__all__ = ["gist"]
