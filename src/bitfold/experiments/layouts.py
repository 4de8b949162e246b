"""How an artefact's records are laid out: tables beside the paper's, figures by code length."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from matplotlib.figure import Figure

from bitfold.experiments import figures as f
from bitfold.experiments import paper
from bitfold.experiments.records import Record

MAP = ("map", "MAP %")
F1 = ("f1", "F1 in radius 2")
RECALL = ("recall", "recall % in radius 2")


class Table(NamedTuple):
    """Heads, and lines of text."""

    heads: list[str]
    rows: list[list[str]]


class Shown(NamedTuple):
    """What an artefact is seen as."""

    figures: dict[str, Figure]
    tables: list[Table]


def by_bits(*measures: tuple[str, str]) -> Callable[[list[Record]], Shown]:
    """Show measures against the code length, one panel each, and each data set by itself."""

    def show(records: list[Record]) -> Shown:
        shown = {}
        for data in dict.fromkeys(record["case"]["data"] for record in records):
            own = [record for record in records if record["case"]["data"] == data]
            own = _across(own)
            parts = [(head, "bits", own, name, f.n_bits) for name, head in measures]
            shown[data] = f.panels(parts)
        return Shown(shown, [])

    return show


def _across(records: list[Record]) -> list[Record]:
    """Let what has no code length, the exact scan, go across the whole figure."""
    lengths = [r["case"]["n_bits"] for r in records if r["case"]["n_bits"]]
    ends = {min(lengths), max(lengths)} if lengths else set()
    flat = [
        {**r, "case": {**r["case"], "n_bits": end}}
        for r in records
        if not r["case"]["n_bits"]
        for end in ends
    ]
    return [r for r in records if r["case"]["n_bits"]] + flat


def show_base_method(records: list[Record]) -> Shown:
    """MAP by code length, way to choose the base set and method, beside Table I."""
    heads = ["bits", "base set", "IMH-LE_B", "IMH-LE", "IMH-tSNE", "AGH"]
    rows = []
    settings = dict.fromkeys(
        (r["case"]["n_bits"], dict(r["case"]["options"])["base"])
        for r in sorted(records, key=lambda r: r["case"]["n_bits"])
    )
    for n_bits, base in settings:
        own = [
            r
            for r in records
            if (r["case"]["n_bits"], dict(r["case"]["options"])["base"]) == (n_bits, base)
        ]
        cells = [
            beside_paper(
                [r for r in own if r["case"]["method"] == method],
                "map",
                paper.BASE_METHOD.get((n_bits, base, method)),
            )
            for method in heads[2:]
        ]
        rows.append([str(n_bits), base, *cells])
    return Shown({}, [Table(heads, rows)])


def show_base_size_table(records: list[Record]) -> Shown:
    """MAP and times by the size of the base set, beside Table II."""
    tables = []
    for data in dict.fromkeys(r["case"]["data"] for r in records):
        rows = []
        for i, m in enumerate(paper.BASE_SIZES):
            own = [
                r
                for r in records
                if (r["case"]["data"], dict(r["case"]["options"])["m"]) == (data, m)
            ]
            if own:
                reported = (paper.BASE_SIZE, paper.BASE_SIZE_SECONDS, paper.BASE_SIZE_MS)
                maps, seconds, ms = (paper.Reported(column[data][i]) for column in reported)
                rows.append([
                    f"{m:,}",
                    beside_paper(own, "map", maps),
                    beside_paper(own, "fit_seconds", seconds),
                    beside_paper(own, "test_ms", ms, 4),
                ])  # fmt: skip
        tables.append(Table([f"m, {data}", "MAP %", "training s", "test ms"], rows))
    return Shown({}, tables)


def show_base_size_figure(records: list[Record]) -> Shown:
    """MAP against the number of base points, and of those that carry a point."""
    options = [dict(r["case"]["options"]) for r in records]
    by_m = [r for r, o in zip(records, options, strict=True) if o["k"] == 5]
    by_k = [r for r, o in zip(records, options, strict=True) if o["m"] == 400]
    return Shown({
        "cifar10": f.panels([
            ("MAP %, k = 5", "base points m", by_m, "map", f.option("m")),
            ("MAP %, m = 400", "nearest base points k", by_k, "map", f.option("k")),
        ])
    }, [])  # fmt: skip


def show_retrieved(records: list[Record]) -> Shown:
    """What each method retrieved."""
    rows = [(r["case"]["method"], r["result"]) for r in records]
    return Shown({"cifar10": f.strips(rows)}, [])


def show_digits(records: list[Record]) -> Shown:
    """What each distance retrieved."""
    return Shown({"mnist": f.strips(list(records[0]["result"].items()))}, [])


def show_plane(records: list[Record]) -> Shown:
    """The base set and all data in the plane."""
    return Shown({"mnist": f.plane_panels(records[0]["result"])}, [])


def show_times(records: list[Record]) -> Shown:
    """Seconds to train and to encode a point, beside Table III."""
    heads = ["method", "train s, 64 bits", "train s, 128 bits", "test s, 64", "test s, 128"]
    rows = []
    for method in f.methods(records):
        cells = []
        for i, (measure, n_bits) in enumerate(
            [("fit_seconds", 64), ("fit_seconds", 128), ("test_ms", 64), ("test_ms", 128)]
        ):
            own = [
                r for r in records if (r["case"]["method"], r["case"]["n_bits"]) == (method, n_bits)
            ]
            values = [r["result"][measure] for r in own if measure in r["result"]]
            scale = 1e-3 if measure == "test_ms" else 1
            ours = f"{scale * sum(values) / len(values):.2g}" if values else "–"
            cells.append(f"{ours} (paper {paper.SECONDS[method][i]:.2g})")
        rows.append([method, *cells])
    return Shown({}, [Table(heads, rows)])


def beside_paper(
    records: list[Record], measure: str, reported: paper.Reported | None, digits: int = 2
) -> str:
    """Mean and deviation here, the paper's, and the difference."""
    gathered = f.points(records, measure, lambda _: 0.0)
    if not gathered:
        return "\N{EN DASH}"
    (point,) = gathered
    ours = f"{point.mean:.{digits}f} ({point.deviation:.{digits}f})"
    if reported is None:
        return ours
    difference = f"{point.mean - reported.mean:+.{digits}f}"
    return f"{ours}, paper {reported.mean:g}, {difference}"


def show_curves(records: list[Record]) -> Shown:
    """Precision and recall against the number of retrieved items."""
    return Shown({records[0]["case"]["data"]: f.curve_panels(records)}, [])
