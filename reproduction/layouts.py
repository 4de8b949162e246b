"""How an artifact's records are laid out: tables beside the paper's, figures by code length."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from reproduction import figures as f
from reproduction import paper
from reproduction.methods import SCAN
from reproduction.paper import Compared, Reported
from reproduction.records import Record

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAP = ("map", "MAP %")
F1 = ("f1", "F1 in radius 2")
RECALL = ("recall", "recall % in radius 2")
ACCURACY = ("accuracy", "accuracy %")

NONE = "\N{EN DASH}"
"""Where there is no number."""

_UNCODED = "the vectors themselves"

BASES = {"random": "random", "kmedoids": "K-medians", "kmeans": "K-means"}


class Cell(NamedTuple):
    """A number here, the paper's, the difference, and whether that is beyond the deviation."""

    ours: str
    paper: str = ""
    difference: str = ""
    differs: bool = False


class Table(NamedTuple):
    """Heads, and lines of cells; ``folded`` if a page need not show it at once."""

    heads: list[str]
    rows: list[list[Cell]]
    title: str = ""
    folded: bool = False


class Shown(NamedTuple):
    """What an artifact is seen as, what of it stands beside the paper, and what to know of it."""

    figures: dict[str, Figure]
    tables: list[Table]
    compared: list[Compared] = []  # noqa: RUF012  (never changed)
    note: str = ""


def by_bits(*measures: tuple[str, str], stated: str = "") -> Callable[[list[Record]], Shown]:
    """Show measures against the code length, one panel each, and each data set by itself.

    ``stated`` names the artifact whose figures in the paper's text are shown beside ours.
    """

    def show(records: list[Record]) -> Shown:
        shown, tables = {}, []
        for data in dict.fromkeys(record["case"]["data"] for record in records):
            own = [_renamed(record) for record in records if record["case"]["data"] == data]
            parts = [(head, "bits", _across(own), name, f.n_bits) for name, head in measures]
            shown[data] = f.panels(parts)
            tables += [_numbers(own, data, measure) for measure in measures]
        compared = _stated(stated, records)
        beside = [_stated_table(compared)] if compared else []
        return Shown(shown, beside + tables, compared)

    return show


def _renamed(record: Record) -> Record:
    """Call vectors that were classified what they are: nothing was scanned there."""
    case = record["case"]
    if (case["method"], case["measure"]) != (SCAN, "classification"):
        return record
    return {**record, "case": {**case, "method": _UNCODED}}


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


def _numbers(records: list[Record], data: str, measure: tuple[str, str]) -> Table:
    """Write what a panel draws: methods down, code lengths across."""
    name, head = measure
    lengths = sorted({r["case"]["n_bits"] for r in records if r["case"]["n_bits"]})
    rows = []
    for method in f.methods(records):
        own = [r for r in records if r["case"]["method"] == method]
        at = [[r for r in own if r["case"]["n_bits"] in (n, 0)] for n in lengths]
        digits = 3 if name == "f1" else 2
        rows.append([Cell(method), *(Cell(_mean(group, name, digits)) for group in at)])
    title = f"{paper.DATA_NAMES.get(data, data)}: {head}, mean (standard deviation) by bits"
    return Table(["method", *map(str, lengths)], rows, title, folded=True)


def _stated(artifact: str, records: list[Record]) -> list[Compared]:
    """Set beside each other what the paper's text states and what came out."""
    found = []
    for measure, data, method, n_bits, reported in paper.STATED.get(artifact, []):
        own = [
            r
            for r in records
            if (r["case"]["data"], r["case"]["method"], r["case"]["n_bits"])
            == (data, method, n_bits)
        ]
        found += _compared(own, measure, reported)
    return found


def _stated_table(compared: Iterable[Compared]) -> Table:
    rows = [[Cell(describe(c)), _cell(c, 3 if c.measure == "f1" else 2)] for c in compared]
    return Table(["in the paper's text", "here"], rows)


def describe(compared: Compared) -> str:
    """Say what a number is of."""
    method = _UNCODED if compared.method == SCAN else compared.method
    bits = [f"{compared.n_bits} bits"] if compared.n_bits else []
    settings = [
        BASES.get(value, f"{name} = {value:,}" if isinstance(value, int) else f"{value}")
        for name, value in compared.options.items()
    ]
    data = paper.DATA_NAMES.get(compared.data, compared.data).split(",")[0]
    return ", ".join([method, *bits, *settings, data])


def show_base_method(records: list[Record]) -> Shown:
    """MAP by code length, way to choose the base set and method, beside Table I."""
    methods = ["IMH-LE_B", "IMH-LE", "IMH-tSNE", "AGH"]
    rows, compared = [], []
    for n_bits in sorted({r["case"]["n_bits"] for r in records}):
        for base, name in BASES.items():
            own = [r for r in records if _setting(r, "base") == (n_bits, base)]
            if not own:
                continue
            cells = []
            for method in methods:
                of_method = [r for r in own if r["case"]["method"] == method]
                reported = paper.BASE_METHOD.get((n_bits, base, method))
                found = _compared(of_method, "map", reported, base=base)
                compared += found
                cells.append(_cell(found[0]) if found else Cell(_mean(of_method, "map")))
            rows.append([Cell(str(n_bits)), Cell(name), *cells])
    figures = {"cifar10": f.beside_panels(_groups(compared, methods), "MAP %")} if compared else {}
    return Shown(figures, [Table(["bits", "base set", *methods], rows)], compared)


def _setting(record: Record, option: str) -> tuple[int, Any]:
    return record["case"]["n_bits"], dict(record["case"]["options"])[option]


