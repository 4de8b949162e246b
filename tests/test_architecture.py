"""The architecture: layers, privacy, unique names, cost of ``import bitfold``, no pickles."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from tests.integrations.frameworks import list_missing_modules

import bitfold

ROOT = Path(bitfold.__file__).parent
TESTS = Path(__file__).parent

LAYERS: list[set[str]] = [
    {"errors", "_types", "_version"},
    {"_validation", "_threads", "_progress", "_kernels"},
    {"codes", "_class_labels"},
    {"io"},
    {"_linalg"},
    {"neighbors"},
    {"base_set", "embedding", "induction", "subspace", "rotation", "metrics", "features", "search"},
    {"estimators", "hashers", "datasets", "stores"},
    {"distributed", "evaluation", "collection"},
    {"testing"},
    {"explorer", "integrations"},
    {"cli"},
    {"__init__", "__main__"},
]
"""Parts of the package, bottom up. A part may import only the layers below its own."""

PACKAGES_OUTSIDE = ("reproduction", "examples", "benchmarks", "fuzz")
"""Folders of the repository that use only the public names of bitfold."""


def part_of(path: Path) -> str:
    """Return the module or package of bitfold that a file belongs to."""
    return path.relative_to(ROOT).with_suffix("").parts[0]


def sources() -> list[Path]:
    return sorted(ROOT.rglob("*.py"))


def outside() -> list[Path]:
    repository = ROOT.parents[1]
    return sorted(path for name in PACKAGES_OUTSIDE for path in (repository / name).rglob("*.py"))


def allowed(part: str) -> set[str]:
    """Return the parts that a part may import."""
    level = next(i for i, layer in enumerate(LAYERS) if part in layer)
    return set().union(*LAYERS[:level], {part})


def imports_of(path: Path, root: Path) -> Iterator[str]:
    """Yield the dotted names that a file imports, with relative imports resolved."""
    package = ["bitfold", *path.relative_to(root).parent.parts]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) + 1 - node.level] if node.level else []
            module = ".".join([*start, *filter(None, [node.module])])
            yield from (f"{module}.{alias.name}" for alias in node.names)


def imported_parts(path: Path, root: Path = ROOT) -> set[str]:
    """Return the parts of bitfold that a file imports; bitfold itself is ``__init__``."""
    names = [name.split(".") for name in imports_of(path, root)]
    inner = [name[1] if len(name) > 1 else "__init__" for name in names if name[0] == "bitfold"]
    known = set().union(*LAYERS)
    return {part if part in known else "__init__" for part in inner}


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")


def private_imports(path: Path) -> set[str]:
    """Return the private modules and names of other packages that a file imports."""
    found = set()
    for name in imports_of(path, ROOT):
        parts = name.split(".")
        # Modules directly below bitfold, such as _types, are shared by all packages.
        is_foreign = parts[0] == "bitfold" and len(parts) > 2 and parts[1] != part_of(path)
        if is_foreign and any(map(is_private, parts[2:])):
            found.add(name)
    return found


def private_uses(path: Path) -> set[str]:
    """Return the private names of bitfold that a file outside the package uses."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    imported = {name for name in imports_of(path, path.parent) if name.split(".")[0] == "bitfold"}
    found = {name for name in imported if any(map(is_private, name.split(".")))}
    modules = {name.split(".")[-1] for name in imported} | {"bf"}
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=module), attr=name):
                if module in modules and is_private(name):
                    found.add(f"{module}.{name}")
    return found


def id_of(path: Path) -> str:
    return path.relative_to(ROOT.parents[1]).as_posix()


def test_every_part_has_a_layer() -> None:
    known = set().union(*LAYERS)
    assert {part_of(path) for path in sources()} <= known
    assert sum(map(len, LAYERS)) == len(known)


@pytest.mark.parametrize("path", sources(), ids=id_of)
def test_a_file_imports_only_lower_layers(path: Path) -> None:
    assert imported_parts(path) - allowed(part_of(path)) == set()


