"""``bitfold fit``: learn codes from vectors, and write the model."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bitfold.cli._inputs import FORMATS, check_exists
from bitfold.cli._methods import Wanted

if TYPE_CHECKING:
    from bitfold.hashers import Hasher


def fit(
    vectors: Annotated[Path, typer.Argument(help=f"Vectors, one a row: {FORMATS}.")],
    out: Annotated[Path, typer.Option(help="The model to write.")],
    bits: Annotated[
        int | None,
        typer.Option(min=1, max=1024, help="Length of the codes; left out, the method's own."),
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

    Example: bitfold fit vectors.npy --bits 64 --out model.bitfold --set base__n_base_points=1000
    """
    from bitfold.cli._files import check_apart, check_writable

    check_exists(vectors, labels)
    check_apart(out, vectors, labels)
    check_writable(out)
    about = _fit(vectors, labels, out, Wanted(method, bits, settings or [], seed))
    if as_json:
        typer.echo(json.dumps(about))
    else:
        learned = f"{about['rows']:,} × {about['features']} vectors in {about['seconds']:.1f} s"
        size = f"{about['bytes']:,} bytes"
        typer.echo(f"{out}: {about['method']}, {about['bits']} bits, from {learned}, {size}.")
        if "base_points" in about:
            typer.echo(f"{about['base_points']:,} base points: {about['base_reason']}.")


def _fit(vectors: Path, labels: Path | None, out: Path, wanted: Wanted) -> dict[str, Any]:
    from bitfold.cli._files import writing
    from bitfold.cli.terminal import bars

    with bars() as shown:
        with shown.spinner("getting ready"):
            # Under the spinner, because these imports take a second or two.
            from bitfold.cli._inputs import open_again, read_labels

            hasher = wanted.hasher(labeled=labels is not None)
            y = None if labels is None else read_labels(labels)
            X = open_again(vectors)
        start = time.perf_counter()
        with shown.bar(type(hasher).__name__) as report:
            hasher.fit(X, y, progress=report)
    with writing(out):
        hasher.save(out)
    return {
        "out": str(out),
        "method": type(hasher).__name__,
        "bits": hasher.n_bits_,
        "rows": len(X),
        "features": hasher.n_features_in_,
        "seconds": time.perf_counter() - start,
        "bytes": out.stat().st_size,
        **base_of(hasher),
    }


def base_of(hasher: Hasher) -> dict[str, Any]:
    """Tell how many base points a method that has some took, and why."""
    reason = getattr(hasher, "base_reason_", None)
    points = getattr(hasher, "base_set_", ())
    return {} if reason is None else {"base_points": len(points), "base_reason": reason}
