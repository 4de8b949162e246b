"""Readers of file formats, one file per format."""
