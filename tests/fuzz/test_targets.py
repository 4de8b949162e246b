"""Every target accepts its own seeds, and a short run of changed ones is clean."""

from __future__ import annotations

import random

import pytest
from fuzz.engine import mutate
from fuzz.targets import TARGETS

N_INPUTS = 15


@pytest.mark.filterwarnings("ignore:.*encountered in:RuntimeWarning")
@pytest.mark.parametrize("name", TARGETS)
def test_seeds_and_changed_seeds(name: str) -> None:
    target, rng = TARGETS[name], random.Random(0)
    seeds = target.seeds()
    assert seeds
    for seed in seeds[:3]:
        target.check(seed)
    for _ in range(N_INPUTS):
        target.check(mutate(rng.choice(seeds), rng))
