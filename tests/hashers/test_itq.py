"""Iterative quantization: principal directions, rotated to reduce the quantization loss."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from bitfold.errors import ParameterError
from bitfold.hashers import ITQ, PCAH, itq
from bitfold.metrics import map_scorer

DIGITS, LABELS = load_digits(return_X_y=True)


def loss(hasher: ITQ | PCAH, rows: NDArray[np.float64] = DIGITS) -> float:
    """Return the mean squared difference of the embedding, at unit mean square, and its signs."""
    reals = hasher.embed(rows).astype(np.float64)
    reals /= np.sqrt(np.mean(reals**2))
    return float(np.mean((np.where(reals > 0, 1, -1) - reals) ** 2))


@pytest.mark.parametrize("n_bits", [1, 5, 24, 64])
def test_directions_are_rotated_principal_directions(n_bits: int) -> None:
    ours, plain = ITQ(n_bits, random_state=0).fit(DIGITS), PCAH(n_bits).fit(DIGITS)
    R = ours.directions_ @ plain.directions_.T
    np.testing.assert_allclose(R @ R.T, np.eye(n_bits), atol=1e-5)
    np.testing.assert_allclose(R @ plain.directions_, ours.directions_, atol=1e-5)
    np.testing.assert_allclose(ours.directions_ @ ours.directions_.T, np.eye(n_bits), atol=1e-5)
    assert not ours.thresholds_.any()


def test_loss_never_increases() -> None:
    losses = [loss(ITQ(16, max_iter=n, random_state=0).fit(DIGITS)) for n in (0, 1, 2, 5, 15, 50)]
    assert (np.diff(losses) < 0).all()
    assert losses[-1] < losses[0] - 0.02


def test_rotation_reduces_the_loss() -> None:
    assert loss(ITQ(16, random_state=0).fit(DIGITS)) < loss(PCAH(16).fit(DIGITS)) - 0.1


def test_rotation_improves_retrieval() -> None:
    rotated, plain = ITQ(32, random_state=0).fit(DIGITS), PCAH(32).fit(DIGITS)
    assert map_scorer(rotated, DIGITS, LABELS) > map_scorer(plain, DIGITS, LABELS) + 0.1


def test_a_sample_is_enough_for_the_rotation(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = ITQ(16, random_state=0).fit(DIGITS)
    monkeypatch.setattr(itq, "MAX_SAMPLE_ROWS", 600)
    part = ITQ(16, random_state=0).fit(DIGITS)
    assert part.encode(DIGITS) != whole.encode(DIGITS)
    assert loss(part) < loss(whole) + 0.02


@pytest.mark.parametrize(("name", "value"), [("n_bits", 65), ("max_iter", -1)])
def test_invalid_parameters_raise(name: str, value: Any) -> None:
    with pytest.raises(ParameterError) as caught:
        ITQ(**{name: value}).fit(DIGITS)
    assert (caught.value.name, caught.value.owner) == (name, "ITQ")


def test_progress_reports_the_stages_in_order() -> None:
    calls: list[tuple[str, int, int]] = []
    ITQ(8, max_iter=3, random_state=0).fit(DIGITS, progress=lambda *call: calls.append(call))
    rotation = [("rotation", call, 3) for call in (1, 2, 3)]
    assert calls == [("mean", len(DIGITS), len(DIGITS)), ("principal directions", 1, 1), *rotation]
