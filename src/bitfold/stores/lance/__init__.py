"""Codes in a LanceDB table."""
