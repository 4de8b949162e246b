"""``bitfold fit``: learn codes from vectors, and write the model."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from bitfold.cli import _inputs
from bitfold.cli._inputs import LABEL_FORMATS, VECTOR_FORMATS
from bitfold.cli._methods import METHOD_LIST, HasherSpec
from bitfold.cli._options import AsJson, Cosine, Force, RandomSeed
from bitfold.cli._outputs import check_output, explain_full_disk
from bitfold.cli._row_lengths import suggest_cosine
from bitfold.cli._terminal import print_summary, show_progress
from bitfold.hashers import Hasher

EPILOG = METHOD_LIST


def fit(
    vectors: Annotated[Path, Argument(help=f"Vectors, one per row: {VECTOR_FORMATS}.")],
    out: Annotated[Path, Option(help="Model to write.")],
    bits: Annotated[
        int | None, Option(min=1, max=1024, help="Code length; by default that of the method.")
    ] = None,
    labels: Annotated[Path | None, Option(help=f"Labels, one per row: {LABEL_FORMATS}.")] = None,
    method: Annotated[
        str | None,
        Option(help="One of those listed below; dualhasher or, with labels, supervisedimh."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        Option("--set", metavar="NAME=VALUE", help="Another parameter; repeatable."),
    ] = None,
    cosine: Cosine = False,
    seed: RandomSeed = 0,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Learn codes from vectors, and write the model.

    The vectors may be larger than memory: only a sample and a few blocks are held.

    Example: bitfold fit vectors.npy --out model.bitfold --set coarse__base__n_base_points=1000
    """
    _inputs.check_exists(vectors, labels)
    check_output(out, vectors, labels, force=force)
    spec = HasherSpec(method, bits, tuple(settings or ()), seed, cosine)
    summary = _fit(vectors, labels, out, spec)
    size = f"{summary['rows']:,} × {summary['features']} vectors"
    text = (
        f"{out}: {summary['method']}, {summary['bits']} bits, fitted on {size} "
        f"in {summary['seconds']:.1f} s, {summary['bytes']:,} bytes."
    )
    remarks = [summary[name] for name in ("base_size_reason", "hint") if name in summary]
    print_summary(summary, "\n".join([text, *remarks]), as_json=as_json)


def _fit(vectors: Path, labels: Path | None, out: Path, spec: HasherSpec) -> dict[str, Any]:
    """Fit and save a hasher; return what is printed about it."""
    with show_progress() as display:
        with display.spinner("reading"):
            hasher = spec.build(labeled=labels is not None)
            y = None if labels is None else _inputs.read_labels(labels)
            X = _inputs.open_rereadable_vectors(vectors)
        start = time.perf_counter()
        with display.bar(type(hasher).__name__) as report:
            hasher.fit(X, y, progress=report)
    with explain_full_disk(out):
        hasher.save(out)
    seconds = time.perf_counter() - start
    hint = None if hasher.normalize_ else suggest_cosine(X)
    return {
        "out": str(out),
        "method": type(hasher).__name__,
        "bits": hasher.n_bits_,
        "rows": len(X),
        "features": hasher.n_features_in_,
        "seconds": seconds,
        "bytes": out.stat().st_size,
        **describe_base_set(hasher),
        **({} if hint is None else {"hint": hint}),
    }


def describe_base_set(hasher: Hasher) -> dict[str, Any]:
    """Return the number of base points and how it was chosen, if the method has a base set."""
    reason = getattr(hasher, "base_size_reason_", None)
    points = getattr(getattr(hasher, "coarse_", hasher), "base_set_", ())
    return {} if reason is None else {"base_points": len(points), "base_size_reason": reason}
