"""``bitfold fit``: learn codes from vectors, and write the model."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from bitfold.cli._inputs import FORMATS, demand_there
from bitfold.cli._methods import Wanted


def fit(
    vectors: Annotated[Path, typer.Argument(help=f"Vectors, one a row: {FORMATS}.")],
    out: Annotated[Path, typer.Option(help="The model to write.")],
    bits: Annotated[
        int | None, typer.Option(min=1, help="Length of the codes; left out, the method's own.")
    ] = None,
    labels: Annotated[
        Path | None, typer.Option(help="Labels of the rows: .npy .npz .parquet .h5 .txt.")
    ] = None,
    method: Annotated[
        str | None, typer.Option(help="imh, itq, …; left out, imh, or supervisedimh with labels.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Another hyper-parameter; repeatable."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seeds what is drawn.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Answer as JSON.")] = False,
) -> None:
    """Learn codes from vectors, and write the model.

    The vectors may be larger than memory: a sample and a few blocks are held.

    Example: bitfold fit vectors.npy --bits 64 --out model.bitfold --set base__m=1000
    """
    from bitfold.cli._files import demand_writable

    demand_there(vectors, labels)
    demand_writable(out)
    about = _fit(vectors, labels, out, Wanted(method, bits, settings or [], seed))
    if as_json:
        typer.echo(json.dumps(about))
    else:
        learned = f"{about['rows']:,} × {about['features']} vectors in {about['seconds']:.1f} s"
        size = f"{about['bytes']:,} bytes"
        typer.echo(f"{out}: {about['method']}, {about['bits']} bits, from {learned}, {size}.")


def _fit(vectors: Path, labels: Path | None, out: Path, wanted: Wanted) -> dict[str, Any]:
    from bitfold.cli._terminal import bars

    with bars() as shown:
        with shown.spinner("getting ready"):
            # Under the spinner, because these imports take a second or two.
            from bitfold.cli._inputs import open_again, read_labels

            hasher = wanted.hasher(labelled=labels is not None)
            y = None if labels is None else read_labels(labels)
            X = open_again(vectors)
        start = time.perf_counter()
        with shown.bar(type(hasher).__name__) as report:
            hasher.fit(X, y, progress=report)
    hasher.save(out)
    return {
        "out": str(out),
        "method": type(hasher).__name__,
        "bits": hasher.n_bits_,
        "rows": len(X),
        "features": hasher.n_features_in_,
        "seconds": time.perf_counter() - start,
        "bytes": out.stat().st_size,
    }
