"""Progress: silent by default, bars on request, the caller's callback before both."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import bitfold as bf
from bitfold import _progress
from bitfold._progress import ignore_progress, ignore_step, show_progress, track
from bitfold.hashers import PCAH
from bitfold.metrics import closest_neighbors
from bitfold.search import lookup


@pytest.fixture
def bars(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(_progress, "DELAY_SECONDS", 0.002)
    bf.set_progress(True)
    yield
    bf.set_progress(False)


def wait_for_bars() -> None:
    """Wait until the bars that are due are shown, however busy the machine is."""
    for thread in threading.enumerate():
        if isinstance(thread, threading.Timer):
            thread.join(60)


class PatientTimer(threading.Timer):
    """A timer that has always run when the work begins."""

    def start(self) -> None:
        super().start()
        self.join(60)


@pytest.fixture
def immediate_bars(bars: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every call be a long one."""
    monkeypatch.setattr(threading, "Timer", PatientTimer)


def test_silent_by_default(capsys: pytest.CaptureFixture[str]) -> None:
    with show_progress(None) as report:
        report("stage", 1, 2)
    ignore_step(1, 2)
    assert report is ignore_progress
    assert list(track("ab", "stage", 2)) == ["a", "b"]
    assert capsys.readouterr() == ("", "")


@pytest.mark.usefixtures("bars")
def test_bars_go_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    with show_progress(None) as report:
        report("neighbors", 1, 2)
        wait_for_bars()
        report("neighbors", 2, 2)
        report("unknown total", 1, 0)
    out, err = capsys.readouterr()
    assert not out
    first, second = err.strip().splitlines()
    assert first.startswith("neighbors") and "100%" in first
    assert second.startswith("unknown total") and "%" not in second.replace(" 0%", "")


@pytest.mark.usefixtures("bars")
def test_short_calls_show_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(_progress, "DELAY_SECONDS", 60)
    with show_progress(None) as report:
        report("neighbors", 2, 2)
    assert capsys.readouterr() == ("", "")


@pytest.mark.usefixtures("bars")
def test_only_the_outer_call_shows_bars(capsys: pytest.CaptureFixture[str]) -> None:
    with show_progress(None) as report:
        with show_progress(None) as inner:
            assert inner is ignore_progress
        report("outer", 1, 2)
        wait_for_bars()
    assert "outer" in capsys.readouterr().err
    with pytest.raises(KeyError), show_progress(None):
        raise KeyError
    with show_progress(None) as report:
        assert report is not ignore_progress  # the error has ended the turn of the call before


@pytest.mark.usefixtures("bars")
def test_own_callback_comes_first(capsys: pytest.CaptureFixture[str]) -> None:
    seen = []
    with show_progress(lambda *step: seen.append(step)) as report:
        report("stage", 1, 2)
        wait_for_bars()
    assert seen == [("stage", 1, 2)]
    assert capsys.readouterr().err == ""


X = np.random.default_rng(0).standard_normal((600, 4)).astype(np.float32)


def read_blocks() -> Iterator[NDArray[np.float32]]:
    for start in range(0, len(X), 200):
        yield X[start : start + 200]


def build_index() -> None:
    rng = np.random.default_rng(0)
    index = bf.HammingIndex(64)
    index.add(bf.Codes(rng.integers(0, 256, (300_000, 8), np.uint8), 64))


CALLS: dict[str, Callable[[], Any]] = {
    "mean": lambda: PCAH(n_bits=2).fit(read_blocks),
    "encode": lambda: PCAH(n_bits=2).fit(X).encode(read_blocks),
    "embed": lambda: PCAH(n_bits=2).fit(X).embed(read_blocks),
    "index": build_index,
    "exact neighbors": lambda: closest_neighbors(np.tile(X, (10, 1)), X, k=3),
}


@pytest.mark.usefixtures("immediate_bars")
@pytest.mark.parametrize("stage", CALLS)
def test_long_calls_show_bars(stage: str, capsys: pytest.CaptureFixture[str]) -> None:
    CALLS[stage]()
    assert stage in capsys.readouterr().err


@pytest.mark.usefixtures("immediate_bars")
@pytest.mark.parametrize("method", ["search", "within"])
def test_long_searches_show_bars(
    method: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lookup, "_MAX_SHORT_NS", 0)  # no search is too short for a bar
    packed = np.random.default_rng(0).integers(0, 256, (20_000, 8), np.uint8)
    index, queries = bf.HammingIndex(64), bf.Codes(packed[:1000], 64)
    index.add(bf.Codes(packed, 64))
    capsys.readouterr()
    getattr(index, method)(queries, 20)
    assert "search" in capsys.readouterr().err


class FakeCell:
    """The output of a notebook cell."""

    def __init__(self) -> None:
        self.shown: list[str] = []
        self.threads: set[int] = set()

    def display(self, content: dict[str, str], **options: bool) -> FakeCell:
        assert options == {"raw": True, "display_id": True}
        self.update(content, raw=True)
        return self

    def update(self, content: dict[str, str], *, raw: bool) -> None:
        self.shown.append(content["text/plain"])
        self.threads.add(threading.get_ident())


@pytest.mark.usefixtures("bars")
def test_notebook_shows_text_in_one_output(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cell, package = FakeCell(), ModuleType("IPython.display")
    package.display = cell.display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", package)
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    now = 0.0
    monkeypatch.setattr(_progress, "time", SimpleNamespace(monotonic=lambda: now))
    with show_progress(None) as report:
        report("fit", 0, 2)
        assert cell.shown == []
        now = 1.0
        report("fit", 1, 2)
        report("fit", 2, 2)
    assert capsys.readouterr() == ("", "")
    assert "50%" in cell.shown[0]
    assert "100%" in cell.shown[-1]
    assert cell.threads == {threading.get_ident()}
