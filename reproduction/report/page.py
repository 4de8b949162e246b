"""The HTML page of the report: every artifact next to what the paper says."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from html import escape
from itertools import groupby
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any, NamedTuple

from bitfold.io.atomic import replace_atomically
from reproduction.artifacts import CALIBRATED, MANY_BASE_POINTS, Artifact
from reproduction.image_encoding import reduce_colors, reduce_inline_colors
from reproduction.paper import deviations, reported
from reproduction.paper.claims import CLAIMS, Verdict, judge_claims
from reproduction.paper.deviations import ComparedValue
from reproduction.protocol import Protocol
from reproduction.records import Case
from reproduction.report.presentation import Presentation
from reproduction.report.tables import Cell, Table, describe_value, list_missing_lengths
from reproduction.shared_types import Record

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_TEMPLATE = Path(__file__).with_name("page.html")

_QUERY_MEASURES = ("retrieval", "scan", "classification")
"""Measures that are means over all queries."""

_CSS_CLASSES = {True: "yes", False: "no", None: "none"}

_N_LISTED = 8
"""Sentences of a list that are shown; the others are folded."""


class Section(NamedTuple):
    """An artifact, its records, and the verdicts on the claims about it."""

    artifact: Artifact
    records: list[Record]
    verdicts: list[Verdict]

    @property
    def is_quick(self) -> bool:
        """Whether only a part of the data was used, which cannot be compared with the paper."""
        return any(record["case"]["n_rows"] for record in self.records)

    @classmethod
    def judge(cls, artifact: Artifact, records: list[Record]) -> Section:
        """Return the section of an artifact, with its claims judged by the records."""
        section = cls(artifact, records, [])
        known = [] if section.is_quick else records
        return section._replace(verdicts=judge_claims(CLAIMS.get(artifact.name, []), known))


def write_report(
    folder: Path, artifacts: Iterable[Artifact], records: Mapping[str, list[Record]], command: str
) -> Path:
    """Write the page and its figures as PNG and SVG.

    Parameters
    ----------
    folder
        Where to write; it is created if necessary.
    artifacts
        The artifacts in their order; those without records are left out.
    records
        Records by the name of the artifact.
    command
        The command that is named on the page.

    Returns
    -------
    Path of the page.
    """
    folder.mkdir(parents=True, exist_ok=True)
    sections = [Section.judge(a, records[a.name]) for a in artifacts if records.get(a.name)]
    page = Template(_TEMPLATE.read_text("utf-8")).substitute(
        command=escape(command),
        summary=_summarize_verdicts(sections),
        settings=escape(_describe_settings()),
        contents="\n".join(map(_render_entry, sections)),
        sections="\n".join(_render_section(folder, section) for section in sections),
    )
    path = folder / "index.html"
    with replace_atomically(path) as file:
        file.write(page.encode())
    return path


def _summarize_verdicts(sections: list[Section]) -> str:
    """Return how many claims hold."""
    verdicts = Counter(verdict.holds for section in sections for verdict in section.verdicts)
    text = f"Of {verdicts.total()} claims, {verdicts[True]} hold and {verdicts[False]} do not."
    return text + (f" {verdicts[None]} cannot be judged yet." if verdicts[None] else "")


def _describe_settings() -> str:
    """Return the settings that the paper does not state."""
    chosen = [
        f"{name} = {value} of {embedding} on {reported.DATA_NAMES[data]}"
        for (data, embedding), settings in CALIBRATED.items()
        for name, value in settings.items()
    ]
    return (
        "The paper states neither the perplexity nor λ (smoothness) and σ (bandwidth) of its "
        f"Laplacians. They are chosen to reproduce its Table I: {', '.join(chosen)}. Elsewhere the "
        f"perplexity is 5, or 30 with {MANY_BASE_POINTS:,} base points or more, and other settings "
        "are the defaults."
    )


def _render_entry(section: Section) -> str:
    """Return the entry of an artifact in the table of contents."""
    artifact = section.artifact
    judged = [verdict.holds for verdict in section.verdicts if verdict.holds is not None]
    css_class = _CSS_CLASSES[all(judged)] if judged else ""
    name = f"{escape(artifact.number)}: {escape(artifact.title)}"
    return f'<li><a class="{css_class}" href="#{artifact.name}">{name}</a></li>'


def _render_section(folder: Path, section: Section) -> str:
    artifact, records = section.artifact, section.records
    name, shown = artifact.name, artifact.present(records)
    title = f"{escape(artifact.number)}: {escape(artifact.title)}"
    extent = escape(describe_extent(records) + describe_missing(artifact, records))
    lines = [
        f'<section id="{name}"><h2><a href="#{name}">{title}</a></h2>',
        f'<p class="soft"><code>{name}</code> · {extent}</p>',
        f"<blockquote>The paper: {escape(reported.QUOTES[name])}</blockquote>",
        *(_render_figure(folder, artifact, data, drawn) for data, drawn in shown.figures.items()),
        *([f'<p class="soft">{escape(shown.note)}</p>'] if shown.note else []),
        *(_render_table(table, judged=not section.is_quick) for table in shown.tables),
        _render_claims(section),
        *([] if section.is_quick else [_render_differences(name, shown)]),
        *(f'<p class="soft">{escape(text)}</p>' for text in list_missing_lengths(records)),
        "</section>",
    ]
    return "\n".join(filter(None, lines))


def _render_figure(folder: Path, artifact: Artifact, data: str, figure: Figure) -> str:
    """Write a figure to files, and return its HTML."""
    from matplotlib import rc_context

    stem = f"{artifact.name}-{data}"
    # With a fixed salt and no date the same records give the same bytes.
    with rc_context({"svg.hashsalt": "bitfold"}):
        svg = _save_figure(figure, format="svg", metadata={"Date": None})
        png = _save_figure(figure, format="png", dpi=130)
    contents = {".svg": reduce_inline_colors(svg), ".png": reduce_colors(png)}
    for suffix, content in contents.items():
        with replace_atomically(folder / f"{stem}{suffix}") as file:
            file.write(content)
    name = escape(reported.DATA_NAMES.get(data, data))
    return (
        f'<figure><img src="{stem}.png" alt="{escape(artifact.title)}, {name}" loading="lazy">'
        f'<figcaption>{name} · <a href="{stem}.png">PNG</a> · <a href="{stem}.svg">SVG</a>'
        "</figcaption></figure>"
    )


def _save_figure(figure: Figure, **options: Any) -> bytes:
    content = io.BytesIO()
    figure.savefig(content, **options)
    return content.getvalue()


def describe_extent(records: list[Record]) -> str:
    """Return the numbers of runs, repeats, queries and rows."""
    cases = [Case.from_record(record) for record in records]
    n_repeats = Counter(replace(case, seed=0) for case in cases).values()
    few, many = min(n_repeats), max(n_repeats)
    repeats = f"{many}" if few == many else f"{few} to {many}"
    # Pictures show only some of the queries, or none.
    n_queries = {case.n_queries for case in cases if case.measure in _QUERY_MEASURES}
    numbers = " and ".join(f"{n:,}" for n in sorted(n_queries))
    queries = f"{numbers} queries, " if numbers else ""
    n_rows = max(case.n_rows for case in cases)
    rows = f"a quick version with {n_rows:,} rows" if n_rows else "the whole database"
    runs, plural = ("run" if len(cases) == 1 else "runs"), ("" if many == 1 else "s")
    return f"{len(cases)} {runs}, {repeats} repeat{plural}, {queries}{rows}"


def describe_missing(artifact: Artifact, records: list[Record]) -> str:
    """Return how many settings are missing on the data sets that were started."""
    known = [Case.from_record(record) for record in records]
    started = {case.data for case in known}
    cases = artifact.cases(Protocol(1, quick=bool(known[0].n_rows)))
    settings = {case.setting for case in cases if case.data in started}
    n_missing = len(settings - {case.setting for case in known})
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
    difference = escape(cell.difference)
    if cell.differs and judged:
        difference = f"<b>{difference}</b>"
    paper = cell.paper and f"paper {escape(cell.paper)}"
    below = " · ".join(filter(None, [paper, difference]))
    return f"<td>{escape(cell.ours)}{f'<small>{below}</small>' if below else ''}</td>"


def _render_claims(section: Section) -> str:
    lines = [_render_verdict(section, verdict) for verdict in section.verdicts]
    return f'<ul class="verdicts">{"".join(lines)}</ul>' if lines else ""


def _render_verdict(section: Section, verdict: Verdict) -> str:
    text = escape(verdict.claim.text)
    if verdict.holds is None:
        why = "not judged in a quick version" if section.is_quick else "not run yet"
        text += f" <small>({why})</small>"
    if verdict.holds is False:
        reason = deviations.DISAGREEMENTS.get(verdict.claim.id, deviations.UNKNOWN_REASON)
        text += f'<div class="apart"><p>Does not hold here.</p>{_render_list(verdict.failed)}'
        text += f"<p>Likely reason: {escape(reason)}.</p></div>"
    return f'<li class="{_CSS_CLASSES[verdict.holds]}">{text}</li>'


def _render_differences(artifact: str, shown: Presentation) -> str:
    """List the values that differ by more than the deviation, grouped by the likely reason."""
    pairs = [(deviations.find_reason(artifact, v), v) for v in shown.compared if v.differs]
    if not pairs:
        return ""
    pairs.sort(key=lambda pair: pair[0])
    lines = [
        f"{_render_list([_describe_difference(value) for _, value in group])}"
        f"<p>Likely reason: {escape(reason)}.</p>"
        for reason, group in groupby(pairs, key=lambda pair: pair[0])
    ]
    head = (
        f"{len(pairs)} of {len(shown.compared)} differ from the paper by more than the deviation."
    )
    return f'<div class="apart"><p>{head}</p>{"".join(lines)}</div>'


def _describe_difference(value: ComparedValue) -> str:
    n_digits = 3 if value.measure == "f1" else 2
    source = "the paper's" if value.reported.deviation is not None else "ours over the seeds"
    return (
        f"{describe_value(value)}: {value.mean:.{n_digits}f}, paper {value.reported.mean:g}, "
        f"{value.difference:+.{n_digits}f} "
        f"(deviation {value.allowed_difference:.{n_digits}f}, {source})"
    )


def _render_list(sentences: list[str]) -> str:
    """Return a list whose later items are folded."""
    items = [f"<li>{escape(sentence)}</li>" for sentence in sentences]
    shown, rest = "".join(items[:_N_LISTED]), "".join(items[_N_LISTED:])
    n_more = len(items) - _N_LISTED
    folded = f"<details><summary>{n_more} more</summary><ul>{rest}</ul></details>"
    return f"<ul>{shown}</ul>" + (folded if rest else "")
