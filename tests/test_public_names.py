"""The names users may rely on: sorted, complete, documented."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import subprocess
import sys
import textwrap
from functools import cached_property
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import pytest
from tests.integrations.frameworks import list_missing_modules

import bitfold

ROOT = Path(bitfold.__file__).parent
CALLABLE = (FunctionType, classmethod, staticmethod, property, cached_property)


def declares_names(path: Path) -> bool:
    """Return whether a file has an ``__all__``."""
    assigned = [
        target
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.Assign)
        for target in node.targets
    ]
    return any(isinstance(target, ast.Name) and target.id == "__all__" for target in assigned)


def module_name(path: Path) -> str:
    parts = ["bitfold", *path.relative_to(ROOT).with_suffix("").parts]
    return ".".join(part for part in parts if part != "__init__")


MODULES = [
    module_name(path)
    for path in sorted(ROOT.rglob("*.py"))
    if declares_names(path)
    and "._" not in module_name(path)
    and module_name(path) not in list_missing_modules()
]


def rank(name: str) -> tuple[int, list[tuple[int, int | str]]]:
    """Sort as ruff's RUF022 does: CONSTANTS, Classes, functions; numbers by their value."""
    kind = 0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2
    pieces = re.split(r"(\d+)", name)
    return kind, [(0, int(piece)) if piece.isdigit() else (1, piece) for piece in pieces]


def is_defined_in(thing: Any, module: ModuleType) -> bool:
    """Return whether a thing is defined in a module, or anywhere in bitfold for a package."""
    origin = getattr(thing, "__module__", "")
    is_package = hasattr(module, "__path__")
    return origin.split(".")[0] == "bitfold" if is_package else origin == module.__name__


def public_namespace(module: ModuleType) -> set[str]:
    names = {name for name in dir(module) if not name.startswith("_")}
    return {name for name in names if is_defined_in(getattr(module, name), module)}


@pytest.mark.parametrize("name", MODULES)
def test_names_are_sorted_and_complete(name: str) -> None:
    module = importlib.import_module(name)
    assert module.__all__ == sorted(set(module.__all__), key=rank)
    # Constants are plain values that do not know where they were defined.
    values = {n: getattr(module, n) for n in module.__all__}
    constants = {n for n, value in values.items() if isinstance(value, int | str | tuple | dict)}
    imported = {n for n, value in values.items() if not is_defined_in(value, module)} - constants
    assert public_namespace(module) == set(module.__all__) - constants - imported


def public_members(thing: Any) -> dict[str, Any]:
    """Return the public methods of a class that are defined in bitfold."""
    if not inspect.isclass(thing):
        return {}
    own = [base for base in reversed(thing.__mro__) if base.__module__.startswith("bitfold")]
    return {
        name: member
        for base in own
        for name, member in vars(base).items()
        if not name.startswith("_") and isinstance(member, CALLABLE) and is_ours(member)
    }


def is_ours(member: Any) -> bool:
    """Return whether a member is defined in bitfold; pydantic adds methods to classes."""
    function = getattr(member, "fget", None) or getattr(member, "__func__", member)
    return getattr(function, "__module__", "bitfold").split(".")[0] == "bitfold"


def sections(thing: Any) -> set[str]:
    """Return the numpydoc sections of a docstring."""
    doc = inspect.getdoc(thing) or ""
    return set(re.findall(r"^(\w[\w ]*)\n-+$", doc, re.MULTILINE))


