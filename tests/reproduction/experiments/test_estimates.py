"""How long the rest of a run will take."""

from __future__ import annotations

import pytest
from reproduction.run_display import Pace, in_words


def test_what_was_slower_than_expected_will_go_on_so() -> None:
    pace = Pace([10, 10, 20])
    assert pace.left == 40
    pace.done(10, 30)
    assert pace.left == 90
    pace.done(10, 10)
    assert pace.left == 40
    pace.done(20, 20)
    assert pace.left == 0


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "1 s"), (42.4, "42 s"), (90, "2 min"), (1200, "20 min"), (9000, "2.5 h")],
)
def test_times_in_words(seconds: float, text: str) -> None:
    assert in_words(seconds) == text
