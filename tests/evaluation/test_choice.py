"""The choice between measured codes."""

from __future__ import annotations

from bitfold.evaluation import CodeOption, choose_code

IMH = CodeOption("imh", 64, 0.37, 0.20)
ITQ = CodeOption("itq", 64, 0.47, 0.18)
LONG = CodeOption("itq", 128, 0.50, 0.19)


def test_worse_first_hits_are_not_chosen_for_a_better_map() -> None:
    assert choose_code([IMH, ITQ]) == ITQ
    assert choose_code([ITQ, IMH]) == ITQ


def test_map_decides_between_equal_first_hits() -> None:
    other = CodeOption("imh", 64, 0.465, 0.20)
    assert choose_code([ITQ, other]) == other
    assert choose_code([ITQ, other], slack=0.001) == ITQ


def test_shortest_code_near_the_best() -> None:
    assert choose_code([ITQ, LONG]) == LONG
    assert choose_code([ITQ, LONG], slack=0.05) == ITQ
    assert choose_code([ITQ, LONG._replace(score=0.475)]) == ITQ


def test_budget_and_target() -> None:
    options = [IMH, ITQ, LONG]
    assert choose_code(options, max_bits=64) == ITQ
    assert choose_code(options, max_bits=32) is None
    assert choose_code(options, target=0.45) == ITQ
    assert choose_code(options, target=0.48) == LONG
    assert choose_code(options, target=0.9) == LONG
    # Both reach the target; the first hits still count before MAP.
    assert choose_code(options, target=0.3) == ITQ