@pytest.mark.parametrize("path", sources(), ids=id_of)
def test_a_file_imports_nothing_private_of_another_package(path: Path) -> None:
    assert private_imports(path) == set()


@pytest.mark.parametrize("path", outside(), ids=id_of)
def test_files_outside_the_package_use_public_names(path: Path) -> None:
    assert private_uses(path) == set()


def test_package_imports_have_no_cycle() -> None:
    graph = {part: set[str]() for layer in LAYERS for part in layer}
    for path in sources():
        graph[part_of(path)] |= imported_parts(path) - {part_of(path), "__init__"}
    assert list(TopologicalSorter(graph).static_order())


def mirrored_module(path: Path) -> list[Path]:
    """Return the places where the module of a test file may be."""
    folder = path.relative_to(TESTS).parent
    name = path.stem.removeprefix("test_")
    outside = folder.parts[:1] and folder.parts[0] in PACKAGES_OUTSIDE
    root = ROOT.parents[1] if outside else ROOT
    names = [f"{name}.py", f"_{name}.py", f"__{name}__.py", name]
    return [root / folder / candidate for candidate in names]


@pytest.mark.parametrize("path", sorted(TESTS.rglob("test_*.py")), ids=id_of)
def test_test_files_mirror_the_source(path: Path) -> None:
    """Only files next to this one, the figures of the paper and the page test several modules."""
    is_general = path.parent in (TESTS, TESTS / "paper", TESTS / "explorer" / "page")
    assert is_general or any(module.exists() for module in mirrored_module(path))


def test_class_names_are_unique() -> None:
    defined = Counter(
        node.name
        for path in sources()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
    )
    assert [name for name, count in defined.items() if count > 1] == []


def test_array_and_callback_types_are_declared_once() -> None:
    """Aliases such as ``Vector = NDArray[np.float64]`` belong into ``_types.py``."""
    found = [
        f"{id_of(path)}: {ast.unparse(node)}"
        for path in sources()
        if path.name != "_types.py"
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript)
        if ast.unparse(node.value).startswith(("NDArray[", "Callable[", "np.ndarray["))
    ]
    assert len(found) <= 2, found


@pytest.mark.parametrize("path", sources(), ids=id_of)
def test_no_import_by_a_computed_name(path: Path) -> None:
    """Such an import would escape the tests above; the lazy names and commands are checked."""
    lazy = {"importlib.import_module", "importlib.util", "importlib.__import__"}
    text = path.read_text(encoding="utf-8")
    found = lazy & set(imports_of(path, ROOT)) or "__import__(" in text
    assert not found or path.relative_to(ROOT).as_posix() in ("__init__.py", "cli/_app.py")


@pytest.mark.parametrize("path", sources(), ids=id_of)
def test_a_file_cannot_run_a_pickle(path: Path) -> None:
    able = {"joblib", "dill", "cloudpickle", "shelve", "marshal", "pickle"}
    if part_of(path) == "testing":
        able -= {"pickle"}  # the checks pickle a hasher and read it back, in memory
    assert able & {name.split(".")[0] for name in imports_of(path, ROOT)} == set()
    assert "allow_pickle=True" not in path.read_text(encoding="utf-8")


def test_the_walk_sees_local_and_relative_imports(tmp_path: Path) -> None:
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
    expected = {"hashers", "search", "stores", "metrics", "cli", "__init__"}
    assert imported_parts(file, tmp_path) == expected


def test_private_uses_are_found(tmp_path: Path) -> None:
    file = tmp_path / "example.py"
    file.write_text(
        "import bitfold as bf\n"
        "from bitfold import hashers\n"
        "from bitfold.search import _scan\n"
        "bf._HOMES\n"
        "hashers._labels\n"
        "hashers.__all__\n"
    )
    assert private_uses(file) == {"bitfold.search._scan", "bf._HOMES", "hashers._labels"}


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
    importable = sorted(set(modules) - set(list_missing_modules()))
    python("import " + ", ".join(importable), NUMBA_CACHE_DIR=str(tmp_path))
    # numba makes the folder for its cache at once, and files when it compiles.
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
