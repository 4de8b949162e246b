"""Codes in Postgres with pgvector."""
