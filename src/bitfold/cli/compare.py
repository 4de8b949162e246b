"""``bitfold compare``: compare methods and code lengths on your data, and recommend one."""

from __future__ import annotations

import inspect
import json
import shlex
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from typer import Argument, Option

from bitfold import datasets
from bitfold._types import AnyArray, Float32Array, ProgressCallback
from bitfold.cli import _inputs
from bitfold.cli._comparison_table import Recommendation, list_errors, make_table, recommend
from bitfold.cli._inputs import LABEL_FORMATS, VECTOR_FORMATS
from bitfold.cli._methods import COSINE_HELP, METHODS, HasherSpec, find_method, uses_labels
from bitfold.cli._terminal import make_console, show_progress
from bitfold.codes import count_bytes
from bitfold.datasets import Dataset, draw_queries
from bitfold.evaluation import evaluate, warm_up
from bitfold.io import Rows
from bitfold.io.records import RunRecords

DATASETS: dict[str, Callable[..., Dataset]] = {
    "digits": datasets.digits,
    "mnist": datasets.mnist,
    "cifar10": datasets.cifar10,
    **{f"manifold-{d}": partial(datasets.manifold, n_features=d) for d in (10, 16, 32, 64)},
    "sift1m": datasets.sift1m,
    "gist1m": datasets.gist1m,
}

UNLABELED_DATASETS = ("sift1m", "gist1m")
"""Data sets in which the closest rows are relevant, not the items with the same label."""

MAX_QUERIES = 1000
"""Default number of queries; for a file, at most a tenth of its rows."""


def compare(
    data: Annotated[
        str,
        Argument(
            help=f"Data set (digits, mnist, cifar10, manifold-10, …) or file: {VECTOR_FORMATS}."
        ),
    ],
    labels: Annotated[
        Path | None, Option(help=f"Labels of the rows of a file: {LABEL_FORMATS}.")
    ] = None,
    bits: Annotated[str, Option(help="Code lengths.")] = "16,32,64,128",
    methods: Annotated[
        str, Option(help="Methods such as imh,itq; all; or supervised, which learn from labels.")
    ] = "all",
    queries: Annotated[
        int | None,
        Option(min=1, help="Rows to hold out; by default 1000, or a tenth of a small file."),
    ] = None,
    rows: Annotated[
        int, Option(min=0, help="Rows to search in, chosen at random; 0 takes all.")
    ] = 0,
    cosine: Annotated[bool, Option("--cosine", help=COSINE_HELP)] = False,
    repeats: Annotated[int, Option(min=1, help="Number of seeds to average over.")] = 1,
    records: Annotated[
        Path | None,
        Option(help="JSON-lines file: results are appended, existing ones not repeated."),
    ] = None,
    as_json: Annotated[bool, Option("--json", help="Print one JSON line per run.")] = False,
) -> None:
    """Compare methods and code lengths on your data, and recommend one.

    Items with the label of the query are relevant; without labels, the closest 2 percent of the
    rows in ℓ2, or by cosine with --cosine.

    Example: bitfold compare vectors.npy --labels labels.npy --bits 16,32,64
    """
    lengths = _parse_lengths(bits)
    request = CompareRequest.create(data, labels, queries, rows, cosine)
    chosen = _choose_methods(methods, labeled=request.is_labeled)
    runs = [
        CompareRun(
            data=data,
            method=METHODS[method].__name__,
            n_bits=n_bits,
            seed=seed,
            n_queries=request.n_queries,
            n_rows=rows,
            labels=str(labels or ""),
            fingerprint=request.fingerprint,
            cosine=cosine,
        )
        for method in chosen
        for n_bits in lengths
        for seed in range(repeats)
    ]
    done = _run_missing(runs, request, RunRecords(records))
    if as_json:
        for record in done:
            typer.echo(json.dumps(record))
    else:
        _print_result(done, request)


@dataclass(frozen=True)
class CompareRun:
    """One method, code length and seed on one data set."""

    data: str
    method: str
    n_bits: int
    seed: int
    n_queries: int
    n_rows: int
    labels: str
    fingerprint: str
    cosine: bool


