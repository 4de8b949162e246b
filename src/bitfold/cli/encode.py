"""``bitfold encode``: encode vectors with a model, and write a codes file."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from bitfold.cli._inputs import VECTOR_FORMATS, check_exists, fingerprint, open_vectors
from bitfold.cli._options import AsJson, Force
from bitfold.cli._outputs import check_output, explain_full_disk
from bitfold.cli._terminal import print_summary, show_progress
from bitfold.hashers import load
from bitfold.io import encode_to_file
from bitfold.io.atomic import FULL_DISK
from bitfold.io.resumable import discard_partial


def encode(
    model: Annotated[Path, Argument(help="Model that bitfold fit wrote.")],
    vectors: Annotated[Path, Argument(help=f"Vectors, one per row: {VECTOR_FORMATS}.")],
    out: Annotated[Path, Option(help="Codes file to write, such as vectors.codes.")],
    restart: Annotated[
        bool, Option("--restart", help="Discard what an interrupted run has done.")
    ] = False,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Encode vectors with a model, and write a codes file.

    Vectors are read block by block, so that memory stays small. After an interruption, the same
    command continues after the last saved block.

    Example: bitfold encode model.bitfold vectors.npy --out vectors.codes
    """
    check_exists(model, vectors)
    check_output(out, model, vectors, force=force)
    summary = _encode(model, vectors, out, restart)
    size = f"{summary['rows']:,} codes of {summary['bits']} bits"
    print_summary(summary, f"{out}: {size} in {summary['seconds']:.1f} s.", as_json=as_json)


def _encode(model: Path, vectors: Path, out: Path, restart: bool) -> dict[str, Any]:
    """Encode to a file; return what is printed about it."""
    n_done = 0
    try:
        with explain_full_disk(out), show_progress() as display:
            with display.spinner("reading"):
                hasher, X = load(model), open_vectors(vectors)
            start = time.perf_counter()
            with display.bar("encode") as report:

                def count_rows(stage: str, done: int, total: int) -> None:
                    nonlocal n_done
                    n_done = done
                    report("rows", done, total)

                n_rows = encode_to_file(
                    hasher, X, out, stamp=fingerprint(vectors), restart=restart, progress=count_rows
                )
    except OSError as error:
        if error.errno in FULL_DISK:
            discard_partial(out)
        raise
    except KeyboardInterrupt:
        if n_done:
            sys.stderr.write(
                f"bitfold: interrupted after {n_done:,} rows; run the command again to continue.\n"
            )
        raise
    seconds = time.perf_counter() - start
    return {"out": str(out), "rows": n_rows, "bits": hasher.n_bits_, "seconds": seconds}
