"""A replacement for the base class of ann-benchmarks, with the same interface."""

from __future__ import annotations

import resource
from abc import ABC, abstractmethod
from typing import Any


class BaseANN(ABC):
    """The methods that ann-benchmarks calls."""

    name: str
    res: Any

    def done(self) -> None:  # noqa: B027  # optional, as in ann-benchmarks
        """Release resources."""

    def get_memory_usage(self) -> float | None:
        """Return the kilobytes of this process."""
        return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)

    @abstractmethod
    def fit(self, X: Any) -> None:
        """Index the rows of X."""

    @abstractmethod
    def query(self, q: Any, n: int) -> Any:
        """Return the ids of the n nearest rows of q."""

    def batch_query(self, X: Any, n: int) -> None:
        """Search each row of X; get_batch_results returns the ids."""
        self.res = [self.query(q, n) for q in X]

    def get_batch_results(self) -> Any:
        """Return what batch_query found."""
        return self.res

    def get_additional(self) -> dict[str, Any]:
        """Return what else to keep with the results."""
        return {}

    def __str__(self) -> str:
        return self.name
