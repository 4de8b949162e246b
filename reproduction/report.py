"""The report: every artifact on one page, beside what the paper says."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from html import escape
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any, NamedTuple

from bitfold.io.atomic import replace_atomically
from reproduction import paper
from reproduction.artifacts import CALIBRATED, MANY, Artifact, Protocol
from reproduction.claims import CLAIMS, Verdict, judge
from reproduction.layouts import Cell, Shown, Table, describe
from reproduction.packing import in_palette, inline_in_palette
from reproduction.paper import Compared
from reproduction.records import Case, Record
from reproduction.shown import setting
from reproduction.tables import refusals

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ASKING = ("retrieval", "scan", "classification")
"""Measures that are means over all queries."""

_CLASSES = {True: "yes", False: "no", None: "none"}


class Part(NamedTuple):
    """An artifact, its records, and what the claims about it come to."""

    artifact: Artifact
    records: list[Record]
    verdicts: list[Verdict]

    @property
    def small(self) -> bool:
        """Whether only a part of the data was used, which says nothing of the paper's figures."""
        return any(record["case"]["rows"] for record in self.records)

    @classmethod
    def of(cls, artifact: Artifact, records: list[Record]) -> Part:
        """Hold the claims about an artifact against its records."""
        part = cls(artifact, records, [])
        judged = judge(CLAIMS.get(artifact.name, []), [] if part.small else records)
        return part._replace(verdicts=judged)


def write_report(
    folder: Path, artifacts: Iterable[Artifact], records: Mapping[str, list[Record]], command: str
) -> Path:
    """Write figures (PNG and SVG) and the page; ``records`` are those of each artifact."""
    folder.mkdir(parents=True, exist_ok=True)
    parts = [Part.of(a, records[a.name]) for a in artifacts if records.get(a.name)]
    sections = [_section(folder, part) for part in parts]
    template = files("reproduction").joinpath("page.html").read_text("utf-8")
    page = Template(template).substitute(
        command=escape(command),
        summary=_summary(parts),
        settings=escape(_settings()),
        contents="\n".join(map(_entry, parts)),
        sections="\n".join(sections),
    )
    path = folder / "index.html"
    with replace_atomically(path) as file:
        file.write(page.encode())
    return path


def _summary(parts: list[Part]) -> str:
    """Say how many claims hold."""
    verdicts = [verdict.holds for part in parts for verdict in part.verdicts]
    held, failed, unknown = (verdicts.count(holds) for holds in (True, False, None))
    left = f" {unknown} could not be judged yet." if unknown else ""
    return f"Of {len(verdicts)} claims {held} hold and {failed} do not.{left}"


def _settings() -> str:
    """Say what was chosen where the paper says nothing."""
    chosen = [
        f"{name} = {value} of {embedding} on {paper.DATA_NAMES[data]}"
        for (data, embedding), settings in CALIBRATED.items()
        for name, value in settings.items()
    ]
    return (
        "The paper gives neither the perplexity nor λ (smoothness) and σ (bandwidth) of its "
        f"Laplacians. Chosen so that its Table I comes out: {', '.join(chosen)}. Elsewhere the "
        f"perplexity is 5, from {MANY:,} base points on 30, and the rest as it is by default."
    )


def _entry(part: Part) -> str:
    a = part.artifact
    judged = [verdict.holds for verdict in part.verdicts if verdict.holds is not None]
    kind = _CLASSES[all(judged)] if judged else ""
    name = f"{escape(a.place)}: {escape(a.title)}"
    return f'<li><a class="{kind}" href="#{a.name}">{name}</a></li>'


def _section(folder: Path, part: Part) -> str:
    artifact, shown = part.artifact, part.artifact.show(part.records)
    name = artifact.name
    lines = [
        f'<section id="{name}"><h2><a href="#{name}">{escape(artifact.place)}: '
        f"{escape(artifact.title)}</a></h2>",
        f'<p class="soft"><code>{name}</code> · {escape(extent(part.records))}'
        f"{escape(lacking(artifact, part.records))}</p>",
        f"<blockquote>The paper: {escape(paper.SAYS[name])}</blockquote>",
        *(_figure(folder, artifact, data, figure) for data, figure in shown.figures.items()),
        *([f'<p class="soft">{escape(shown.note)}</p>'] if shown.note else []),
        *(_table(table, judged=not part.small) for table in shown.tables),
        _claims(part),
        *([] if part.small else [_differences(name, shown)]),
        *(f'<p class="soft">{escape(sentence)}</p>' for sentence in refusals(part.records)),
        "</section>",
    ]
    return "\n".join(filter(None, lines))


def _figure(folder: Path, artifact: Artifact, data: str, figure: Figure) -> str:
    from matplotlib import rc_context

    stem = f"{artifact.name}-{data}"
    # A fixed salt and no date: the same records draw the same bytes.
    with rc_context({"svg.hashsalt": "bitfold"}):
        drawn = {
            ".svg": inline_in_palette(_saved(figure, format="svg", metadata={"Date": None})),
            ".png": in_palette(_saved(figure, format="png", dpi=130)),
        }
    for suffix, content in drawn.items():
        with replace_atomically(folder / f"{stem}{suffix}") as file:
            file.write(content)
    name = escape(paper.DATA_NAMES.get(data, data))
    return (
        f'<figure><img src="{stem}.png" alt="{escape(artifact.title)}, {name}" loading="lazy">'
        f'<figcaption>{name} · <a href="{stem}.png">PNG</a> · <a href="{stem}.svg">SVG</a>'
        "</figcaption></figure>"
    )


