"""Who may import whom, what ``import bitfold`` costs, and that nothing here can run a pickle."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import bitfold

ROOT = Path(bitfold.__file__).parent

BOTTOM = {"_arrow", "_kernels", "_checks", "_rows", "_sources"}
STEPS = {"base_set", "embedding", "induction", "subspace", "binarize"}
LEAVES = STEPS | {"codes", "metrics", "features", "prototype", "persistence"}
MIDDLE = {"hashers", "search", "datasets"}
ANYTHING = BOTTOM | LEAVES | MIDDLE | {
    "_version", "cli", "distributed", "experiments", "explorer", "stores", "streaming"
}  # fmt: skip

MAY_IMPORT: dict[str, set[str]] = {
    # The bottom
    "_version": set(),
    "_checks": set(),
    "_kernels": set(),
    "_arrow": set(),
    "_sources": {"_arrow", "_checks", "_kernels"},
    "_rows": {"_checks", "_kernels", "_sources"},
    # One step, one module: they do not know each other
    **dict.fromkeys(STEPS, BOTTOM),
    "codes": BOTTOM,
    "features": BOTTOM,
    "prototype": BOTTOM,
    "metrics": BOTTOM | {"codes"},
    "persistence": {"_checks", "codes"},
    # What composes them
    "hashers": BOTTOM | STEPS | {"codes", "persistence"},
    "streaming": BOTTOM | {"codes", "hashers", "persistence"},
    "search": {"_checks", "_kernels", "codes", "persistence"},
    "stores": {"_checks", "codes", "persistence", "search"},
    "distributed": BOTTOM | {"base_set", "codes", "hashers", "induction", "search"},
    "datasets": BOTTOM | {"features", "metrics", "persistence"},
    "experiments": BOTTOM | LEAVES | MIDDLE,
    # The top
    "cli": ANYTHING,
    "explorer": ANYTHING,
    "__init__": ANYTHING,
    "__main__": {"cli"},
}
"""Part of the package and what it may import; within a part, files may import each other."""


def part_of(path: Path) -> str:
    """Return the module or sub-package of bitfold that a file belongs to."""
    return path.relative_to(ROOT).with_suffix("").parts[0]


def sources() -> list[Path]:
    return sorted(ROOT.rglob("*.py"))


def imported(path: Path) -> Iterator[str]:
    """Yield the dotted names a file imports, wherever in it; relative ones made absolute."""
    package = ["bitfold", *path.relative_to(ROOT).parent.parts]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) + 1 - node.level] if node.level else []
            module = ".".join([*start, *filter(None, [node.module])])
            yield from (f"{module}.{alias.name}" for alias in node.names)


def imported_parts(path: Path) -> set[str]:
    """Return the parts of bitfold a file imports; the package itself counts as ``__init__``."""
    names = [name.split(".") for name in imported(path)]
    inner = [name[1] if len(name) > 1 else "__init__" for name in names if name[0] == "bitfold"]
    return {part if part in MAY_IMPORT else "__init__" for part in inner} - {part_of(path)}


def id_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_the_table_has_a_row_for_every_part() -> None:
    assert {part_of(path) for path in sources()} <= MAY_IMPORT.keys()
    assert set().union(*MAY_IMPORT.values()) <= MAY_IMPORT.keys()


@pytest.mark.parametrize("path", sources(), ids=id_of)
def test_a_file_imports_only_what_its_part_may(path: Path) -> None:
    assert imported_parts(path) - MAY_IMPORT[part_of(path)] == set()


@pytest.mark.parametrize("path", sources(), ids=id_of)
def test_a_file_imports_nothing_by_a_name_made_at_run_time(path: Path) -> None:
    """Such an import would escape the test above; the package's own lazy names are checked."""
    lazy = {"importlib.import_module", "importlib.util", "importlib.__import__"}
    text = path.read_text(encoding="utf-8")
    found = lazy & set(imported(path)) or "__import__(" in text
    assert not found or id_of(path) == "__init__.py"


@pytest.mark.parametrize("path", sources(), ids=id_of)
def test_a_file_cannot_run_a_pickle(path: Path) -> None:
    able = {"pickle", "joblib", "dill", "cloudpickle", "shelve", "marshal"}
    assert able & {name.split(".")[0] for name in imported(path)} == set()
    assert "allow_pickle=True" not in path.read_text(encoding="utf-8")


def test_the_walk_sees_local_and_relative_imports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    (tmp_path / "hashers").mkdir()
    file = tmp_path / "hashers" / "lsh.py"
    file.write_text(
        "import bitfold.search\n"
        "from . import _base\n"
        "from .. import stores\n"
        "from ..metrics import lookup\n"
        "def f():\n"
        "    from bitfold import Codes, cli\n"
        "    import numpy.bitfold\n"
    )
    assert imported_parts(file) == {"search", "stores", "metrics", "cli", "__init__"}


def python(code: str, **environment: str) -> str:
    """Run code in a fresh interpreter; return what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return done.stdout.strip()


def test_importing_bitfold_is_quick_and_brings_nothing_heavy() -> None:
    code = (
        "import sys, time; start = time.process_time(); import bitfold;"
        "print(time.process_time() - start, *sys.modules)"
    )
    runs = [python(code).split() for _ in range(3)]
    assert min(float(run[0]) for run in runs) < 0.5
    assert set(runs[0]) & {"numba", "sklearn", "faiss", "scipy", "pandas", "typer"} == set()


def test_importing_every_module_compiles_nothing(tmp_path: Path) -> None:
    modules = [
        ".".join(["bitfold", *path.relative_to(ROOT).with_suffix("").parts])
        for path in sources()
        if path.name not in ("__init__.py", "__main__.py")
    ]
    python("import " + ", ".join(modules), NUMBA_CACHE_DIR=str(tmp_path))
    # numba makes the folder for its cache at once, and files when it compiles.
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
