"""Codes in LanceDB."""
