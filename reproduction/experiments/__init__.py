"""Experiments: the methods that are compared, and what is measured in one case."""
