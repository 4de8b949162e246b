"""Progress: silent by default, bars on request, the caller's callback before both."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import bitfold as bf
from bitfold._progress import ignore_progress, ignore_step, show_progress
from bitfold.hashers import PCAH


@pytest.fixture
def bars() -> Iterator[None]:
    bf.set_progress(True)
    yield
    bf.set_progress(False)


def test_silent_by_default(capsys: pytest.CaptureFixture[str]) -> None:
    with show_progress(None) as report:
        report("stage", 1, 2)
    ignore_step(1, 2)
    assert report is ignore_progress
    assert capsys.readouterr() == ("", "")


@pytest.mark.usefixtures("bars")
def test_bars_go_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    with show_progress(None) as report:
        report("neighbors", 1, 2)
        report("neighbors", 2, 2)
        report("unknown total", 1, 0)
    out, err = capsys.readouterr()
    assert not out
    assert "neighbors" in err
    assert "unknown total" in err


@pytest.mark.usefixtures("bars")
def test_own_callback_comes_first(capsys: pytest.CaptureFixture[str]) -> None:
    seen = []
    with show_progress(lambda *step: seen.append(step)) as report:
        report("stage", 1, 2)
    assert seen == [("stage", 1, 2)]
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("bars")
def test_fit_and_encode_show_bars(capsys: pytest.CaptureFixture[str]) -> None:
    X = np.random.default_rng(0).standard_normal((50, 4))
    bf.IMH(n_bits=4, random_state=0).fit(X)
    assert capsys.readouterr().err
    hasher = PCAH(n_bits=2).fit(X)
    capsys.readouterr()
    hasher.encode(X)
    assert "encode" in capsys.readouterr().err
