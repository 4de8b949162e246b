"""Features: vectors from pictures."""

from bitfold.features.gist import color_gist, gist

__all__ = ["color_gist", "gist"]
