"""Runs of several methods on the same data, with progress and records."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bitfold._types import ProgressCallback
from bitfold.cli._methods import HasherSpec
from bitfold.cli._quality_table import format_share
from bitfold.cli._sampled_data import DataRequest, SampledData
from bitfold.cli._terminal import ProgressDisplay, show_progress
from bitfold.cli._time_left import TimedRun, estimate_seconds, format_seconds
from bitfold.evaluation import evaluate, warm_up
from bitfold.evaluation.top_quality import N_NEAREST
from bitfold.io.records import RunRecords


@dataclass(frozen=True)
class MethodRun:
    """One method, code length and seed on one data set; 0 bits are as many as possible.

    ``n_first`` is part of the identity of a run: records without measures of first hits are old.
    """

    data: str
    method: str
    n_bits: int
    seed: int
    n_queries: int
    n_rows: int
    labels: str
    fingerprint: str
    cosine: bool = False
    n_first: int = N_NEAREST

    @classmethod
    def create(cls, request: DataRequest, method: str, n_bits: int, seed: int = 0) -> MethodRun:
        """Return a run on the requested data."""
        return cls(
            data=request.data,
            method=method,
            n_bits=n_bits,
            seed=seed,
            n_queries=request.n_queries,
            n_rows=request.max_rows,
            labels=str(request.labels or ""),
            fingerprint=request.fingerprint,
            cosine=request.cosine,
        )

    @property
    def title(self) -> str:
        """Method and code length in words."""
        return f"{self.method}, {self.n_bits or 'most'} bits"


def run_methods(
    runs: list[MethodRun], request: DataRequest, records: RunRecords
) -> list[dict[str, Any]]:
    """Run what has no record yet, with progress; return the records of all runs."""
    missing = [run for run in runs if run not in records]
    if not missing:
        return [records[run] for run in runs]
    with show_progress() as display:
        with display.bar(f"load {request.data}", remove=True) as report:
            data = request.load(report)
        series = RunSeries(missing, display)

        def work(run: MethodRun) -> dict[str, Any]:
            with display.bar(run.title, remove=True) as report:
                start = time.perf_counter()
                try:
                    result = measure_run(run, data, report)
                except ValueError as error:
                    series.finish(run, time.perf_counter() - start, {"error": str(error)})
                    raise
                series.finish(run, time.perf_counter() - start, result)
            return result

        return records.run_missing(runs, work)


class RunSeries:
    """Counts finished runs: on a terminal with the time left, otherwise with one line per run."""

    def __init__(self, runs: Sequence[MethodRun], display: ProgressDisplay) -> None:
        self._runs = list(runs)
        self._finished: list[TimedRun] = []
        self._display = display
        self._advance = display.counter("runs", len(runs))

    def finish(self, run: MethodRun, seconds: float, result: dict[str, Any]) -> None:
        """Show that a run has finished."""
        self._finished.append(TimedRun(run.method, run.n_bits, seconds))
        n_done, n_runs = len(self._finished), len(self._runs)
        left = [(each.method, each.n_bits) for each in self._runs[n_done:]]
        seconds_left = estimate_seconds(self._finished, left) if left else None
        note = "" if seconds_left is None else format_seconds(seconds_left)
        self._advance(note)
        line = f"{n_done} of {n_runs}: {run.title}: {describe_result(result)}"
        self._display.line(f"{line}; {note}" if note else line)


def measure_run(run: MethodRun, data: SampledData, progress: ProgressCallback) -> dict[str, Any]:
    """Run one method, and return its result for the record."""
    spec = HasherSpec(run.method, run.n_bits or None, seed=run.seed, cosine=run.cosine)
    hasher = spec.build(labeled=False)
    # Defaults that do not suit small data were not chosen by the user.
    with warnings.catch_warnings(action="ignore"):
        if run.n_bits:
            warm_up(hasher, data.dataset)
        result = evaluate(hasher, data.dataset, exact=data.exact, progress=progress)
    return {
        **result.to_record(),
        "n_bits": result.n_bits,
        "n_rows": len(data.dataset.database),
        "n_available": data.n_available,
    }


def describe_result(result: dict[str, Any]) -> str:
    """Return the most important measures of a run in one line."""
    if "error" in result:
        return str(result["error"])
    names = (("precision_10", "P@10"), ("recall_10", "recall@10"))
    shown = [
        f"{heading} {format_share(result[name])}"
        for name, heading in names
        if result[name] is not None
    ]
    return ", ".join(
        [*shown, f"MAP {result['search_map']:.3f}", f"fit {result['fit_seconds']:.1f} s"]
    )
