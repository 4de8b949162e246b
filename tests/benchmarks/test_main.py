"""The command that runs groups of benchmarks."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from benchmarks.__main__ import GROUPS, NAMED_GROUPS, main
from benchmarks.measuring import Ratio

import benchmarks

FOLDER = Path(benchmarks.__file__).parent


def test_every_group_has_a_module() -> None:
    known = [*GROUPS, *NAMED_GROUPS]
    assert len(set(known)) == len(known)
    with_ratios = {
        path.stem
        for path in FOLDER.glob("*.py")
        if "\ndef run() -> list[Ratio]:" in path.read_text("utf-8")
    }
    assert with_ratios == set(known)


@pytest.mark.parametrize(("value", "code", "mark"), [(1.5, 0, "kept"), (0.5, 1, "missed")])
def test_missed_bound_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    value: float,
    code: int,
    mark: str,
) -> None:
    ratios = [Ratio("quality", value, 1, at_least=True)]
    module = SimpleNamespace(run=lambda: ratios)
    monkeypatch.setitem(sys.modules, "benchmarks.core", module)
    monkeypatch.setattr(sys, "argv", ["benchmarks", "core"])
    assert main() == code
    assert mark in capsys.readouterr().out


def test_unknown_group(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["benchmarks", "cores"])
    with pytest.raises(SystemExit):
        main()
    assert "unknown group 'cores'" in capsys.readouterr().err
