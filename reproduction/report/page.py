"""The HTML page of the report: every artifact in two columns, next to what the paper says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from html import escape
from itertools import groupby
from pathlib import Path
from string import Template
from typing import NamedTuple

from bitfold.io.atomic import replace_atomically
from reproduction.artifacts import Artifact
from reproduction.paper import deviations, reported
from reproduction.paper.deviations import ComparedValue
from reproduction.paper.statement import Outcome, Verdict, judge_statements
from reproduction.paper.statements import STATEMENTS
from reproduction.protocol import Protocol
from reproduction.records import Case
from reproduction.report.conclusions import list_conclusions
from reproduction.report.figure_files import write_figure
from reproduction.report.other_queries import compare_queries
from reproduction.report.overview import draw_overview
from reproduction.report.points import describe_seeds
from reproduction.report.presentation import Presentation
from reproduction.report.settings import AUTHORS, CHANGES, COLUMN_TEXTS, LIMITS
from reproduction.report.tables import Cell, Table, describe_value, list_missing_lengths
from reproduction.report.verdicts import (
    describe_parts,
    render_list,
    render_overview,
    render_verdicts,
    summarize,
)
from reproduction.shared_types import Record

_TEMPLATE = Path(__file__).with_name("page.html")

WHY = "../differences-from-the-paper.html"
"""The page that explains the defaults of bitfold."""

_QUERY_MEASURES = ("retrieval", "scan", "classification")
"""Measures that are means over all queries."""

_PHOTOS = ("fig-retrieved",)
"""Artifacts whose figures keep all colors."""


class Section(NamedTuple):
    """An artifact, its records, and the verdicts on the statements about it."""

    artifact: Artifact
    records: list[Record]
    verdicts: list[Verdict]

    @property
    def is_quick(self) -> bool:
        """Whether only a part of the data was used, which cannot be compared with the paper."""
        return _is_quick(self.records)


def _is_quick(records: Iterable[Record]) -> bool:
    return any(record["case"]["n_rows"] for record in records)


def make_sections(
    artifacts: Iterable[Artifact], records: Mapping[str, list[Record]]
) -> list[Section]:
    """Return the sections of all artifacts, with their statements judged; quick runs are not."""
    known = {name: [] if _is_quick(own) else own for name, own in records.items()}
    return [
        Section(a, records.get(a.name, []),
                judge_statements(STATEMENTS.get(a.name, []), a.name, known))
        for a in artifacts
    ]  # fmt: skip


def write_report(
    folder: Path, artifacts: Iterable[Artifact], records: Mapping[str, list[Record]], command: str
) -> Path:
    """Write the page and its figures as PNG and SVG.

    Parameters
    ----------
    folder
        Where to write; it is created if necessary.
    artifacts
        The artifacts in their order; those without records have no section.
    records
        Records by the name of the artifact.
    command
        The command that is named on the page.

    Returns
    -------
    Path of the page.
    """
    folder.mkdir(parents=True, exist_ok=True)
    sections = make_sections(artifacts, records)
    shown = [section for section in sections if section.records]
    verdicts = [verdict for section in sections for verdict in section.verdicts]
    page = Template(_TEMPLATE.read_text("utf-8")).substitute(
        command=escape(command),
        summary=escape(summarize(verdicts)),
        parts=escape(describe_parts(verdicts)),
        overview=_render_overview_figure(folder, records),
        conclusions="".join(
            f"<li>{escape(text)}</li>" for text in list_conclusions(records, verdicts)
        ),
        columns="".join(
            f"<dt>{name}</dt><dd>{escape(text)}</dd>" for name, text in COLUMN_TEXTS.items()
        ),
        authors=AUTHORS,
        limits="".join(
            f"<li>{escape(text)}</li>"
            for text in (*LIMITS, *compare_queries(records.get("other-queries", [])))
        ),
        contents="\n".join(map(_render_entry, shown)),
        sections="\n".join(_render_section(folder, section) for section in shown),
        statements=render_overview({s.artifact.number: s.verdicts for s in sections}),
    )
    path = folder / "index.html"
    with replace_atomically(path) as file:
        file.write(page.encode())
    return path


def _render_overview_figure(folder: Path, records: Mapping[str, list[Record]]) -> str:
    own = records.get("table-base-size", [])
    figure = draw_overview(own) if own and not _is_quick(own) else None
    if figure is None:
        return ""
    return write_figure(folder, "overview", figure, "MAP by the size of the base set: the paper's "
                        "values, those with the authors' settings, and bitfold's")  # fmt: skip


def _render_entry(section: Section) -> str:
    """Return the entry of an artifact in the table of contents, with its verdicts."""
    artifact = section.artifact
    counts = Counter(verdict.outcome for verdict in section.verdicts)
    judged = [f"{counts[outcome]} {word}" for outcome, word in
              ((Outcome.HOLDS, "hold"), (Outcome.FAILS, "fail")) if counts[outcome]]  # fmt: skip
    name = f"{escape(artifact.number)}: {escape(artifact.title)}"
    note = f" <small>{', '.join(judged)}</small>" if judged else ""
    return f'<li><a href="#{artifact.name}">{name}</a>{note}</li>'


def _render_section(folder: Path, section: Section) -> str:
    artifact, records = section.artifact, section.records
    name, shown = artifact.name, artifact.present(artifact.number, records)
    title = f"{escape(artifact.number)}: {escape(artifact.title)}"
    extent = escape(describe_extent(records) + describe_missing(artifact, records))
    lines = [
        f'<section id="{name}"><h2><a href="#{name}">{title}</a></h2>',
        f'<p class="soft"><code>python -m reproduction {name}</code> · {extent}</p>',
        *_write_figures(folder, artifact, shown),
        f'<p class="soft"><b>What bitfold changes</b> (<a href="{WHY}">more about why</a>). '
        f"{escape(CHANGES[name])}</p>",
        *([f'<p class="soft">{escape(shown.note)}</p>'] if shown.note else []),
        *(_render_table(table, judged=not section.is_quick) for table in shown.tables),
        *([] if section.is_quick else [_render_differences(name, shown)]),
        *([f"<h3>What the paper says</h3><blockquote>{escape(reported.QUOTES[name])}</blockquote>"]
          if not section.verdicts else ["<h3>What the paper says, judged as published</h3>"]),
        render_verdicts(section.verdicts, is_quick=section.is_quick),
        *(f'<p class="soft">{escape(text)}</p>' for text in list_missing_lengths(records)),
        "</section>",
    ]  # fmt: skip
    return "\n".join(filter(None, lines))


def _write_figures(folder: Path, artifact: Artifact, shown: Presentation) -> list[str]:
    return [
        write_figure(folder, f"{artifact.name}-{data}", figure,
                     f"{artifact.number}: {artifact.title}, {reported.DATA_NAMES.get(data, data)}",
                     has_photos=artifact.name in _PHOTOS)
        for data, figure in shown.figures.items()
    ]  # fmt: skip


def describe_extent(records: list[Record]) -> str:
    """Return the numbers of runs, seeds, queries and rows."""
    cases = [Case.from_record(record) for record in records]
    # Pictures show only some of the queries, or none.
    n_queries = {case.n_queries for case in cases if case.measure in _QUERY_MEASURES}
    numbers = " and ".join(f"{n:,}" for n in sorted(n_queries))
    queries = f"{numbers} queries, " if numbers else ""
    n_rows = max(case.n_rows for case in cases)
    rows = f"a quick version with {n_rows:,} rows" if n_rows else "the whole database"
    runs = "run" if len(cases) == 1 else "runs"
    seeds = describe_seeds([{"case": _without_queries(r["case"])} for r in records])
    return f"{len(cases):,} {runs}, {seeds} per value, {queries}{rows}"


def _without_queries(case: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in case.items() if name != "n_queries"}


def describe_missing(artifact: Artifact, records: list[Record]) -> str:
    """Return how many settings are missing on the data sets that were started."""
    known = [Case.from_record(record) for record in records]
    started = {case.data for case in known}
    cases = artifact.cases(Protocol(1, quick=bool(known[0].n_rows)))
    settings = {case.setting for case in cases if case.data in started}
    n_missing = len(settings - {replace(case, seed=0).setting for case in known})
    return f"; {n_missing:,} of {len(settings):,} settings not run yet" if n_missing else ""


def _render_table(table: Table, *, judged: bool) -> str:
    head = "".join(f"<th>{escape(cell)}</th>" for cell in table.heads)
    rows = ["".join(_render_cell(cell, judged) for cell in row) for row in table.rows]
    body = "\n".join(f"<tr>{row}</tr>" for row in rows)
    caption = f"<caption>{escape(table.title)}</caption>" if table.title else ""
    inner = f"<thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody>"
    if table.folded:
        summary = f"<summary>{escape(table.title)}</summary>"
        return f'<details>{summary}<div class="wide"><table>{inner}</table></div></details>'
    return f'<div class="wide"><table>{caption}{inner}</table></div>'


def _render_cell(cell: Cell, judged: bool) -> str:
    text = escape(cell.text)
    return f"<td>{f'<b>{text}</b>' if cell.is_marked and judged else text}</td>"


def _render_differences(artifact: str, shown: Presentation) -> str:
    """List the values that differ by more than their interval, grouped by the reason."""
    pairs = [(deviations.find_reason(artifact, v), v) for v in shown.compared if v.differs]
    if not pairs:
        return ""
    pairs.sort(key=lambda pair: pair[0])
    lines = [
        f"{render_list([_describe_difference(value) for _, value in group])}"
        f"<p>Reason: {escape(reason)}.</p>"
        for reason, group in groupby(pairs, key=lambda pair: pair[0])
    ]
    head = (
        f"{len(pairs)} of {len(shown.compared)} values as published differ from the paper by more "
        "than the 95 % interval."
    )
    return f'<details class="apart"><summary>{head}</summary>{"".join(lines)}</details>'


def _describe_difference(value: ComparedValue) -> str:
    n_digits = 3 if value.measure == "f1" else 2
    return (
        f"{describe_value(value)}: {value.mean:.{n_digits}f}, paper {value.reported.mean:g}, "
        f"{value.difference:+.{n_digits}f} ± {value.half_width:.{n_digits}f}"
    )
