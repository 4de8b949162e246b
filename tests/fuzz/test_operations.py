"""The target notices wrong answers of an index."""

from __future__ import annotations

from typing import Any

import pytest
from fuzz.operations import Choices, check_operations, make_operation_seeds

from bitfold import HammingIndex


def test_choices_come_from_the_bytes() -> None:
    choices = Choices(b"\x05\xff")
    assert (choices.below(3), choices.are_left, choices.below(256)) == (2, True, 255)
    assert (choices.are_left, choices.below(9)) == (False, 0)


@pytest.mark.parametrize("method", ["add", "remove", "search", "within"])
def test_a_wrong_answer_is_noticed(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right: Any = getattr(HammingIndex, method)

    def wrong(self: HammingIndex, *arguments: Any) -> Any:
        if method in ("add", "remove"):
            return None  # nothing is done
        found = right(self, *arguments)
        return found._replace(distances=found.distances + 1)

    monkeypatch.setattr(HammingIndex, method, wrong)
    with pytest.raises(AssertionError):
        for seed in make_operation_seeds():
            check_operations(seed)
