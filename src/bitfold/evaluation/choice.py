"""The choice between measured codes: the first hits count before the whole list."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

SLACK = 0.01
"""Differences of this size in the first hits do not count."""


class CodeOption(NamedTuple):
    """A method and code length that were measured.

    Parameters
    ----------
    method
        Name of the method.
    n_bits
        Length of the codes.
    score
        Quality of the first hits, between 0 and 1, such as P@10 or recall@10.
    map
        Mean average precision of the whole list; 0 if it was not measured.

    Examples
    --------
    >>> CodeOption("itq", 64, score=0.47).n_bits
    64
    """

    method: str
    n_bits: int
    score: float
    map: float = 0.0


def choose_code(
    options: Iterable[CodeOption],
    *,
    max_bits: int | None = None,
    target: float | None = None,
    slack: float = SLACK,
) -> CodeOption | None:
    """Choose the shortest code with good first hits; MAP decides only between equally good ones.

    Good means at least ``target``; without a target, or if no code reaches it, within ``slack`` of
    the best. Among the good codes of the shortest length, those within ``slack`` of the best of
    them count as equal, and the one with the highest MAP is chosen.

    Parameters
    ----------
    options
        Codes that were measured.
    max_bits
        Longest code that is allowed; None allows any.
    target
        Score that is sufficient.
    slack
        Difference between scores that does not count.

    Returns
    -------
    The chosen code; None if no code is allowed.

    Examples
    --------
    >>> options = [
    ...     CodeOption("imh", 64, score=0.37, map=0.20),
    ...     CodeOption("itq", 64, score=0.47, map=0.18),
    ...     CodeOption("itq", 128, score=0.50, map=0.19),
    ... ]
    >>> choose_code(options).n_bits
    128
    >>> choose_code(options, max_bits=64).method
    'itq'
    >>> choose_code(options, target=0.3).method
    'itq'
    """
    allowed = [option for option in options if max_bits is None or option.n_bits <= max_bits]
    if not allowed:
        return None
    best = max(option.score for option in allowed)
    is_reached = target is not None and best >= target
    limit = target if is_reached and target is not None else best - slack
    good = [option for option in allowed if option.score >= limit]
    n_bits = min(option.n_bits for option in good)
    shortest = [option for option in good if option.n_bits == n_bits]
    limit = max(option.score for option in shortest) - slack
    equal = [option for option in shortest if option.score >= limit]
    return max(equal, key=lambda option: (option.map, option.score))
