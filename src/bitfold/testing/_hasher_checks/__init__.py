"""The checks of :func:`bitfold.testing.check_hasher`, one module per topic."""
