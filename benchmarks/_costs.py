"""The cost model of docs/scaling.md: a fixed time and a time a row, for each stage and place.

Everything here is arithmetic on records; nothing is measured. The largest size of each stage is
held out: the constants come from the others, and must foretell it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from reproduction.records import Record
from scipy.optimize import nnls

LOCAL, ONE, TWO = "local", "1 worker", "2 workers"
PLACES = (LOCAL, ONE, TWO)

FIT, FIT_ALL, ENCODE, INDEX, SEARCH = "fit", "fit on all rows", "encode", "index", "search"
STAGES = (FIT, FIT_ALL, ENCODE, INDEX, SEARCH)

BEYOND = (10**8, 10**9, 10**10)
"""Sizes that the model alone speaks of."""

SMALL_CLUSTER = 64
"""Workers of the second plan."""

IN_MEMORY = {INDEX: 1_000_000}
"""Sizes from which on a stage is as fast as memory: smaller ones, which a core's cache holds, say
nothing of larger ones."""

_FEWEST = 3
"""Sizes without which there is no line and a point to check it by."""


class Line(NamedTuple):
    """Seconds as a function of rows."""

    fixed: float
    per_million: float

    def seconds(self, n: float) -> float:
        """What n rows take."""
        return self.fixed + self.per_million * n / 1e6


class Check(NamedTuple):
    """What the model said of the size that was held out, and what was measured."""

    n: int
    foretold: float
    measured: float

    @property
    def factor(self) -> float:
        """How many times one is the other."""
        return max(self.foretold / self.measured, self.measured / self.foretold)


class Cost(NamedTuple):
    """A stage at a place: the line, and how it did."""

    line: Line
    check: Check


Costs = dict[tuple[str, str], Cost]
Times = dict[tuple[str, str], dict[int, float]]


def times(records: Iterable[Record]) -> Times:
    """Seconds by (stage, place) and number of rows."""
    found: Times = {}
    for record in records:
        for stage, seconds in record["result"]["seconds"].items():
            sizes = found.setdefault((stage, record["case"]["method"]), {})
            sizes[record["case"]["rows"]] = seconds
    return found


def line(points: Mapping[int, float]) -> Line:
    """Fit a line without negative terms, the same relative error counting alike at every size."""
    n, seconds = np.array(list(points)), np.array(list(points.values()))
    (fixed, per_million), _ = nnls(np.stack([1 / seconds, n / 1e6 / seconds], 1), np.ones(len(n)))
    return Line(float(fixed), float(per_million))


def costs(measured: Times) -> Costs:
    """Fit every stage that has enough sizes to all but the largest, which checks it."""
    found: Costs = {}
    for key, sizes in measured.items():
        points = {n: took for n, took in sizes.items() if n >= IN_MEMORY.get(key[0], 0)}
        if len(points) >= _FEWEST:
            held_out = max(points)
            fitted = line({n: took for n, took in points.items() if n != held_out})
            check = Check(held_out, fitted.seconds(held_out), points[held_out])
            found[key] = Cost(fitted, check)
    return found


def on_workers(found: Costs, stage: str, n: float, workers: int) -> float:
    """Seconds on so many workers, if more of them divide the work as the second did."""
    one, two = found[stage, ONE].line, found[stage, TWO].line
    share = min(one.per_million / (2 * two.per_million), 1) if two.per_million else 1
    divided = one.per_million / (workers * share) if workers > 1 else one.per_million
    return Line(two.fixed, divided).seconds(n)


def page(text: str, records: list[Record]) -> str:
    """Return a page with the parts between its markers written anew from the records."""
    measured = times(records)
    found = costs(measured)
    parts = {
        "bytes": _bytes(records),
        "measured": _measured(measured),
        "model": _model(found),
        "beyond": _beyond(found),
        "laptop": _laptop(measured, found),
        "cluster": _cluster(found),
    }
    for name, part in parts.items():
        text = _replaced(text, name, part or _NOTHING)
    return text


_NOTHING = "Not measured yet: `python -m benchmarks scaling` does."


def _replaced(text: str, name: str, part: str) -> str:
    """Return the page with another part between two markers."""
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    if text.count(begin) != 1 or text.count(end) != 1:
        raise ValueError(f"the page must have one part {name!r} between its markers.")
    before, after = text.split(begin)[0], text.split(end)[1]
    return f"{before}{begin}\n{part}\n\n{end}{after}"


def _bytes(records: list[Record]) -> str:
    known = [record for record in records if "bytes" in record["result"]]
    if not known:
        return ""
    largest = max(known, key=lambda record: record["case"]["rows"])
    rows = [[what, f"{size:.2f}"] for what, size in largest["result"]["bytes"].items()]
    return _table(["bytes a row, by the files", f"n = {largest['case']['rows']:,}"], rows)


def _measured(measured: Times) -> str:
    tables = []
    for stage in STAGES:
        sizes = sorted({n for place in PLACES for n in measured.get((stage, place), {})})
        own = [place for place in PLACES if (stage, place) in measured]
        rows = [
            [f"{n:,}", *(_seconds(measured[stage, place].get(n)) for place in own)] for n in sizes
        ]
        if rows:
            tables.append(_table([f"{stage}, rows", *own], rows))
    return "\n\n".join(tables)


def _model(found: Costs) -> str:
    head = ["stage", "where", "fixed, s", "s a million rows", "held out", "foretold", "measured"]
    ordered = [(stage, place) for stage in STAGES for place in PLACES if (stage, place) in found]
    rows = []
    for stage, place in ordered:
        (fixed, per_million), check = found[stage, place]
        told = [_seconds(check.foretold), _seconds(check.measured)]
        rows.append([stage, place, f"{fixed:.2f}", f"{per_million:.3g}", f"{check.n:,}", *told])
    return _table(head, rows, left=2) if rows else ""


def _beyond(found: Costs) -> str:
    stages = [s for s in (FIT, FIT_ALL, ENCODE, SEARCH) if {(s, ONE), (s, TWO)} <= found.keys()]
    head = ["rows", "codes of 64 bits", "workers", *stages]
    rows = [
        [f"{n:,}", _size(8 * n), str(workers),
         *(_seconds(on_workers(found, stage, n, workers)) for stage in stages)]
        for n in BEYOND for workers in (2, SMALL_CLUSTER)
    ]  # fmt: skip
    return _table(head, rows) if stages else ""


def _laptop(measured: Times, found: Costs) -> str:
    n = 10**7
    rows = []
    for stage in (FIT, ENCODE, INDEX, SEARCH):
        took = measured.get((stage, LOCAL), {}).get(n)
        if took is not None:
            rows.append([stage, _seconds(took), "measured"])
        elif (stage, LOCAL) in found:
            foretold = found[stage, LOCAL].line.seconds(n)
            rows.append([stage, _seconds(foretold), "foretold by the model"])
    return _table([f"{n:,} rows on 2 cores", "time", "how it is known"], rows) if rows else ""


def _cluster(found: Costs) -> str:
    n = 10**9
    rows = [
        [stage, _seconds(on_workers(found, stage, n, SMALL_CLUSTER))]
        for stage in (FIT, FIT_ALL, ENCODE, SEARCH)
        if {(stage, ONE), (stage, TWO)} <= found.keys()
    ]
    return _table([f"{n:,} rows on {SMALL_CLUSTER} workers", "extrapolated"], rows) if rows else ""


def _table(head: list[str], rows: list[list[str]], left: int = 1) -> str:
    rule = ["---"] * left + ["---:"] * (len(head) - left)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [head, rule, *rows])


def _seconds(value: float | None) -> str:
    if value is None:
        return "–"
    for unit, length in (("days", 86400), ("h", 3600), ("min", 60)):
        if value >= 2 * length:
            return f"{value / length:.3g} {unit}"
    return f"{value:.3g} s"


def _size(n_bytes: float) -> str:
    unit, scale = ("GB", 1e9) if n_bytes >= 1e9 else ("MB", 1e6)
    return f"{n_bytes / scale:,.3g} {unit}"


def result(seconds: dict[str, float], n_bytes: dict[str, float] | None = None) -> dict[str, Any]:
    """Return what a record keeps of a run."""
    return {"seconds": seconds} | ({"bytes": n_bytes} if n_bytes else {})
