"""``bitfold compare``: compare methods and code lengths on your data, and recommend one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from bitfold.cli._comparison_table import (
    FIRST_TEN,
    SEARCH_NOTE,
    list_errors,
    list_options,
    make_table,
)
from bitfold.cli._inputs import LABEL_FORMATS
from bitfold.cli._method_runs import MethodRun, run_methods
from bitfold.cli._methods import METHODS, find_method, uses_labels
from bitfold.cli._options import Cosine, HeldOutRows, SampledRows
from bitfold.cli._recommendation import describe_option, format_next_step, is_unsupervised
from bitfold.cli._sampled_data import (
    DATA_HELP,
    DEFAULT_ROWS,
    DataRequest,
    describe_sample,
)
from bitfold.cli._terminal import make_console
from bitfold.evaluation import choose_code
from bitfold.io.records import RunRecords


def compare(
    data: Annotated[str, Argument(help=DATA_HELP)],
    labels: Annotated[
        Path | None, Option(help=f"Labels of the rows of a file: {LABEL_FORMATS}.")
    ] = None,
    bits: Annotated[str, Option(help="Code lengths.")] = "16,32,64,128",
    methods: Annotated[
        str, Option(help="Methods such as imh,itq; all; or supervised, which learn from labels.")
    ] = "all",
    queries: HeldOutRows = None,
    rows: SampledRows = DEFAULT_ROWS,
    cosine: Cosine = False,
    repeats: Annotated[int, Option(min=1, help="Number of seeds to average over.")] = 1,
    records: Annotated[
        Path | None,
        Option(help="JSON-lines file: results are appended, existing ones not repeated."),
    ] = None,
    as_json: Annotated[bool, Option("--json", help="Print one JSON line per run.")] = False,
) -> None:
    """Compare methods and code lengths on your data, and recommend one.

    The first ten hits of an asymmetric search, as bitfold search runs it, count first: P@10 with
    labels, recall@10 of the exact neighbors without. MAP and F1 are those of items with the same
    label or, without labels, of the closest 2 percent in ℓ2, or by cosine with --cosine.

    Example: bitfold compare vectors.npy --labels labels.npy --bits 32,64 --methods itq,imh
    """
    lengths = _parse_lengths(bits)
    request = DataRequest.create(data, labels, queries, rows, cosine)
    chosen = _choose_methods(methods, labeled=request.is_labeled)
    # Short codes of all methods come first: the remaining time is estimated from them.
    runs = [
        MethodRun.create(request, method, n_bits, seed)
        for n_bits in lengths
        for method in chosen
        for seed in range(repeats)
    ]
    done = run_methods(runs, request, RunRecords(records))
    if as_json:
        for record in done:
            typer.echo(json.dumps(record))
    else:
        _print_result(done, request)


def _parse_lengths(text: str) -> list[int]:
    """Read code lengths that are separated by commas."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdigit() and int(part) > 0 for part in parts):
        raise typer.BadParameter(f"--bits must be numbers such as 16,32, got {text!r}.")
    return sorted({int(part) for part in parts})


def _choose_methods(text: str, *, labeled: bool) -> list[str]:
    """Return the names of methods; without labels, only those that do not need them."""
    supervised = {name for name, kind in METHODS.items() if uses_labels(kind)}
    if text == "all":
        chosen = list(METHODS)
    elif text == "supervised":
        chosen = sorted(supervised)
    else:
        chosen = [part.strip().lower() for part in text.split(",")]
        for name in chosen:
            find_method(name)
    if labeled:
        return chosen
    usable = [name for name in chosen if name not in supervised]
    if not usable:
        raise typer.BadParameter(f"{', '.join(chosen)} cannot be used without labels.")
    return usable


def _print_result(done: list[dict[str, Any]], request: DataRequest) -> None:
    """Print the table, the limits of methods, a recommendation, and the command to go with it."""
    typer.echo(describe_data(done, request))
    typer.echo(f"{SEARCH_NOTE}; F1 is that within Hamming radius 2; µs to encode one row")
    make_console().print(make_table(done, is_labeled=request.is_labeled))
    for message in list_errors(done):
        typer.echo(f"– {message}")
    measure = FIRST_TEN[request.is_labeled]
    options = list_options(done, measure.name)
    best = choose_code(options)
    if best is None:
        return
    typer.echo(f"Recommended: {describe_option(best, measure.heading)}.")
    typer.echo(
        f"Rule: the shortest code whose {measure.heading} is within 0.01 of the best; among "
        "equals, the highest MAP."
    )
    other = choose_code(filter(is_unsupervised, options))
    if other is not None and not is_unsupervised(best):
        typer.echo(f"Without learning from labels: {describe_option(other, measure.heading)}.")
    typer.echo(format_next_step(best, request))


def describe_data(done: list[dict[str, Any]], request: DataRequest) -> str:
    """Return what was measured, for the heading of a table."""
    sizes = [record["result"] for record in done if "n_rows" in record["result"]]
    text = f"{request.data}: {request.n_queries:,} queries"
    if sizes:
        text += f" in {describe_sample(sizes[0]['n_rows'], sizes[0]['n_available'])}"
    return f"{text}; relevant: {request.relevant}"
