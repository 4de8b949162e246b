"""The checks of indexes and stores, by subject."""
