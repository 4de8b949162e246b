"""The interface that ann-benchmarks gives its algorithms, as a stand-in for its base class."""

from __future__ import annotations

import resource
from abc import ABC, abstractmethod
from typing import Any


class BaseANN(ABC):
    """What an algorithm inherits; the harness calls nothing else."""

    name: str
    res: Any

    def done(self) -> None:  # noqa: B027  # as there: an algorithm may do without
        """Called last."""

    def get_memory_usage(self) -> float | None:
        """Kilobytes of this process."""
        return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)

    @abstractmethod
    def fit(self, X: Any) -> None:
        """Index the rows of X."""

    @abstractmethod
    def query(self, q: Any, n: int) -> Any:
        """Ids of the n nearest rows of q."""

    def batch_query(self, X: Any, n: int) -> None:
        """Answer each row of X; the answers are fetched by get_batch_results."""
        self.res = [self.query(q, n) for q in X]

    def get_batch_results(self) -> Any:
        """What batch_query found."""
        return self.res

    def get_additional(self) -> dict[str, Any]:
        """What else to keep with the results."""
        return {}

    def __str__(self) -> str:
        return self.name
