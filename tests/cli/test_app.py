"""The root command: help, version, completion, interruption."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from tests.cli.helpers import Run, X
from tests.platforms import posix_only

from bitfold import __version__
from bitfold.cli._app import COMMANDS

ALL_COMMANDS = [(panel, name) for panel, commands in COMMANDS.items() for name in commands]

MAX_HELP_SECONDS = 0.5


def test_version(bitfold: Run) -> None:
    done = bitfold("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"bitfold {__version__}\n", "")


def test_as_a_module() -> None:
    command = [sys.executable, "-m", "bitfold", "--version"]
    assert subprocess.check_output(command, text=True) == f"bitfold {__version__}\n"


def test_help_without_arguments(bitfold: Run) -> None:
    done = bitfold()
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == bitfold("--help").stdout.split()


def test_help_lists_commands_in_panels(warm: Run) -> None:
    text = warm("--help").stdout
    for panel, commands in COMMANDS.items():
        section = re.search(rf"╭─ {panel} ─[\s\S]*?╰─", text)
        assert section
        assert re.findall(r"^│ ([a-z]+) ", section[0], re.M) == list(commands)


def test_help_lists_exit_codes(warm: Run) -> None:
    text = warm("--help").stdout
    assert "Exit codes" in text
    assert "6: an output that already exists" in " ".join(text.split())


@posix_only("the processor time of a child")
def test_help_is_fast(command: str) -> None:
    def measure() -> float:
        process = subprocess.Popen([command, "--help"], stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0
        # Processor time, because other tests may be running.
        return usage.ru_utime + usage.ru_stime

    assert min(measure() for _ in range(5)) < MAX_HELP_SECONDS


def test_help_imports_nothing_heavy() -> None:
    program = (
        "import sys; from bitfold.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(*{name.split('.')[0] for name in sys.modules}, file=sys.stderr)"
    )
    command = [sys.executable, "-c", program, "--help"]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True).stderr.split()
    assert "typer" in loaded
    assert {"numpy", "scipy", "sklearn", "numba", "faiss"} & set(loaded) == set()


@pytest.mark.parametrize(("panel", "name"), ALL_COMMANDS)
def test_table_and_docstring_agree(panel: str, name: str) -> None:
    function = getattr(import_module(f"bitfold.cli.{name}"), name)
    assert (inspect.getdoc(function) or "").splitlines()[0] == COMMANDS[panel][name]


@pytest.mark.parametrize(("_", "name"), ALL_COMMANDS)
def test_every_command_has_an_example_and_json(_: str, name: str, warm: Run) -> None:
    text = warm(name, "--help").stdout
    assert f"Example: bitfold {name} " in text
    assert "--json" in text


@pytest.mark.parametrize("name", ["fit", "encode", "index", "dedup", "push", "pull", "sample"])
def test_every_command_that_writes_has_force(name: str, warm: Run) -> None:
    assert "--force" in warm(name, "--help").stdout


@pytest.mark.parametrize(
    "name", ["dedup", "encode", "evaluate", "fit", "index", "info", "push", "search", "verify"]
)
def test_example_can_be_parsed(name: str, warm: Run, tmp_path: Path) -> None:
    text = warm(name, "--help").stdout
    example = re.search(rf"Example: bitfold {name} ([\s\S]*?)\n\s*\n", text)
    assert example
    done = warm(name, *example[1].split(), within=tmp_path)
    assert done.returncode == 5
    assert "does not exist" in done.stderr


@pytest.mark.parametrize(
    "arguments", [["fitt"], ["fit", "--bite"], ["fit", "x.npy", "--out", "m", "--bits", "0"]]
)
def test_usage_error_is_one_line(warm: Run, arguments: list[str]) -> None:
    done = warm(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(r"bitfold: .*\n", done.stderr)


@pytest.mark.parametrize("position", [0, 1, 3])
def test_debug_shows_traceback_anywhere(warm: Run, tmp_path: Path, position: int) -> None:
    arguments = ["info", str(tmp_path / "missing"), "--json"]
    done = warm(*arguments[:position], "--debug", *arguments[position:])
    assert done.returncode == 1
    assert done.stderr.startswith("Traceback")
    assert "FileNotFoundError" in done.stderr


def test_warning_is_one_line(warm: Run, tmp_path: Path) -> None:

    np.save(tmp_path / "x.npy", X[:50])
    fit = ["fit", str(tmp_path / "x.npy"), "--out", str(tmp_path / "m"), "--bits", "8"]
    done = warm(*fit, "--set", "coarse__base__n_base_points=400")
    assert done.returncode == 0
    assert done.stderr
    assert all(line.startswith("bitfold: warning: ") for line in done.stderr.splitlines())
    assert "400" in done.stderr


def test_shell_completion(command: str) -> None:
    def complete(words: str) -> list[str]:
        environment = {
            **{name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ},
            "_BITFOLD_COMPLETE": "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": str(len(words.split()) - 1),
        }
        return subprocess.check_output([command], env=environment, text=True).split()

    assert complete("bitfold en") == ["encode"]
    assert complete("bitfold fit --me") == ["--method"]
    script = subprocess.check_output([command, "--show-completion", "bash"], text=True)
    assert "complete -o" in script


def test_command_belongs_to_this_python(command: str) -> None:
    assert Path(command).parent == Path(sys.executable).parent
