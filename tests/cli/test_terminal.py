"""Progress on the terminal."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from rich.progress import Progress
from tests.cli.helpers import Screen, X

from bitfold.cli._terminal import ProgressDisplay, _TimeLeftColumn


def test_bar_shows_the_stage_and_ends_full() -> None:
    progress = Progress(disable=True)
    with ProgressDisplay(progress).bar("IMH") as report:
        (task,) = progress.tasks
        for stage, done, total in (("base set", 1, 2), ("base set", 2, 2), ("embedding", 3, 9)):
            report(stage, done, total)
            assert (task.fields["stage"], task.completed, task.total) == (stage, done, total)
    assert task.finished


def test_removed_bar_and_spinner_leave_nothing() -> None:
    progress = Progress(disable=True)
    display = ProgressDisplay(progress)
    with display.bar("run", remove=True) as report, display.spinner("reading"):
        report("fit", 1, 2)
        assert len(progress.tasks) == 2
    assert progress.tasks == []


def test_counter_counts() -> None:
    progress = Progress(disable=True)
    advance = ProgressDisplay(progress).counter("runs", 3)
    advance("")
    (task,) = progress.tasks
    assert (task.completed, task.fields["stage"]) == (1, "1 of 3")
    advance("about 2 min left")
    assert (task.completed, task.fields["stage"]) == (2, "2 of 3, about 2 min left")
    # Runs differ too much for the estimate that bars have.
    assert _TimeLeftColumn().render(task).plain == ""


def test_lines_are_printed_only_without_bars(capsys: pytest.CaptureFixture[str]) -> None:
    ProgressDisplay(Progress(disable=True)).line("1 of 3: itq")
    assert capsys.readouterr() == ("", "1 of 3: itq\n")
    ProgressDisplay(Progress()).line("1 of 3: itq")
    assert capsys.readouterr() == ("", "")


def test_fit_shows_its_stages(command: str, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.repeat(X, 3, axis=0) + np.arange(64) / 64)
    screen = Screen()
    fit = ["fit", str(tmp_path / "x.npy"), "--bits", "16", "--out", str(tmp_path / "m")]
    process = subprocess.Popen([command, *fit], stdout=screen.terminal, stderr=screen.terminal)
    assert process.wait(100) == 0
    shown = screen.close()
    assert "embedding" in shown
    assert "DualHasher, 16 bits, fitted on 5,391 × 64" in " ".join(shown.split())