def raises_directly(function: FunctionType) -> bool:
    """Return whether a function raises, or calls a check that does."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    return any(
        isinstance(node, ast.Raise)
        or (isinstance(node, ast.Attribute) and re.match(r"(check|raise)_", node.attr))
        or (isinstance(node, ast.Name) and re.match(r"_?(check|raise)_", node.id))
        for node in ast.walk(tree)
    )


def missing_sections(function: FunctionType, member: Any = None) -> set[str]:
    """Return the numpydoc sections that the docstring of a function, or of a member, lacks.

    Only the member inherits a docstring; the function is what a decorator wraps.
    """
    signature, present = inspect.signature(function), sections(member or function)
    required = set()
    if set(signature.parameters) - {"self", "cls"}:
        required.add("Parameters")
    if signature.return_annotation not in (None, "None", "NoReturn", "Self", inspect._empty):
        required.add("Returns")
    if raises_directly(function):
        required.add("Raises")
    if "Yields" in present:
        present.add("Returns")
    return required - present


def needs_parameters(thing: Any) -> bool:
    """Return whether a class has a constructor of its own that takes parameters."""
    constructor = vars(thing).get("__init__") if inspect.isclass(thing) else None
    names = set(inspect.signature(constructor).parameters) if constructor else set()
    return bool(names - {"self", "args", "kwargs"})


def incomplete(name: str, thing: Any) -> dict[str, set[str]]:
    """Return what the docstrings of a public name and of its own methods lack."""
    found: dict[str, set[str]] = {}
    if not inspect.getdoc(thing):
        found[name] = {"docstring"}
    elif inspect.isfunction(thing):
        found[name] = missing_sections(thing)
    if inspect.isclass(thing) or inspect.isfunction(thing):
        is_exception = inspect.isclass(thing) and issubclass(thing, Exception)
        if ">>>" not in (inspect.getdoc(thing) or "") and not is_exception:
            found.setdefault(name, set()).add("Examples")
        if needs_parameters(thing) and not {"Parameters", "Attributes"} & sections(thing):
            found.setdefault(name, set()).add("Parameters")
    for member, value in public_members(thing).items():
        function = inspect.unwrap(getattr(value, "__func__", value))
        if not inspect.getdoc(value):
            found[f"{name}.{member}"] = {"docstring"}
        elif inspect.isfunction(function):
            found[f"{name}.{member}"] = missing_sections(function, value)
    return {called: lacking for called, lacking in found.items() if lacking}


@pytest.mark.parametrize("name", MODULES)
def test_docstrings_are_complete(name: str) -> None:
    module = importlib.import_module(name)
    assert module.__doc__
    public = sorted(set(module.__all__) - {"__version__"})
    found = [incomplete(called, getattr(module, called)) for called in public]
    assert [entry for entry in found if entry] == []


def test_packages_declare_their_names() -> None:
    packages = {f"bitfold.{path.parent.name}" for path in ROOT.glob("[a-z]*/__init__.py")}
    assert packages | {"bitfold"} <= set(MODULES)


def test_dir_lists_the_declared_names_and_the_modules() -> None:
    listed = dir(bitfold)
    assert listed == sorted(set(listed))
    # Without Dask, bitfold.distributed cannot be imported, and so help(bitfold) would fail.
    assert {*bitfold.__all__, *bitfold._MODULES} - set(listed) == {"distributed"}
    assert {"datasets", "hashers"} <= set(listed)
    assert all(getattr(bitfold, name) is not None for name in listed)
    with pytest.raises(AttributeError, match=r"module 'bitfold' has no attribute 'nothing'\."):
        bitfold.nothing  # noqa: B018


def test_modules_need_no_import() -> None:
    program = "import bitfold as bf; print(bf.metrics.__name__, bf.errors.__name__)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["bitfold.metrics", "bitfold.errors"]
    for name in bitfold._MODULES:
        assert (ROOT / name / "__init__.py").exists() or (ROOT / f"{name}.py").exists(), name


def test_star_import_gives_the_declared_names() -> None:
    namespace: dict[str, Any] = {}
    exec("from bitfold import *", namespace)
    assert namespace.keys() - {"__builtins__"} == set(bitfold.__all__)


def test_lazy_names_match_those_of_type_checkers() -> None:
    tree = ast.parse((ROOT / "__init__.py").read_text(encoding="utf-8"))
    seen = {
        alias.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("bitfold.")
        for alias in node.names
    }
    assert seen.pop("__version__") == "bitfold._version"
    assert seen == bitfold._HOMES
    assert {*seen, "__version__"} == set(bitfold.__all__)


def test_version_follows_pep_440() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc|\.dev|\.post)\d+)?", bitfold.__version__)
