"""Features: vectors from pictures."""

from bitfold.features.gist import colour_gist, gist

__all__ = ["colour_gist", "gist"]