class CompareRequest(NamedTuple):
    """The data of a comparison, and what is relevant in them."""

    data: str
    labels: Path | None
    n_queries: int
    n_rows: int
    is_labeled: bool
    fingerprint: str
    cosine: bool

    @classmethod
    def create(
        cls, data: str, labels: Path | None, n_queries: int | None, n_rows: int, cosine: bool
    ) -> CompareRequest:
        """Check the data set or the files, and choose the number of queries."""
        if data in DATASETS:
            if labels is not None:
                raise typer.BadParameter(f"--labels cannot be used with the data set {data}.")
            is_labeled = data not in UNLABELED_DATASETS
            return cls(data, None, n_queries or MAX_QUERIES, n_rows, is_labeled, "", cosine)
        path = Path(data)
        if data == "-" or not _inputs.InputRef.parse(path).path.exists():
            known = ", ".join(DATASETS)
            raise typer.BadParameter(f"{data!r} is neither a file nor a data set ({known}).")
        _inputs.check_exists(labels)
        n_queries = n_queries or min(MAX_QUERIES, max(1, _inputs.open_vectors(path).shape[0] // 10))
        stamps = " ".join(_inputs.fingerprint(file) for file in (path, labels) if file is not None)
        return cls(data, labels, n_queries, n_rows, labels is not None, stamps, cosine)

    @property
    def is_file(self) -> bool:
        """Whether the data are a file rather than a named data set."""
        return self.data not in DATASETS

    @property
    def title(self) -> str:
        """What was measured, for the heading of the table."""
        closest = f"the closest 2 percent{' by cosine' if self.cosine else ''}"
        relevant = "items with the same label" if self.is_labeled else closest
        rows = f" in {self.n_rows:,} rows" if self.n_rows else ""
        return f"{self.data}: {self.n_queries:,} queries{rows}; relevant: {relevant}"

    def load(self, progress: ProgressCallback) -> Dataset:
        """Load the data."""
        dataset = self._read_files() if self.is_file else self._load_named(progress)
        return _scale_rows(dataset) if self.cosine else dataset

    def _load_named(self, progress: ProgressCallback) -> Dataset:
        """Load a data set by name."""
        loader = DATASETS[self.data]
        shows_progress = "progress" in inspect.signature(loader).parameters
        options = {"progress": progress} if shows_progress else {}
        dataset = loader(n_queries=self.n_queries, **options)
        if not self.n_rows:
            return dataset
        # The rows of a data set are in random order.
        rows = slice(0, self.n_rows)
        labels = None if dataset.labels is None else dataset.labels[rows]
        return Dataset(dataset.database[rows], dataset.queries, labels, dataset.query_labels)

    def _read_files(self) -> Dataset:
        """Hold out random rows of a file as queries."""
        X = _inputs.read_vectors(Path(self.data))
        rows, query_rows = draw_queries(len(X), self.n_queries, owner="compare")
        rows, query_rows = np.sort(rows[: self.n_rows or None]), np.sort(query_rows)
        if self.labels is None:
            return Dataset(X[rows], X[query_rows])
        y = _inputs.read_labels(self.labels, len(X))
        return Dataset(X[rows], X[query_rows], y[rows], y[query_rows])


def _scale_rows(dataset: Dataset) -> Dataset:
    """Scale all vectors to unit length, so that the closest rows are those by cosine."""
    database, queries = _to_unit_length(dataset.database), _to_unit_length(dataset.queries)
    is_shared = dataset.train is dataset.database
    train = database if is_shared else _to_unit_length(dataset.train)
    return replace(dataset, database=database, queries=queries, train=train, neighbors=None)


def _to_unit_length(vectors: AnyArray) -> Float32Array:
    center = np.zeros(vectors.shape[1], np.float32)
    return Rows(vectors, center, "compare", normalize=True).take(np.arange(len(vectors)))


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


def _run_missing(
    runs: list[CompareRun], request: CompareRequest, records: RunRecords
) -> list[dict[str, Any]]:
    """Run what has no record yet, with progress; return the records of all runs."""
    missing = [run for run in runs if run not in records]
    if not missing:
        return [records[run] for run in runs]
    with show_progress() as display:
        with display.bar(f"load {request.data}", remove=True) as report:
            dataset = request.load(report)
        advance = display.counter("runs", len(missing))

        def work(run: CompareRun) -> dict[str, Any]:
            with display.bar(f"{run.method}, {run.n_bits} bits", remove=True) as report:
                result = _evaluate(run, dataset, report)
            advance()
            return result

        return records.run_missing(runs, work)


def _evaluate(run: CompareRun, dataset: Dataset, progress: ProgressCallback) -> dict[str, Any]:
    """Run one method, and return its result for the record."""
    spec = HasherSpec(run.method, run.n_bits, seed=run.seed, cosine=run.cosine)
    hasher = spec.build(labeled=False)
    # Defaults that do not suit small data were not chosen by the user.
    with warnings.catch_warnings(action="ignore"):
        warm_up(hasher, dataset)
        return evaluate(hasher, dataset, progress=progress).to_record()


def _print_result(done: list[dict[str, Any]], request: CompareRequest) -> None:
    """Print the table, the limits of methods, and a recommendation."""
    typer.echo(request.title)
    typer.echo("MAP in percent, F1 within radius 2, seconds to fit, µs to encode one row, by bits")
    make_console().print(make_table(done))
    for message in list_errors(done):
        typer.echo(f"– {message}")
    best = recommend(done)
    if best is None:
        return
    typer.echo(f"Recommended: {_format(best)}; the shortest codes within 1 point of the best MAP.")
    if uses_labels(find_method(best.method)):
        plain = [r for r in done if not uses_labels(find_method(r["case"]["method"]))]
        if (other := recommend(plain)) is not None:
            typer.echo(f"Without learning from labels: {_format(other)}.")
    if request.is_file:
        typer.echo(f"Next step: {_format_fit_command(best, request)}")


def _format(best: Recommendation) -> str:
    """Return a recommendation in words."""
    n_bytes = count_bytes(best.n_bits)
    unit = "byte" if n_bytes == 1 else "bytes"
    return f"{best.method} with {best.n_bits} bits ({n_bytes} {unit} per row, MAP {best.map:.1f} %)"


def _format_fit_command(best: Recommendation, request: CompareRequest) -> str:
    """Return the command that fits the recommended method."""
    words = ["bitfold", "fit", request.data]
    if uses_labels(find_method(best.method)):
        words += ["--labels", str(request.labels)]
    words += ["--method", best.method.lower(), "--bits", str(best.n_bits)]
    if request.cosine:
        words.append("--cosine")
    return shlex.join([*words, "--out", "model.bitfold"])
