"""Step 3, induction: every point is the weighted mean of its nearest base points (Eq. 8-10)."""

from bitfold.induction.induce import BaseSet, Neighbors, learn_bandwidth

__all__ = ["BaseSet", "Neighbors", "learn_bandwidth"]
