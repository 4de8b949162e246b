"""Iterative quantization: principal directions, turned so that signs lose less and less."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from bitfold.hashers import ITQ, PCAH, itq
from bitfold.metrics import map_scorer

DIGITS, LABELS = load_digits(return_X_y=True)


def loss(hasher: ITQ | PCAH, rows: NDArray[np.float64] = DIGITS) -> float:
    """Mean squared distance of the reals, at unit mean square, from their signs."""
    reals = hasher.embed(rows).astype(np.float64)
    reals /= np.sqrt(np.mean(reals**2))
    return float(np.mean((np.where(reals > 0, 1, -1) - reals) ** 2))


@pytest.mark.parametrize("n_bits", [1, 5, 24, 64])
def test_directions_are_the_principal_ones_rotated(n_bits: int) -> None:
    ours, plain = ITQ(n_bits, random_state=0).fit(DIGITS), PCAH(n_bits).fit(DIGITS)
    R = ours.directions_ @ plain.directions_.T
    np.testing.assert_allclose(R @ R.T, np.eye(n_bits), atol=1e-5)
    np.testing.assert_allclose(R @ plain.directions_, ours.directions_, atol=1e-5)
    np.testing.assert_allclose(ours.directions_ @ ours.directions_.T, np.eye(n_bits), atol=1e-5)
    assert not ours.thresholds_.any()


def test_the_loss_never_rises() -> None:
    losses = [loss(ITQ(16, max_iter=n, random_state=0).fit(DIGITS)) for n in (0, 1, 2, 5, 15, 50)]
    assert (np.diff(losses) < 0).all()
    assert losses[-1] < losses[0] - 0.02


def test_the_rotation_loses_less_than_none() -> None:
    assert loss(ITQ(16, random_state=0).fit(DIGITS)) < loss(PCAH(16).fit(DIGITS)) - 0.1


def test_neighbors_of_a_class_are_found_better_than_without() -> None:
    rotated, plain = ITQ(32, random_state=0).fit(DIGITS), PCAH(32).fit(DIGITS)
    assert map_scorer(rotated, DIGITS, LABELS) > map_scorer(plain, DIGITS, LABELS) + 0.1


def test_a_sample_of_the_rows_suffices(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = ITQ(16, random_state=0).fit(DIGITS)
    monkeypatch.setattr(itq, "SAMPLE", 600)
    part = ITQ(16, random_state=0).fit(DIGITS)
    assert part.encode(DIGITS) != whole.encode(DIGITS)
    assert loss(part) < loss(whole) + 0.02


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"n_bits": 65}, r"^n_bits of ITQ must be at most n_features=64, got 65\.$"),
        ({"max_iter": -1}, r"^max_iter of ITQ must be at least 0, got -1\.$"),
    ],
)
def test_a_wrong_parameter_is_named(params: dict[str, int], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        ITQ(**params).fit(DIGITS)


def test_progress_tells_the_stages_in_order() -> None:
    told: list[tuple[str, int, int]] = []
    ITQ(8, max_iter=3, random_state=0).fit(DIGITS, progress=lambda *step: told.append(step))
    turns = [("rotation", step, 3) for step in (1, 2, 3)]
    assert told == [("principal directions", 1, 1), *turns]
