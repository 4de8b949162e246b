"""Every notebook runs, and is stored without outputs."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.mark.filterwarnings("default")  # those of Jupyter
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs(path: Path, tmp_path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=300, resources=resources).execute()
    assert any(cell.get("outputs") for cell in notebook.cells)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_has_no_outputs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert [cell for cell in notebook.cells if cell.get("outputs")] == []


def test_page_lists_every_notebook() -> None:
    text = (ROOT / "docs" / "notebooks.md").read_text("utf-8")
    listed = re.findall(r"\(\.\./notebooks/(\w+)\.ipynb\)", text)
    assert sorted(listed) == [path.stem for path in NOTEBOOKS]
