"""Run the command as a user does: as a process, on files of every format."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pytest
import zarr
from pyarrow import parquet
from safetensors.numpy import save_file
from tests.cli.helpers import LABELS, Run, X, to_texmex

import bitfold as bf
from bitfold.hashers import LSH
from bitfold.io import save_codes

COLOR_VARIABLES = ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "NO_COLOR", "COLUMNS")
"""Variables that would color or widen the output in a pipe."""


@pytest.fixture(scope="session")
def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in COLOR_VARIABLES}


@pytest.fixture(scope="session")
def command() -> str:
    """Return the script that an installation puts next to its Python."""
    return str(Path(sys.executable).with_name("bitfold"))


@pytest.fixture(scope="session")
def bitfold(command: str, environment: dict[str, str]) -> Run:
    """Run ``bitfold`` in a new process, with pipes."""

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
    environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., subprocess.CompletedProcess[str]]]:
    """Run ``bitfold`` in a fork of a process that has already imported everything."""
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


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the digits in every format, a model, its codes and an index."""
    folder = tmp_path_factory.mktemp("files")
    np.save(folder / "x.npy", X)
    np.savez(folder / "x.npz", vectors=X, labels=LABELS)
    with h5py.File(folder / "x.h5", "w") as file:
        file.create_dataset("part/vectors", data=X, chunks=(100, 64), compression="gzip")
        file["labels"] = LABELS
    lists = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), 64)
    table = pa.table({"id": range(len(X)), "vectors": lists, "label": LABELS})
    parquet.write_table(table, folder / "x.parquet", row_group_size=500)
    zarr.create_array(folder / "x.zarr", shape=X.shape, chunks=(70, 64), dtype="f4")[:] = X
    named = np.column_stack([LABELS, X])
    header = ",".join(["label", *(f"v{i}" for i in range(64))])
    np.savetxt(folder / "x.csv", named, "%g", ",", header=header, comments="")
    items = ({"label": int(label), "v": row} for label, row in zip(LABELS, X.tolist(), strict=True))
    (folder / "x.jsonl").write_text("".join(f"{json.dumps(item)}\n" for item in items))
    save_file({"vectors": X, "labels": LABELS}, folder / "x.safetensors")
    (folder / "x.fvecs").write_bytes(to_texmex(X))
    (folder / "x.bvecs").write_bytes(to_texmex(X.astype(np.uint8)))
    (folder / "labels.txt").write_text("\n".join(map(str, LABELS)))
    np.save(folder / "labels.npy", LABELS)
    hasher = LSH(60, random_state=0).fit(X)
    hasher.save(folder / "m.bitfold")
    codes = hasher.encode(X)
    save_codes(codes, folder / "x.codes")
    np.save(folder / "codes.npy", codes.packed)
    index = bf.HammingIndex(60)
    index.add(codes)
    index.save(folder / "my.index")
    return folder