def _groups(compared: list[Compared], methods: list[str]) -> dict[str, list[f.Beside]]:
    """Gather by method what to draw beside the paper's."""
    return {
        method: [
            f.Beside(
                f"{c.n_bits}\n{BASES[c.options['base']]}",
                (c.mean, c.deviation),
                (c.reported.mean, c.reported.deviation or 0.0),
            )
            for c in compared
            if c.method == method
        ]
        for method in methods
        if any(c.method == method for c in compared)
    }


def show_base_size_table(records: list[Record]) -> Shown:
    """MAP and times by the size of the base set, beside Table II."""
    tables, compared, figures = [], [], {}
    for data in dict.fromkeys(r["case"]["data"] for r in records):
        rows, of_data = [], []
        for i, m in enumerate(paper.BASE_SIZES):
            own = [
                r
                for r in records
                if (r["case"]["data"], dict(r["case"]["options"])["m"]) == (data, m)
            ]
            found = _compared(own, "map", Reported(paper.BASE_SIZE[data][i]), m=m)
            if not found:
                continue
            of_data += found
            rows.append([
                Cell(f"{m:,}"),
                _cell(found[0]),
                _time(own, "fit_seconds", paper.BASE_SIZE_SECONDS[data][i]),
                _time(own, "test_ms", paper.BASE_SIZE_MS[data][i]),
            ])  # fmt: skip
        heads = ["m", "MAP %", "training s", "test ms"]
        tables.append(Table(heads, rows, paper.DATA_NAMES[data]))
        compared += of_data
        points = [f.Point(c.options["m"], c.mean, c.deviation) for c in of_data]
        reported = [(c.options["m"], c.reported.mean) for c in of_data]
        if of_data:
            figures[data] = f.against_paper(points, reported, "base points m", "MAP %")
    return Shown(figures, tables, compared, paper.TIMES)


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
    rows = [(r["case"]["method"], r["result"]) for r in records if "tiles" in r["result"]]
    return Shown({"cifar10": f.strips(rows)}, [], note=_RED)


def show_digits(records: list[Record]) -> Shown:
    """What each distance retrieved."""
    result = records[0]["result"]
    shares = "; ".join(f"{way}: {of['share']:.1f} %" for way, of in result.items())
    note = f"{_RED} Right answers among the first ten, each digit being the query once: {shares}."
    return Shown({"mnist": f.strips(list(result.items()))}, [], note=note)


_RED = "The query comes first in each line; what is framed in red is of another class."


def show_plane(records: list[Record]) -> Shown:
    """The base set and all data in the plane."""
    return Shown({"mnist": f.plane_panels(records[0]["result"])}, [])


def show_curves(records: list[Record]) -> Shown:
    """Precision and recall against the number of retrieved items."""
    return Shown({records[0]["case"]["data"]: f.curve_panels(records)}, [])


def show_times(records: list[Record]) -> Shown:
    """Seconds to train and to encode a point, beside Table III."""
    heads = ["method", "train s, 64 bits", "train s, 128 bits", "test s, 64", "test s, 128"]
    columns = [("fit_seconds", 64), ("fit_seconds", 128), ("test_ms", 64), ("test_ms", 128)]
    rows, drawn = [], {}
    for method in f.methods(records):
        own = [r for r in records if r["case"]["method"] == method]
        cells = []
        for reported, (measure, n_bits) in zip(paper.SECONDS[method], columns, strict=True):
            at = [r for r in own if r["case"]["n_bits"] == n_bits]
            cells.append(_time(at, measure, reported, 1e-3 if measure == "test_ms" else 1))
            if (measure, n_bits) == ("fit_seconds", 64) and f.points(at, measure, f.n_bits):
                drawn[method] = (f.points(at, measure, f.n_bits)[0].mean, reported)
        rows.append([Cell(method), *cells])
    figures = {"mnist": f.time_dots(drawn, "seconds to train 64 bits")} if drawn else {}
    return Shown(figures, [Table(heads, rows)], note=paper.TIMES)


# Numbers


def _compared(
    records: list[Record], measure: str, reported: Reported | None, **options: Any
) -> list[Compared]:
    """Set a mean beside the paper's; nothing where either is not there."""
    gathered = f.points(records, measure, lambda _: 0.0)
    if not gathered or reported is None:
        return []
    case, point = records[0]["case"], gathered[0]
    place = (case["data"], case["method"], case["n_bits"], options)
    return [Compared(measure, *place, point.mean, point.deviation, reported)]


def _cell(compared: Compared, digits: int = 2) -> Cell:
    """Mean and deviation here, the paper's, and the difference."""
    stated = compared.reported.deviation
    theirs = f"{compared.reported.mean:g}" + ("" if stated is None else f" ({stated:g})")
    difference = f"{compared.difference:+.{digits}f}".replace("-", "\N{MINUS SIGN}")
    ours = f"{compared.mean:.{digits}f} ({compared.deviation:.{digits}f})"
    return Cell(ours, theirs, difference, compared.differs)


def _mean(records: list[Record], measure: str, digits: int = 2) -> str:
    gathered = f.points(records, measure, lambda _: 0.0)
    if not gathered:
        return NONE
    return f"{gathered[0].mean:.{digits}f} ({gathered[0].deviation:.{digits}f})"


def _time(records: list[Record], measure: str, reported: float, scale: float = 1.0) -> Cell:
    """A time beside the paper's, and how many times that it is."""
    gathered = f.points(records, measure, lambda _: 0.0)
    if not gathered:
        return Cell(NONE, _two_digits(reported))
    ours = scale * gathered[0].mean
    return Cell(_two_digits(ours), _two_digits(reported), f"× {ours / reported:.2g}")


def _two_digits(value: float) -> str:
    """Write two digits, or all before the point."""
    return f"{value:.2g}" if value < 100 else f"{value:,.0f}"
