"""Shared linear algebra: spectral solvers, graphs, principal directions."""
