"""The remaining time of a series of runs."""

from __future__ import annotations

import pytest

from bitfold.cli._time_left import TimedRun, estimate_seconds, format_seconds


def test_no_estimate_before_every_method_has_finished_once() -> None:
    finished = [TimedRun("itq", 16, 1.0)]
    assert estimate_seconds(finished, [("itq", 32), ("imh", 16)]) is None
    assert estimate_seconds(finished, []) == 0


def test_time_grows_with_the_length_of_the_nearest_run() -> None:
    finished = [TimedRun("itq", 16, 1.0), TimedRun("imh", 16, 90.0), TimedRun("imh", 32, 100.0)]
    assert estimate_seconds(finished, [("itq", 64)]) == pytest.approx(4)
    assert estimate_seconds(finished, [("itq", 32), ("imh", 64)]) == pytest.approx(202)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "1 s"), (59, "59 s"), (89, "1 min"), (5000, "83 min"), (9000, "2.5 h")],
)
def test_words(seconds: float, text: str) -> None:
    assert format_seconds(seconds) == f"about {text} left"
