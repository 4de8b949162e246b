"""Random states: seeds and generators."""

from __future__ import annotations

import numpy as np

from bitfold._types import Seed
from bitfold._validation.parameters import check_integer


def spawn_generators(random_state: Seed, count: int) -> list[np.random.Generator]:
    """Spawn one generator per stage, so that a change in one stage leaves the others alone.

    Parameters
    ----------
    random_state
        Seed, generator, or None for a random seed.
    count
        Number of generators.

    Returns
    -------
    list
        Independent generators.

    Raises
    ------
    ParameterError
        If the seed is not an integer of at least 0.

    Examples
    --------
    >>> first, second = spawn_generators(0, 2)
    >>> first.random() == second.random()
    False
    """
    if isinstance(random_state, np.random.Generator):
        return random_state.spawn(count)
    if random_state is not None:
        check_integer(random_state, "random_state", "the estimator", low=0)
    return np.random.default_rng(random_state).spawn(count)


def make_generator(random_state: Seed) -> np.random.Generator:
    """Return a generator.

    Parameters
    ----------
    random_state
        Seed, generator (returned unchanged), or None for a random seed.

    Returns
    -------
    numpy.random.Generator
        The generator.

    Examples
    --------
    >>> make_generator(0).random() == make_generator(0).random()
    True
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    return spawn_generators(random_state, 1)[0]
