"""Codes in a Postgres table with the extension pgvector."""
