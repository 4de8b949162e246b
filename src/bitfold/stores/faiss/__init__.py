"""Codes in a binary index of faiss."""
