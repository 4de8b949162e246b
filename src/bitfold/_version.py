"""The one place for the version."""

__version__ = "0.1.0"