def _saved(figure: Figure, **options: Any) -> bytes:
    content = io.BytesIO()
    figure.savefig(content, **options)
    return content.getvalue()


def extent(records: list[Record]) -> str:
    """Say how much was run."""
    cases = [record["case"] for record in records]
    seeds: dict[str, int] = {}
    for case in cases:
        setting = str({**case, "seed": 0})
        seeds[setting] = seeds.get(setting, 0) + 1
    few, many = min(seeds.values()), max(seeds.values())
    repeats = f"{many}" if few == many else f"{few} to {many}"
    # Of pictures only some queries are shown, or none.
    asked = {case["queries"] for case in cases if case["measure"] in _ASKING}
    queries = f"{' and '.join(f'{n:,}' for n in sorted(asked))} queries, " if asked else ""
    rows = max(case["rows"] for case in cases)
    size = f"a small version, {rows:,} rows of the database" if rows else "the whole database"
    runs, times = ("run" if len(cases) == 1 else "runs"), ("" if many == 1 else "s")
    return f"{len(cases)} {runs}, {repeats} repeat{times}, {queries}{size}"


def lacking(artifact: Artifact, records: list[Record]) -> str:
    """Say how much is not there yet of the data sets that were begun."""
    known = [Case.of(record) for record in records]
    begun = {case.data for case in known}
    wanted = artifact.cases(Protocol(1, quick=bool(known[0].rows)))
    settings = {setting(case) for case in wanted if case.data in begun}
    left = len(settings - {setting(case) for case in known})
    return f"; {left:,} of {len(settings):,} settings not run yet" if left else ""


def _table(table: Table, *, judged: bool) -> str:
    head = "".join(f"<th>{escape(cell)}</th>" for cell in table.heads)
    rows = ["".join(_cell(cell, judged) for cell in row) for row in table.rows]
    body = "\n".join(f"<tr>{row}</tr>" for row in rows)
    caption = f"<caption>{escape(table.title)}</caption>" if table.title else ""
    inner = f"<thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody>"
    if table.folded:
        summary = f"<summary>{escape(table.title)}</summary>"
        return f'<details>{summary}<div class="wide"><table>{inner}</table></div></details>'
    return f'<div class="wide"><table>{caption}{inner}</table></div>'


def _cell(cell: Cell, judged: bool) -> str:
    difference = escape(cell.difference)
    if cell.differs and judged:
        difference = f"<b>{difference}</b>"
    beside = " · ".join(filter(None, [cell.paper and f"paper {escape(cell.paper)}", difference]))
    return f"<td>{escape(cell.ours)}{f'<small>{beside}</small>' if beside else ''}</td>"


def _claims(part: Part) -> str:
    lines = [_claim(part, verdict) for verdict in part.verdicts]
    return f'<ul class="verdicts">{"".join(lines)}</ul>' if lines else ""


def _claim(part: Part, verdict: Verdict) -> str:
    text = escape(verdict.text)
    if verdict.holds is None:
        why = "a small version says nothing of it" if part.small else "not run yet"
        text += f" <small>({why})</small>"
    if verdict.holds is False:
        known = paper.DISAGREEMENTS.get((part.artifact.name, verdict.text), paper.NO_REASON)
        text += f'<div class="apart"><p>It does not hold here.</p>{_listed(verdict.against)}'
        text += f"<p>Likely reason: {escape(known)}.</p></div>"
    return f'<li class="{_CLASSES[verdict.holds]}">{text}</li>'


def _differences(artifact: str, shown: Shown) -> str:
    """List what is off by more than the deviation, by the likely reason."""
    told = [(paper.reason(artifact, c), c) for c in shown.compared if c.differs]
    if not told:
        return ""
    told.sort(key=lambda pair: pair[0])
    lines = [
        f"{_listed([_sentence(c) for _, c in group])}<p>Likely reason: {escape(why)}.</p>"
        for why, group in groupby(told, key=lambda pair: pair[0])
    ]
    head = f"{len(told)} of {len(shown.compared)} differ from the paper by more than the deviation."
    return f'<div class="apart"><p>{head}</p>{"".join(lines)}</div>'


def _sentence(c: Compared) -> str:
    digits = 3 if c.measure == "f1" else 2
    whose = "the paper's" if c.reported.deviation is not None else "ours over the seeds"
    return (
        f"{describe(c)}: {c.mean:.{digits}f}, paper {c.reported.mean:g}, "
        f"{c.difference:+.{digits}f} (deviation {c.allowed:.{digits}f}, {whose})"
    )


def _listed(sentences: list[str], most: int = 8) -> str:
    """List sentences; of many the rest is folded."""
    items = [f"<li>{escape(sentence)}</li>" for sentence in sentences]
    shown, rest = "".join(items[:most]), "".join(items[most:])
    folded = f"<details><summary>{len(items) - most} more</summary><ul>{rest}</ul></details>"
    return f"<ul>{shown}</ul>" + (folded if rest else "")
