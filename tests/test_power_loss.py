"""Power failures at some calls; ``make power-loss`` tries all of them."""

from __future__ import annotations

from typing import BinaryIO

import pytest
from tests.power_loss import SCENARIOS, Scenario, run_scenario
from tests.simulated_disk import SimulatedDisk

STRIDE = 5


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_power_loss_loses_nothing(scenario: Scenario) -> None:
    outcome = run_scenario(scenario, n_variants=3, stride=STRIDE)
    assert outcome.n_points > 2
    assert outcome.n_states == 3 * outcome.n_points


def flush_only(disk: SimulatedDisk, file: BinaryIO) -> None:
    file.flush()


def do_nothing(disk: SimulatedDisk, directory: object) -> None:
    pass


@pytest.mark.parametrize("scenario", SCENARIOS[:8], ids=lambda scenario: scenario.name)
@pytest.mark.parametrize(
    ("function", "replacement"), [("sync_file", flush_only), ("sync_directory", do_nothing)]
)
def test_missing_syncs_are_noticed(
    scenario: Scenario,
    function: str,
    replacement: object,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(SimulatedDisk, function, replacement)
    # A content that is wrong, or files that cannot be read.
    with pytest.raises((AssertionError, ValueError, OSError)):
        run_scenario(scenario, n_variants=3)
