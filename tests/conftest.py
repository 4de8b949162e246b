"""Settings of hypothesis, and commands in new or forked processes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# The same examples everywhere, and no deadlines.
settings.register_profile(
    "bitfold", deadline=None, derandomize=True, print_blob=True, max_examples=50
)
settings.load_profile("bitfold")

COLOR_VARIABLES = ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "NO_COLOR", "COLUMNS")
"""Variables that would color or widen the output in a pipe."""


@pytest.fixture(scope="session")
def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in COLOR_VARIABLES}


@pytest.fixture(scope="session")
def command() -> str:
    """Return the script that an installation puts next to its Python; on Windows, an ``.exe``."""
    folder = Path(sys.executable).parent
    found = shutil.which("bitfold", path=str(folder))
    assert found, f"bitfold is not installed in {folder}"
    return found


@pytest.fixture(scope="session")
def bitfold(
    command: str, environment: dict[str, str]
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run ``bitfold`` in a new process, with pipes."""

    def run(
        *arguments: str, within: Path | None = None, variables: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [command, *arguments],
            capture_output=True,
            encoding="utf-8",
            cwd=within,
            env={**environment, **(variables or {})},
            timeout=120,
            check=False,
        )

    return run


SERVER = """
import gc, json, os, resource, sys
import h5py, pyarrow.dataset, pyarrow.parquet, rich.progress, rich.table, zarr
import numpy as np
from importlib import import_module
import bitfold.cli
from bitfold.cli._app import COMMANDS
from bitfold.hashers import LSH

for panel in COMMANDS.values():
    for name in panel:
        import_module(f"bitfold.cli.{name}")
X = np.zeros((9, 9), np.float32)
LSH(8, random_state=0).fit(X).encode(X)
# The garbage collector of a child would otherwise touch, and so copy, all that was imported.
gc.collect()
gc.freeze()
for line in sys.stdin:
    order = json.loads(line)
    child = os.fork()
    if not child:
        for number, path in enumerate([os.devnull, order["out"], order["err"]]):
            os.dup2(os.open(path, os.O_RDWR | os.O_CREAT), number)
        os.chdir(order["folder"])
        os.environ.update(order["variables"])
        limit = order["max_file_size"]
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        sys.argv = ["bitfold", *order["arguments"]]
        bitfold.cli.main()
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.fixture(scope="session")
def warm(
    bitfold: Callable[..., subprocess.CompletedProcess[str]],
    environment: dict[str, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[..., subprocess.CompletedProcess[str]]]:
    """Run ``bitfold`` in a fork of a process that has already imported everything.

    Where processes cannot fork, it runs in a new one.
    """
    if not hasattr(os, "fork"):

        def run_new(
            *arguments: str, max_file_size: int | None = None, **options: Any
        ) -> subprocess.CompletedProcess[str]:
            if max_file_size is not None:
                pytest.skip("needs a limit on the size of files, which only POSIX has")
            return bitfold(*arguments, **options)

        yield run_new
        return
    folder = tmp_path_factory.mktemp("warm")
    with subprocess.Popen(
        [sys.executable, "-c", SERVER],
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
            max_file_size: int | None = None,
        ) -> subprocess.CompletedProcess[str]:
            out, err = folder / "out", folder / "err"
            for file in (out, err):
                file.write_bytes(b"")
            order = {
                "out": str(out),
                "err": str(err),
                "folder": str(within or Path.cwd()),
                "variables": variables or {},
                "max_file_size": max_file_size,
                "arguments": arguments,
            }
            orders.write(json.dumps(order) + "\n")
            orders.flush()
            code = int(answers.readline())
            texts = (file.read_text("utf-8") for file in (out, err))
            return subprocess.CompletedProcess(arguments, code, *texts)

        yield run
        orders.close()
