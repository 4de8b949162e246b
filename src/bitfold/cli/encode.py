"""``bitfold encode``: the codes of vectors, written as they come."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from bitfold.cli._inputs import FORMATS, check_exists


def encode(
    model: Annotated[Path, typer.Argument(help="A model that bitfold fit wrote.")],
    vectors: Annotated[Path, typer.Argument(help=f"Vectors, one a row: {FORMATS}.")],
    out: Annotated[Path, typer.Option(help="The codes to write: .npy, packed, a row each.")],
    restart: Annotated[
        bool, typer.Option("--restart", help="Begin anew instead of going on where it stopped.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Answer as JSON.")] = False,
) -> None:
    """Encode vectors of any number in little memory.

    Stopped in the middle, the same command goes on where it was.

    Example: bitfold encode model.bitfold vectors.npy --out codes.npy
    """
    from bitfold.cli._files import check_apart, check_writable

    check_exists(model, vectors)
    check_apart(out, model, vectors)
    check_writable(out)
    about = _encode(model, vectors, out, restart)
    if as_json:
        typer.echo(json.dumps(about))
    else:
        size = f"{about['rows']:,} codes of {about['bits']} bits"
        typer.echo(f"{out}: {size} in {about['seconds']:.1f} s.")


def _encode(model: Path, vectors: Path, out: Path, restart: bool) -> dict[str, Any]:
    from bitfold.cli._files import writing
    from bitfold.cli.terminal import bars

    done = 0
    try:
        with writing(out), bars() as shown:
            with shown.spinner("getting ready"):
                # Under the spinner, because these imports take a second or two.
                from bitfold.cli._inputs import open_vectors, stamp
                from bitfold.hashers import load
                from bitfold.io.codes_file import encode_to_file

                X = open_vectors(vectors)
                hasher = load(model)
            start = time.perf_counter()
            with shown.bar("encode") as report:

                def note(stage: str, rows: int, total: int) -> None:
                    nonlocal done
                    done = rows
                    report("rows", rows, total)

                rows = encode_to_file(
                    hasher, X, out, stamp=stamp(vectors), restart=restart, progress=note
                )
    except KeyboardInterrupt:
        if done:
            sys.stderr.write(f"bitfold: stopped after {done:,} rows; run it again to go on.\n")
        raise
    seconds = time.perf_counter() - start
    return {"out": str(out), "rows": rows, "bits": hasher.n_bits_, "seconds": seconds}
