"""The page that maps the paper to code, commands and tests."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from bitfold.io.atomic import replace_atomically
from reproduction.artifacts import ARTIFACTS
from reproduction.paper.code_map import ALGORITHMS, ARTIFACT_TESTS, EQUATIONS, MapEntry
from reproduction.paper.statements import STATEMENTS

PAGE = "paper-to-code.md"

_HEAD = """# The paper in code

Every equation, algorithm, table and figure of *Hashing on Nonlinear Manifolds* (Shen et al., IEEE
TIP 2015), where it is implemented, and the test that proves it. `python -m reproduction
paper-to-code` writes this page, and a test checks that every name on it exists. Numbers are those
that LaTeX prints: definitions, lemmas, theorems and corollaries share one counter.

[The report](report/index.html) has the results.
"""


def write_paper_to_code(docs: Path) -> Path:
    """Write the page, and return its path."""
    path = docs / PAGE
    with replace_atomically(path) as file:
        file.write(render_page().encode())
    return path


def render_page() -> str:
    """Return the page in Markdown."""
    return "\n".join([
        _HEAD,
        "## Equations and statements\n",
        *_render_entries(EQUATIONS),
        "\n## Algorithms\n",
        *_render_entries(ALGORITHMS),
        "\n## Tables and figures\n",
        *_render_artifacts(),
    ]) + "\n"  # fmt: skip


def _render_entries(entries: Iterable[MapEntry]) -> list[str]:
    rows = [
        f"| {entry.number} | {_join(entry.subject, entry.remark)} | {_list_code(entry.code)} "
        f"| {_list_tests(entry.tests)} |"
        for entry in entries
    ]
    return ["| paper | what | code | tests |", "|---|---|---|---|", *rows]


def _join(subject: str, remark: str) -> str:
    return f"{subject}. {remark}" if remark else subject


def _render_artifacts() -> list[str]:
    rows = [
        f"| {artifact.number} | {artifact.title} | `python -m reproduction {name}` "
        f"| {len(STATEMENTS.get(name, []))} |"
        for name, artifact in ARTIFACTS.items()
    ]
    tests = f"The tests {_list_tests(ARTIFACT_TESTS)} cover all of them."
    head = ["| paper | title | command | statements judged |", "|---|---|---|---|"]
    return [*head, *rows, "", tests]


def _list_code(names: Iterable[str]) -> str:
    return "<br>".join(f"`{name}`" for name in names)


def _list_tests(names: Iterable[str]) -> str:
    return "<br>".join(f"`tests/{name}`" for name in names)
