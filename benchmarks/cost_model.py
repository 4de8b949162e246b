"""The cost model of docs/scaling.md: a fixed time and a time per row, by stage and place.

Everything here is arithmetic on records; nothing is measured. The largest size of each stage is
held out: the model is fitted to the others, and must predict it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import nnls

LOCAL, ONE_WORKER, TWO_WORKERS = "local", "1 worker", "2 workers"
PLACES = (LOCAL, ONE_WORKER, TWO_WORKERS)

FIT, FIT_ALL, ENCODE, INDEX, SEARCH = "fit", "fit on all rows", "encode", "index", "search"
STAGES = (FIT, FIT_ALL, ENCODE, INDEX, SEARCH)

EXTRAPOLATED_SIZES = (10**8, 10**9, 10**10)
"""Sizes that are not measured."""

CLUSTER_WORKERS = 64
"""Workers of the small cluster."""

MIN_SIZES = {INDEX: 1_000_000}
"""Smallest size of a stage that counts; smaller ones fit into the cache of a core."""

_MIN_POINTS = 3
"""Number of sizes that a line and a check need."""


class Line(NamedTuple):
    """Seconds as a function of rows."""

    fixed: float
    per_million: float

    def predict(self, n_rows: float) -> float:
        """Return the seconds for a number of rows."""
        return self.fixed + self.per_million * n_rows / 1e6


class Check(NamedTuple):
    """What the model predicts for the size that was held out, and what was measured."""

    n_rows: int
    predicted: float
    measured: float

    @property
    def factor(self) -> float:
        """Factor between both, at least 1."""
        return max(self.predicted / self.measured, self.measured / self.predicted)


class StageCost(NamedTuple):
    """The line of a stage at a place, and its check."""

    line: Line
    check: Check


Record = Mapping[str, Any]
Costs = dict[tuple[str, str], StageCost]
Times = dict[tuple[str, str], dict[int, float]]


def collect_times(records: Iterable[Record]) -> Times:
    """Return the seconds by (stage, place) and number of rows."""
    times: Times = {}
    for record in records:
        case = record["case"]
        for stage, seconds in record["result"]["seconds"].items():
            times.setdefault((stage, case["place"]), {})[case["n_rows"]] = seconds
    return times


def fit_line(points: Mapping[int, float]) -> Line:
    """Fit a line without negative terms by least squares of the relative errors."""
    n, seconds = np.array(list(points)), np.array(list(points.values()))
    (fixed, per_million), _ = nnls(np.stack([1 / seconds, n / 1e6 / seconds], 1), np.ones(len(n)))
    return Line(float(fixed), float(per_million))


def fit_costs(records: Iterable[Record]) -> Costs:
    """Fit every stage with enough sizes to all but the largest, which is its check."""
    costs: Costs = {}
    for key, sizes in collect_times(records).items():
        points = {n: seconds for n, seconds in sizes.items() if n >= MIN_SIZES.get(key[0], 0)}
        if len(points) >= _MIN_POINTS:
            largest = max(points)
            line = fit_line({n: seconds for n, seconds in points.items() if n != largest})
            costs[key] = StageCost(line, Check(largest, line.predict(largest), points[largest]))
    return costs


def predict_on_workers(costs: Costs, stage: str, n_rows: float, n_workers: int) -> float:
    """Return the seconds on a number of workers if further ones divide the work like the second."""
    one, two = costs[stage, ONE_WORKER].line, costs[stage, TWO_WORKERS].line
    efficiency = min(one.per_million / (2 * two.per_million), 1) if two.per_million else 1
    divided = one.per_million / (n_workers * efficiency) if n_workers > 1 else one.per_million
    return Line(two.fixed, divided).predict(n_rows)


def update_page(text: str, records: Sequence[Record]) -> str:
    """Return a page with the tables between its markers replaced."""
    times, costs = collect_times(records), fit_costs(records)
    tables = {
        "bytes": _make_bytes_table(records),
        "measured": _make_measured_tables(times),
        "model": _make_model_table(costs),
        "extrapolated": _make_extrapolated_table(costs),
        "laptop": _make_laptop_table(times, costs),
        "cluster": _make_cluster_table(costs),
    }
    for name, table in tables.items():
        text = _replace_part(text, name, table or _NOT_MEASURED)
    return text


_NOT_MEASURED = "Not measured yet; run `python -m benchmarks scaling`."


def _replace_part(text: str, name: str, part: str) -> str:
    """Return a page with the text between two markers replaced."""
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    if text.count(begin) != 1 or text.count(end) != 1:
        raise ValueError(f"The page must have one part between the markers of {name!r}.")
    before, after = text.split(begin)[0], text.split(end)[1]
    return f"{before}{begin}\n{part}\n\n{end}{after}"


def _make_bytes_table(records: Sequence[Record]) -> str:
    known = [record for record in records if "bytes" in record["result"]]
    if not known:
        return ""
    largest = max(known, key=lambda record: record["case"]["n_rows"])
    rows = [[name, f"{size:.2f}"] for name, size in largest["result"]["bytes"].items()]
    return _make_table(["bytes per row on disk", f"n = {largest['case']['n_rows']:,}"], rows)


def _make_measured_tables(times: Times) -> str:
    tables = []
    for stage in STAGES:
        sizes = sorted({n for place in PLACES for n in times.get((stage, place), {})})
        places = [place for place in PLACES if (stage, place) in times]
        rows = [
            [f"{n:,}", *(_format_seconds(times[stage, place].get(n)) for place in places)]
            for n in sizes
        ]
        if rows:
            tables.append(_make_table([f"{stage}, rows", *places], rows))
    return "\n\n".join(tables)


def _make_model_table(costs: Costs) -> str:
    head = ["stage", "where", "fixed, s", "s per million rows", "held out", "predicted", "measured"]
    rows = []
    for stage, place in ((s, p) for s in STAGES for p in PLACES if (s, p) in costs):
        (fixed, per_million), check = costs[stage, place]
        values = [_format_seconds(check.predicted), _format_seconds(check.measured)]
        line = [f"{fixed:.2f}", f"{per_million:.3g}", f"{check.n_rows:,}"]
        rows.append([stage, place, *line, *values])
    return _make_table(head, rows, n_left=2) if rows else ""


def _list_cluster_stages(costs: Costs) -> list[str]:
    """Return the stages that were measured with one and two workers."""
    return [
        stage
        for stage in (FIT, FIT_ALL, ENCODE, SEARCH)
        if {(stage, ONE_WORKER), (stage, TWO_WORKERS)} <= costs.keys()
    ]


def _make_extrapolated_table(costs: Costs) -> str:
    stages = _list_cluster_stages(costs)
    head = ["rows", "codes of 64 bits", "workers", *stages]
    rows = [
        [f"{n:,}", _format_bytes(8 * n), str(n_workers),
         *(_format_seconds(predict_on_workers(costs, stage, n, n_workers)) for stage in stages)]
        for n in EXTRAPOLATED_SIZES for n_workers in (2, CLUSTER_WORKERS)
    ]  # fmt: skip
    return _make_table(head, rows) if stages else ""


def _make_laptop_table(times: Times, costs: Costs) -> str:
    n = 10**7
    rows = []
    for stage in (FIT, ENCODE, INDEX, SEARCH):
        seconds = times.get((stage, LOCAL), {}).get(n)
        if seconds is not None:
            rows.append([stage, _format_seconds(seconds), "measured"])
        elif (stage, LOCAL) in costs:
            predicted = costs[stage, LOCAL].line.predict(n)
            rows.append([stage, _format_seconds(predicted), "predicted by the model"])
    return _make_table([f"{n:,} rows on 2 cores", "time", "source"], rows) if rows else ""


def _make_cluster_table(costs: Costs) -> str:
    n = 10**9
    rows = [
        [stage, _format_seconds(predict_on_workers(costs, stage, n, CLUSTER_WORKERS))]
        for stage in _list_cluster_stages(costs)
    ]
    head = [f"{n:,} rows on {CLUSTER_WORKERS} workers", "extrapolated"]
    return _make_table(head, rows) if rows else ""


def _make_table(head: list[str], rows: list[list[str]], n_left: int = 1) -> str:
    """Return a Markdown table whose first columns are aligned to the left."""
    rule = ["---"] * n_left + ["---:"] * (len(head) - n_left)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [head, rule, *rows])


def _format_seconds(value: float | None) -> str:
    if value is None:
        return "–"
    for unit, length in (("days", 86400), ("h", 3600), ("min", 60)):
        if value >= 2 * length:
            return f"{value / length:.3g} {unit}"
    return f"{value:.3g} s"


def _format_bytes(n_bytes: float) -> str:
    unit, scale = ("GB", 1e9) if n_bytes >= 1e9 else ("MB", 1e6)
    return f"{n_bytes / scale:,.3g} {unit}"
