"""``bitfold sample``: write a small data set to try the commands on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from typer import Argument, Option

from bitfold import datasets
from bitfold._types import AnyArray
from bitfold.cli._options import AsJson
from bitfold.cli._outputs import check_new, explain_full_disk, remove_if_failed
from bitfold.cli._terminal import print_summary
from bitfold.io import file_system
from bitfold.io.atomic import replace_atomically

SAMPLES = {"digits": datasets.digits}
"""Data sets that need no download."""


def sample(
    name: Annotated[str, Argument(help=f"Data set: {', '.join(SAMPLES)}.")] = "digits",
    out: Annotated[
        Path | None, Option(help="Folder to write to; by default named like the data set.")
    ] = None,
    force: Annotated[bool, Option("--force", help="Replace the files if they exist.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write a small data set to try the commands on.

    The folder gets vectors.npy, queries.npy, labels.npy (of the vectors) and query_labels.npy.
    digits are 1,797 handwritten digits of 8 × 8 pixels.

    Example: bitfold sample digits
    """
    if name not in SAMPLES:
        raise typer.BadParameter(f"The data set must be one of {', '.join(SAMPLES)}, got {name!r}.")
    folder = Path(name) if out is None else out
    arrays = _load_arrays(name)
    for file in arrays:
        check_new(folder / file, force=force)
    with remove_if_failed(folder), explain_full_disk(folder):
        file_system.make_directory(folder)
        for file, array in arrays.items():
            with replace_atomically(folder / file) as opened:
                np.save(opened, array)
    shapes = {file: list(array.shape) for file, array in arrays.items()}
    listed = ", ".join(f"{file} ({' × '.join(map(str, shape))})" for file, shape in shapes.items())
    print_summary({"out": str(folder), "files": shapes}, f"{folder}: {listed}.", as_json=as_json)


def _load_arrays(name: str) -> dict[str, AnyArray]:
    """Return the files of a data set by name."""
    data = SAMPLES[name]()
    return {
        "vectors.npy": np.asarray(data.database, np.float32),
        "queries.npy": np.asarray(data.queries, np.float32),
        "labels.npy": np.asarray(data.labels),
        "query_labels.npy": np.asarray(data.query_labels),
    }
