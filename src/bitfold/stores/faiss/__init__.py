"""Codes in a faiss index."""
