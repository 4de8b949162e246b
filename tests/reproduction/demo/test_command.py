"""The command of the demo."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NoReturn

import pytest
from reproduction.demo.comparison import format_row
from tests.reproduction.conftest import RunCommand
from tests.reproduction.demo.conftest import DemoRun
from tests.reproduction.terminal_process import TerminalProcess

from reproduction.demo import command


@pytest.fixture
def run_demo(
    run_command: RunCommand, demo_run: DemoRun, monkeypatch: pytest.MonkeyPatch
) -> RunCommand:
    """Return a function that runs the command with known results."""
    monkeypatch.setattr(command, "compare_methods", lambda *_: demo_run.results)
    return lambda *arguments: run_command("demo", *arguments)


def parse_table(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("│")[1:-1]] for line in text.splitlines()]


def test_table_and_page(run_demo: RunCommand, demo_run: DemoRun, tmp_path: Path) -> None:
    path = tmp_path / "demo.html"
    code, text, errors = run_demo("--out", str(path))
    assert (code, errors) == (0, "")
    assert "\x1b" not in text
    assert [row for row in parse_table(text) if row] == [
        format_row(result.score) for result in demo_run.results
    ]
    assert text.splitlines()[-1] == f"Page written to {path}"
    assert [file.name for file in tmp_path.iterdir()] == ["demo.html"]


def test_json(run_demo: RunCommand, demo_run: DemoRun, tmp_path: Path) -> None:
    path = tmp_path / "demo.html"
    content = json.loads(run_demo("--json", "--out", str(path)).stdout)
    assert content.keys() == {"data", "n_database", "n_queries", "seed", "page", "results"}
    assert (content["n_database"], content["n_queries"], content["seed"]) == (1497, 300, 0)
    assert content["page"] == str(path)
    assert [result["map"] for result in content["results"]] == [
        result.score.map for result in demo_run.results
    ]
    assert path.exists()


@pytest.mark.parametrize("out", [".", "missing/demo.html"])
def test_page_is_checked_before_the_work(
    run_command: RunCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, out: str
) -> None:
    def fail(*_: object) -> NoReturn:
        raise AssertionError("the work was started")

    monkeypatch.setattr(command, "compare_methods", fail)
    code, text, errors = run_command("demo", "--out", str(tmp_path / out))
    assert (code, text) == (1, "")
    assert errors.startswith(f"reproduction: {tmp_path / out} ")
    assert "the work was started" not in errors


def test_interrupt_is_quiet_and_keeps_the_old_page(tmp_path: Path) -> None:
    page = tmp_path / "demo.html"
    page.write_text("the old page")
    with TerminalProcess("demo", "--out", str(page)) as terminal:
        terminal.read(until=b"embedding")
        terminal.interrupt()
        assert terminal.read() == 130
    text = terminal.output.decode()
    for part in ("warming up", "IMH-tSNE", "embedding", "━"):
        assert part in text
    assert "Traceback" not in text
    assert "KeyboardInterrupt" not in text
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")  # the cursor is visible again
    assert [path.read_text() for path in tmp_path.iterdir()] == ["the old page"]
