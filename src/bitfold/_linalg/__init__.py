"""Shared linear algebra: eigenvectors, graphs, principal directions, scatter, inverted lists."""
