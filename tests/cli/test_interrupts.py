"""Ctrl-C: exit code 130, no traceback, no partial file, at any moment after Python has started."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from tests.cli.helpers import list_names

PREPARE = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from bitfold.cli import _interrupts, main

def shoot(*_):
    os.kill(os.getpid(), signal.SIGINT)
"""


def run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a program that interrupts itself."""
    return subprocess.run(
        [sys.executable, "-c", PREPARE + program, *arguments],
        capture_output=True,
        encoding="utf-8",
        timeout=100,
        check=False,
    )


def assert_interrupted(done: subprocess.CompletedProcess[str]) -> None:
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_a_system_without_sighup() -> None:
    done = run(
        "del signal.SIGHUP\nfrom importlib import reload\nreload(_interrupts)\nmain()", "--version"
    )
    assert (done.returncode, done.stderr) == (0, "")


IMPORTS = ["bitfold.cli._errors", "bitfold.cli._app", "typer", "rich", "numpy", "faiss", "sklearn"]


@pytest.mark.parametrize("name", IMPORTS)
def test_during_imports(name: str, tmp_path: Path) -> None:
    finder = f"""
class Shooter:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            shoot()

sys.meta_path.insert(0, Shooter())
main()
"""
    np.save(tmp_path / "x.npy", np.zeros((9, 9)))
    fit = ["fit", str(tmp_path / "x.npy"), "--out", str(tmp_path / "m")]
    assert_interrupted(run(finder, *fit))
    assert list_names(tmp_path) == ["x.npy"]


@pytest.mark.parametrize("place", ["os.fsync", "os.replace", "bitfold.io.model_file.write_model"])
def test_while_a_file_is_written(place: str, tmp_path: Path) -> None:
    """A second Ctrl-C during the removal of the partial file does not prevent it."""
    module, name = place.rsplit(".", 1)
    program = f"""
import pathlib
import {module}
unlink = pathlib.Path.unlink

def shoot_and_unlink(*arguments, **options):
    shoot()
    return unlink(*arguments, **options)

pathlib.Path.unlink = shoot_and_unlink
{module}.{name} = shoot
main()
"""
    np.save(tmp_path / "x.npy", np.random.default_rng(0).random((99, 9)))
    out = tmp_path / "out"
    out.mkdir()
    fit = ["fit", str(tmp_path / "x.npy"), "--method", "lsh", "--out", str(out / "m")]
    done = run(program, *fit)
    assert (done.returncode, done.stderr) in ((130, ""), (0, ""))
    assert list_names(out) in ([], ["m"])


@pytest.mark.parametrize("swallowed", ["finalizer", "error"])
def test_an_interrupt_that_a_library_swallows(swallowed: str) -> None:
    program = f"""
import time
from bitfold.cli import _app

class Finalizer:
    def __del__(self):
        shoot()
        time.sleep(1)

def command(*_, **__):
    _interrupts.unwind_on_signals()
    if {swallowed!r} == "finalizer":
        Finalizer()
        time.sleep(80)
        return 0
    try:
        shoot()
        time.sleep(80)
    except KeyboardInterrupt:
        raise RuntimeError("computation interrupted")

_app.app = command
main()
"""
    start = time.monotonic()
    assert_interrupted(run(program))
    assert time.monotonic() - start < 75


def test_after_the_work(tmp_path: Path) -> None:
    program = "import atexit; atexit.register(shoot); main()"
    done = run(program, "--version")
    assert (done.returncode, done.stderr) == (0, "")


def test_an_ignored_signal_stays_ignored() -> None:
    program = """
signal.signal(signal.SIGINT, signal.SIG_IGN)
_interrupts.exit_on_signals()
shoot()
_interrupts.unwind_on_signals()
shoot()
print(signal.getsignal(signal.SIGINT) is signal.SIG_IGN)
"""
    assert run(program).stdout == "True\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_other_signals_have_their_exit_code(number: signal.Signals) -> None:
    for stage in ("exit_on_signals()", "exit_on_signals(); _interrupts.unwind_on_signals()"):
        program = f"_interrupts.{stage}; os.kill(os.getpid(), {number.value})"
        assert run(program).returncode == 128 + number
