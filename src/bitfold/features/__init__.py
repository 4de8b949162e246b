"""Features: vectors computed from images."""

from bitfold.features.gist import GIST_VERSION, color_gist, gist, to_gray

__all__ = ["GIST_VERSION", "color_gist", "gist", "to_gray"]
