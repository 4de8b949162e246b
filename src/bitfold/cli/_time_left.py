"""The remaining time of a series of runs, estimated from those of the same method."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class TimedRun(NamedTuple):
    """A method, a code length, and the seconds that it took."""

    method: str
    n_bits: int
    seconds: float


def estimate_seconds(
    finished: Sequence[TimedRun], remaining: Iterable[tuple[str, int]]
) -> float | None:
    """Return the seconds that runs (method, n_bits) will take.

    A run is expected to take as long as the finished one of its method with the nearest length, in
    proportion to the length. Methods differ by factors of hundreds, so there is no estimate before
    each of them has finished once.
    """
    total = 0.0
    for method, n_bits in remaining:
        similar = [run for run in finished if run.method == method]
        if not similar:
            return None
        nearest = min(similar, key=lambda run: abs(run.n_bits - n_bits))
        total += nearest.seconds * max(1, n_bits) / max(1, nearest.n_bits)
    return total


def format_seconds(seconds: float) -> str:
    """Return a duration in words, rounded to what an estimate can promise."""
    if seconds < 60:
        return f"about {max(1, round(seconds))} s left"
    if seconds < 5400:
        return f"about {round(seconds / 60)} min left"
    return f"about {seconds / 3600:.1f} h left"
