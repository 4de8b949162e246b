"""The number of iterations, as scikit-learn expects it of an estimator with ``max_iter``."""

from __future__ import annotations


class IterativeMixin:
    """Declares ``n_iter_`` for a hasher that makes ``max_iter`` iterations, or at most as many."""

    max_iter: int

    @property
    def n_iter_(self) -> int:
        """Number of iterations, or their maximum: ``max_iter``."""
        return self.max_iter
