"""Every module changes files through ``bitfold.io.file_system`` alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import bitfold
from bitfold.io import file_system

ROOT = Path(bitfold.__file__).parent

METHODS = {"unlink", "rename", "mkdir", "rmdir", "touch", "write_text", "write_bytes", "symlink_to"}
FUNCTIONS = {
    "os": {"open", "fsync", "replace", "rename", "remove", "unlink", "mkdir", "makedirs", "write"},
    "shutil": {"move", "copy", "copyfile", "rmtree"},
}

NOT_FILES = (
    "self._generation.segments.replace(",
    "Collection.open(",
    "HammingIndex.open(",
    "VectorBlocks.open(",
    "os.open(os.devnull",
)
"""Methods with the same names, and a device."""


def changes_of_files(tree: ast.AST) -> Iterator[str]:
    """Yield the calls that change a file, except those of the module itself."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        owner, name = ast.unparse(node.func.value), node.func.attr
        arguments = [arg.value for arg in node.args if isinstance(arg, ast.Constant)]
        modes = [mode for mode in arguments if isinstance(mode, str)]
        if owner == "file_system":
            continue
        is_open = name in ("open", "fdopen", "FileIO") and any(set("wxa+") & set(m) for m in modes)
        is_replace = name == "replace" and len(node.args) == 1 and not node.keywords
        if name in METHODS or name in FUNCTIONS.get(owner, set()) or is_replace or is_open:
            yield ast.unparse(node)


def sources() -> list[Path]:
    """Return the modules of the package, except the one under test."""
    found = ROOT.rglob("*.py")
    return sorted(path for path in found if path != Path(file_system.__file__))


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(ROOT)))
def test_files_are_changed_in_one_module(path: Path) -> None:
    found = list(changes_of_files(ast.parse(path.read_text(encoding="utf-8"))))
    if path.name == "download.py":
        found.remove("io.FileIO(path, 'wb')")  # a temporary file of pooch, synced when it is closed
    assert [call for call in found if not call.startswith(NOT_FILES)] == []


def test_changes_are_found() -> None:
    code = "p.unlink(); os.fsync(1); p.replace(q); p.open('xb'); 'a'.replace('b', ''); p.open('rb')"
    found = list(changes_of_files(ast.parse(code)))
    assert found == ["p.unlink()", "os.fsync(1)", "p.replace(q)", "p.open('xb')"]


def test_mode_of_a_new_file_follows_the_umask(tmp_path: Path) -> None:
    file_system.create_file(tmp_path / "new").close()
    file_system.open_file(tmp_path / "other").close()
    file_system.append_to_file(tmp_path / "third").close()
    modes = {path.stat().st_mode for path in tmp_path.iterdir()}
    (tmp_path / "plain").write_bytes(b"")
    assert modes == {(tmp_path / "plain").stat().st_mode}
