"""The hooks of the site: the page of the command line has every command and option."""

from __future__ import annotations

import importlib.util
import re
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from tests.documentation import ROOT

from bitfold.cli._app import COMMANDS, load_command

PAGE = ROOT / "docs" / "api" / "command-line.md"
NAMES = [name for commands in COMMANDS.values() for name in commands]


@pytest.fixture(scope="module")
def hooks() -> ModuleType:
    spec = importlib.util.spec_from_file_location("hooks", ROOT / "docs" / "hooks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def render(hooks: ModuleType, markdown: str) -> str:
    config = SimpleNamespace(docs_dir=str(ROOT / "docs"))
    return str(hooks.on_page_markdown(markdown, config))


@pytest.fixture(scope="module")
def page(hooks: ModuleType) -> str:
    return render(hooks, PAGE.read_text("utf-8"))


def test_page_lists_every_command(hooks: ModuleType, page: str) -> None:
    assert hooks.COMMANDS_MARK not in page
    assert re.findall(r"^### bitfold (\w+)$", page, re.MULTILINE) == NAMES
    panels = re.findall(r"^## (.*)$", page, re.MULTILINE)
    assert panels == [*COMMANDS, "Exit codes", "In Python"]


@pytest.mark.parametrize("name", NAMES)
def test_command_has_its_options_and_an_example(name: str, page: str) -> None:
    section = page.split(f"### bitfold {name}\n")[1].split("\n##")[0]
    command: Any = load_command(name)
    cells = re.findall(r"^\| `(.*?)` \|", section, re.MULTILINE)
    shown = {word.rstrip(",") for cell in cells for word in cell.split()}
    for parameter in command.params:
        if parameter.param_type_name == "option":
            assert shown.issuperset(parameter.opts)
    assert f"```console\nbitfold {name} " in section


def test_rows_of_tables_have_two_cells(page: str) -> None:
    rows = re.findall(r"^\| .*$", page, re.MULTILINE)
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {3}


def test_help_is_not_read_as_markup(hooks: ModuleType) -> None:
    assert hooks._escape("a_b *c* <d> [x|y]") == r"a\_b \*c\* &lt;d&gt; \[x\|y\]"


def test_other_pages_are_not_changed(hooks: ModuleType) -> None:
    text = (ROOT / "docs" / "limits.md").read_text("utf-8")
    assert render(hooks, text) == text
