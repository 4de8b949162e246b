"""Step 3, induction: a row is embedded as the weighted mean of its nearest base points, Eq. (8)."""

from bitfold.induction.induce import induce, learn_bandwidth

__all__ = ["induce", "learn_bandwidth"]
