"""How much of the experiments is run."""

from __future__ import annotations

from dataclasses import dataclass, replace

QUICK_ROWS = 2000
QUICK_QUERIES = 200

N_REPEATS = 5
"""Seeds by default; the paper has 10."""

N_REPEATS_MILLION = 3
"""Seeds by default on the sets with a million rows."""

MILLION_ROWS = ("sift_photos", "sift1m", "gist_cifar", "gist1m")
"""Data sets with a million rows."""

N_QUERIES = {"sift_photos": 10_000, "sift1m": 10_000, "gist_cifar": 10_000, "gist1m": 1_000}
"""The paper's number of queries (Sec. IV) where it is not 1,000; GIST1M has only these."""


@dataclass(frozen=True)
class Protocol:
    """How much is run.

    Parameters
    ----------
    n_repeats
        Number of seeds; None for 5, or 3 on the sets with a million rows.
    n_queries
        Number of queries; None for the paper's, which depends on the data set.
    quick
        Whether to run a small version of everything.
    """

    n_repeats: int | None = None
    n_queries: int | None = None
    quick: bool = False

    def list_seeds(self, data: str) -> range:
        """Return the seeds of the repeats on a data set."""
        default = N_REPEATS_MILLION if data in MILLION_ROWS else N_REPEATS
        return range(1 if self.quick else self.n_repeats or default)

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
