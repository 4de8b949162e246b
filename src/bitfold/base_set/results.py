"""What base set strategies return."""

from __future__ import annotations

from typing import NamedTuple

from bitfold._types import AnyArray, Float32Array


class BaseSize(NamedTuple):
    """A number of base points, and how it was chosen.

    Examples
    --------
    >>> from bitfold import KMeansBase
    >>> KMeansBase(300).size([[0.0], [1.0]])
    BaseSize(n_base_points=300, reason='as requested')
    """

    n_base_points: int
    reason: str


class BaseSet(NamedTuple):
    """Base points, one per row, and a sentence that says how their number was chosen.

    Examples
    --------
    >>> from bitfold import RandomBase
    >>> RandomBase(2).choose([[0.0], [1.0], [2.0]], rng=0).reason
    '2 base points (as requested).'
    """

    points: Float32Array
    reason: str


class LabeledBaseSet(NamedTuple):
    """Base points chosen class by class (Alg. 2, line 1), and the class of each.

    Examples
    --------
    >>> from bitfold import RandomBase
    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]], [0, 0, 0, 7, 7, 7]
    >>> RandomBase(4).choose_per_class(X, y, rng=0).labels.tolist()
    [0, 0, 7, 7]
    """

    points: Float32Array
    labels: AnyArray
    reason: str
