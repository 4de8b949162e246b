"""Features: vectors computed from images."""

from bitfold.features.gist import color_gist, gist, to_gray

__all__ = ["color_gist", "gist", "to_gray"]
