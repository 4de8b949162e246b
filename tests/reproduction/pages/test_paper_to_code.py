"""The map of the paper: every name on the page exists, and the page is up to date."""

from __future__ import annotations

import ast
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from reproduction.artifacts import ARTIFACTS
from reproduction.pages.paper_to_code import PAGE, render_page, write_paper_to_code
from reproduction.paper.code_map import ALGORITHMS, ARTIFACT_TESTS, EQUATIONS, MapEntry

ROOT = Path(__file__).parents[3]
ENTRIES = [*EQUATIONS, *ALGORITHMS]


def resolve(name: str) -> Any:
    """Return what a dotted name leads to; attributes come before modules of the same name."""
    first, *rest = name.split(".")
    found, path = import_module(first), first
    for part in rest:
        path = f"{path}.{part}"
        found = getattr(found, part) if hasattr(found, part) else import_module(path)
    return found


@cache
def list_tests(path: str) -> set[str]:
    tree = ast.parse((ROOT / "tests" / path).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.number)
def test_code_and_tests_exist(entry: MapEntry) -> None:
    assert entry.code
    assert entry.tests
    for name in entry.code:
        assert callable(resolve(name)), name
    for name in entry.tests:
        path, _, function = name.partition("::")
        assert function in list_tests(path), name


def test_tests_of_the_artifacts_exist() -> None:
    for name in ARTIFACT_TESTS:
        path, _, function = name.partition("::")
        assert function in list_tests(path), name


def test_a_missing_name_is_noticed() -> None:
    with pytest.raises(ModuleNotFoundError):
        resolve("bitfold.hashers.IMH.as_printed")
    assert "test_nothing" not in list_tests("reproduction/pages/test_paper_to_code.py")


def test_all_equations_and_artifacts_are_mapped() -> None:
    text = " ".join(entry.number for entry in ENTRIES)
    for part in ("(1)", "(2)–(4)", *(f"({i})" for i in range(5, 12)), "(12)–(14)"):
        assert part in text
    for part in ("Definition 1", "Lemma 2", "Lemma 3", "Theorem 4", "Corollary 5", "Algorithm 2"):
        assert part in text
    page = render_page()
    assert all(f"python -m reproduction {name}" in page for name in ARTIFACTS)


def test_page_of_the_documentation_is_up_to_date(tmp_path: Path) -> None:
    assert write_paper_to_code(tmp_path) == tmp_path / PAGE
    written = (tmp_path / PAGE).read_text(encoding="utf-8")
    assert written == (ROOT / "docs" / PAGE).read_text(encoding="utf-8")
