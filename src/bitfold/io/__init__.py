"""Data in and out: vectors, formats, streams, codes files, model files, cache."""
