"""How much of the experiments is run."""

from __future__ import annotations

from dataclasses import dataclass, replace

QUICK_ROWS = 2000
QUICK_QUERIES = 200

N_QUERIES = {"sift_photos": 10_000, "sift1m": 10_000, "gist_cifar": 10_000, "gist1m": 1_000}
"""The paper's number of queries (Sec. 4) where it is not 1,000; GIST1M has only these."""


@dataclass(frozen=True)
class Protocol:
    """How much is run.

    Parameters
    ----------
    n_repeats
        Number of seeds.
    n_queries
        Number of queries; None for the paper's, which depends on the data set.
    quick
        Whether to run a small version of everything.
    """

    n_repeats: int = 10
    n_queries: int | None = None
    quick: bool = False

    @property
    def seeds(self) -> range:
        """Seeds of the repeats."""
        return range(1 if self.quick else self.n_repeats)

    @property
    def once(self) -> Protocol:
        """The same protocol with one seed, for pictures."""
        return replace(self, n_repeats=1)

    def find_size(self, data: str, n_queries: int | None = None) -> tuple[int, int]:
        """Return the numbers of queries and rows; ``n_queries`` overrides the protocol."""
        if self.quick:
            return QUICK_QUERIES, QUICK_ROWS
        wanted = n_queries or self.n_queries or N_QUERIES.get(data, 1000)
        return min(wanted, N_QUERIES["gist1m"]) if data == "gist1m" else wanted, 0
