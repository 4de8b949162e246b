"""The report: every artefact on one page, beside what the paper says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path
from string import Template

from matplotlib import rc_context

from bitfold.experiments.artefacts import Artefact
from bitfold.experiments.claims import CLAIMS, Verdict, judge
from bitfold.experiments.layouts import Table
from bitfold.experiments.records import Record
from bitfold.persistence import replace_atomically

_MARKS = {True: "✓", False: "✗", None: "not run"}

_PAGE = Template("""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Hashing on Nonlinear Manifolds, reproduced</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem }
img { max-width: 100% }
table { border-collapse: collapse; font-size: 0.85rem; display: block; overflow-x: auto }
td, th { border-bottom: 1px solid #ccc; padding: 0.2rem 0.6rem; text-align: left }
.no { color: #b00020 } .yes { color: #1b7f3b } .none { color: #777 }
small { color: #555 }
@media (prefers-color-scheme: dark) { body { background: #181818; color: #ddd }
  img { background: #fff } small { color: #aaa } td, th { border-color: #444 } }
</style>
<h1>Hashing on Nonlinear Manifolds, reproduced</h1>
<p>Made by <code>$command</code>. In parentheses: standard deviations over the seeds; then
come the paper's value and the difference. ✓ and ✗ say whether a claim of the paper holds here.</p>
<ul>$contents</ul>
$sections
</html>
""")


def write_report(
    folder: Path, artefacts: Iterable[Artefact], records: Mapping[str, list[Record]], command: str
) -> Path:
    """Write figures (PNG and SVG) and the page; ``records`` are those of each artefact."""
    chosen = [artefact for artefact in artefacts if records.get(artefact.name)]
    sections = [_section(folder, artefact, records[artefact.name]) for artefact in chosen]
    contents = [f'<li><a href="#{a.name}">{escape(a.place)}: {escape(a.title)}</a>' for a in chosen]
    page = _PAGE.substitute(
        command=escape(command), contents="\n".join(contents), sections="\n".join(sections)
    )
    path = folder / "index.html"
    with replace_atomically(path) as file:
        file.write(page.encode())
    return path


def _section(folder: Path, artefact: Artefact, records: list[Record]) -> str:
    shown = artefact.show(records)
    parts = [
        f'<h2 id="{artefact.name}">{escape(artefact.place)}: {escape(artefact.title)}</h2>',
        f"<p><small>{escape(_settings(artefact, records))}</small></p>",
    ]
    for name, figure in shown.figures.items():
        stem = f"{artefact.name}-{name}"
        # A fixed salt and no date: the same records draw the same bytes.
        with rc_context({"svg.hashsalt": "bitfold"}):
            figure.savefig(folder / f"{stem}.svg", metadata={"Date": None})
            figure.savefig(folder / f"{stem}.png", dpi=130)
        parts.append(
            f'<figure><img src="{stem}.png" alt="{escape(artefact.title)}, {escape(name)}">'
            f'<figcaption><small>{escape(name)} · <a href="{stem}.svg">SVG</a></small>'
            "</figcaption></figure>"
        )
    parts += [_table(table) for table in shown.tables]
    parts.append(_claims(judge(CLAIMS.get(artefact.name, []), records)))
    parts += [f"<p><small>{escape(sentence)}</small></p>" for sentence in _refusals(records)]
    return "\n".join(parts)


def _settings(artefact: Artefact, records: list[Record]) -> str:
    """Say how much was run."""
    cases = [record["case"] for record in records]
    seeds = len({case["seed"] for case in cases})
    queries = sorted({case["queries"] for case in cases})
    part = max(case["rows"] for case in cases)
    size = f"{part:,} rows of the database" if part else "the whole database"
    return (
        f"{artefact.name}: {len(cases)} runs, {seeds} seed{'s' if seeds > 1 else ''}, "
        f"{', '.join(map('{:,}'.format, queries))} queries, {size}."
    )


def _table(table: Table) -> str:
    head = "".join(f"<th>{escape(cell)}" for cell in table.heads)
    rows = ["".join(f"<td>{escape(cell)}" for cell in row) for row in table.rows]
    return f"<table><tr>{head}\n" + "\n".join(f"<tr>{row}" for row in rows) + "</table>"


def _claims(verdicts: list[Verdict]) -> str:
    classes = {True: "yes", False: "no", None: "none"}
    lines = [
        f'<li class="{classes[verdict.holds]}">{_MARKS[verdict.holds]} {escape(verdict.text)}'
        for verdict in verdicts
    ]
    return f"<ul>{''.join(lines)}</ul>" if lines else ""


def _refusals(records: list[Record]) -> list[str]:
    return list(dict.fromkeys(r["result"]["refused"] for r in records if "refused" in r["result"]))
