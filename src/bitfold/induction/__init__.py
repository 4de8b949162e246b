"""Step 3, induction: a row is embedded as the weighted mean of its nearest base points, Eq. (8)."""

from bitfold.induction.induce import (
    check_bandwidth_rule,
    choose_bandwidth,
    induce,
    learn_bandwidth,
)

__all__ = ["check_bandwidth_rule", "choose_bandwidth", "induce", "learn_bandwidth"]
