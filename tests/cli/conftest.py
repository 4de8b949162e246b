"""Run the command as a user does: as a process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

# What would color a pipe, or widen it.
COLORFUL = ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "NO_COLOR", "COLUMNS")


@pytest.fixture(scope="session")
def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in COLORFUL}


@pytest.fixture(scope="session")
def command() -> str:
    """The command that an installation puts beside its Python."""
    return str(Path(sys.executable).with_name("bitfold"))


@pytest.fixture(scope="session")
def bitfold(
    command: str, environment: dict[str, str]
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run ``bitfold`` with some arguments, piped."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [command, *arguments],
            capture_output=True,
            encoding="utf-8",
            env=environment,
            timeout=120,
            check=False,
        )

    return run


WARM = """
import gc, json, os, resource, sys
import h5py, pyarrow.dataset, pyarrow.parquet, rich.progress, rich.table, typer, zarr
import numpy as np
import bitfold.cli._app, bitfold.datasets, bitfold.metrics, bitfold.search, bitfold.io.codes_file
from bitfold.hashers import LSH

X = np.zeros((9, 9), np.float32)
LSH(8, random_state=0).fit(X).encode(X)
# Children would else look through all that was imported, and so copy it.
gc.collect()
gc.freeze()
for line in sys.stdin:
    order = json.loads(line)
    child = os.fork()
    if not child:
        places = [os.devnull, order["out"], order["err"]]
        for number, place in enumerate(places):
            os.dup2(os.open(place, os.O_RDWR | os.O_CREAT), number)
        os.chdir(order["folder"])
        os.environ.update(order["variables"])
        if order["room"] is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (order["room"], order["room"]))
        sys.argv = ["bitfold", *order["arguments"]]
        bitfold.cli.main()
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.fixture(scope="session")
def warm(
    environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., subprocess.CompletedProcess[str]]]:
    """Run ``bitfold`` as a process that need not import everything: a child of one that did."""
    folder = tmp_path_factory.mktemp("warm")
    with subprocess.Popen(
        [sys.executable, "-c", WARM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        env=environment,
    ) as parent:
        assert parent.stdin
        assert parent.stdout
        orders, answers = parent.stdin, parent.stdout

        def run(
            *arguments: str,
            within: Path | None = None,
            variables: dict[str, str] | None = None,
            room: int | None = None,
        ) -> subprocess.CompletedProcess[str]:
            out, err = folder / "out", folder / "err"
            for file in (out, err):
                file.write_bytes(b"")
            order = {
                "out": str(out),
                "err": str(err),
                "folder": str(within or Path.cwd()),
                "variables": variables or {},
                "room": room,
                "arguments": arguments,
            }
            orders.write(json.dumps(order) + "\n")
            orders.flush()
            code = int(answers.readline())
            texts = (file.read_text("utf-8") for file in (out, err))
            return subprocess.CompletedProcess(arguments, code, *texts)

        yield run
        orders.close()
