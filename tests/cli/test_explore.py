"""``bitfold explore``: its arguments; the page is tested with the explorer."""

from __future__ import annotations

from pathlib import Path

from tests.cli.helpers import Run, assert_fails

from bitfold.cli.explore import _make_names


def test_names_of_models() -> None:
    assert _make_names([Path("a/x.bitfold"), Path("b/y.bitfold")]) == ["x", "y"]
    paths = [Path("a/m.bitfold"), Path("b/m.bitfold")]
    assert _make_names(paths) == ["a/m.bitfold", "b/m.bitfold"]


def test_one_model_per_index(warm: Run, files: Path) -> None:
    index, model = str(files / "my.index"), str(files / "m.bitfold")
    assert_fails(warm("explore", index, index, "--model", model), "2 indexes and 1 models", 2)
    assert_fails(warm("explore", "missing.index", "--model", model), "missing.index", 2)
