"""The documentation: every block of code runs, and the reference lists every public name.

pytest runs the Python blocks as doctests of the pages; this module runs shell commands and SQL.
"""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
import shlex
import shutil
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
import typer
from reproduction.command import PAGE_COMMANDS
from reproduction.command import app as reproduction_app
from tests import test_public_names
from tests.documentation import PAGES, ROOT, Block, blocks_of, lay_out, make_databases
from tests.explorer.conftest import running
from tests.integrations.frameworks import list_missing_modules
from tests.stores.postgres_server import start_postgres_on_localhost

import bitfold as bf
from bitfold.cli._app import app

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
BLOCKS = [(page, block) for page in PAGES for block in blocks_of(page.read_text("utf-8"))]
RUN_HERE = [
    page
    for page in PAGES
    if any(of == page and block.language in ("console", "sql") for of, block in BLOCKS)
]
WITH_SCRIPTS = sorted({page for page, block in BLOCKS if block.language == "py"})

TOO_LONG = [
    r"compare mnist",  # hours, and MNIST
]
"""Commands whose arguments are only parsed, by the command's own parser."""

Variables = dict[str, str]

UsageError = typer.BadParameter.__mro__[1]
"""Error of unknown options; typer itself does not export it."""


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return lay_out(tmp_path_factory.mktemp("files"))


@pytest.fixture(scope="module")
def postgres() -> Iterator[Variables]:
    with start_postgres_on_localhost() as variables:
        yield variables


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_is_run(page: Path) -> None:
    text = page.read_text("utf-8")
    blocks = blocks_of(text)
    assert len(re.findall(r"^\s*```", text, re.MULTILINE)) == 2 * len(blocks)
    assert not re.search(r"^\s*~~~", text, re.MULTILINE)
    for block in blocks:
        assert block.language in ("python", "py", "console", "sql"), f"{page}:{block.line}"
        if block.language == "python":
            assert_is_run_completely(block)


def assert_is_run_completely(block: Block) -> None:
    """Raise unless doctest runs every line of a Python block."""
    pieces = doctest.DocTestParser().parse(block.text)
    examples = [piece for piece in pieces if isinstance(piece, doctest.Example)]
    assert examples, block
    assert all(isinstance(piece, doctest.Example) or not piece.strip() for piece in pieces), block
    assert not any(doctest.SKIP in example.options for example in examples), block
    # Without an empty line before it, doctest takes the closing fence for expected output.
    assert not examples[-1].want or block.text.endswith("\n\n"), block


@pytest.mark.parametrize("page", WITH_SCRIPTS, ids=name_of)
def test_scripts_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Run blocks without prompts, which readers can copy, one after another as one program."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for block in blocks_of(page.read_text("utf-8")):
        if block.language == "py":
            exec(compile(block.text, f"{page}:{block.line}", "exec"), names)
    assert capsys.readouterr().out.strip()


def anchors_of(path: Path) -> set[str]:
    """Return the anchors of the headings of a page, as MkDocs makes them."""
    headings = re.findall(r"^#+ (.*)$", path.read_text("utf-8"), re.MULTILINE)
    plain = [re.sub(r"[^\w\s-]", "", heading).strip().lower() for heading in headings]
    return {re.sub(r"[\s-]+", "-", heading) for heading in plain}


def broken_links(page: Path) -> list[str]:
    """Return the links of a page to missing files or headings of this repository."""
    links = re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8"))
    broken = []
    for link in (link for link in links if "://" not in link):
        name, _, anchor = re.sub("#only-(light|dark)$", "", link).partition("#")
        target = page.parent / name if name else page
        if not target.exists() or (anchor and anchor not in anchors_of(target)):
            broken.append(link)
    return broken


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_to_files_and_headings(page: Path) -> None:
    assert broken_links(page) == []


def test_broken_links_are_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# The page\n[a](#the-page) [b](#nowhere) [c](none.md) [d](http://x)\n")
    assert broken_links(page) == ["#nowhere", "none.md"]


def rows_of(path: Path) -> dict[str, list[str]]:
    """Return the cells of the tables of a page by their first cell, without bold marks."""
    lines = [line for line in path.read_text("utf-8").splitlines() if line.startswith("| ")]
    cells = [
        [cell.strip() for cell in line.replace("**", "").strip("|").split("|")] for line in lines
    ]
    return {first: rest for first, *rest in cells}


def test_front_page_has_the_figures_of_the_readme() -> None:
    measured, shown = rows_of(ROOT / "README.md"), rows_of(ROOT / "docs" / "index.md")
    common = measured.keys() & shown.keys() - {"code", "---"}
    assert len(common) == 5
    for code in common:
        n_bytes, mean_precision, precision_10, _, _, rescored = measured[code]
        assert shown[code] == [n_bytes, precision_10, mean_precision, rescored]


def test_pytest_collects_every_page() -> None:
    options = PYPROJECT["tool"]["pytest"]["ini_options"]
    assert "--doctest-glob=*.md" in options["addopts"]
    looked_into = [place.rstrip("/") for place in options["testpaths"]]
    assert {"README.md", "docs"} <= set(looked_into)


@pytest.mark.parametrize("page", RUN_HERE, ids=name_of)
def test_commands_run(
    page: Path,
    files: Path,
    warm: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    text = page.read_text("utf-8")
    shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    variables: Variables = {}
    if "postgresql://" in text:
        variables = request.getfixturevalue("postgres")
        make_databases(text, variables)
    for block in blocks_of(text):
        if block.language == "sql":
            run_sql(block.text, text, variables)
        elif block.language == "console":
            for line in lines_of(block.text):
                run_line(line, lambda *words: warm(*words, within=tmp_path, variables=variables))


def lines_of(text: str) -> list[list[str]]:
    """Return the words of each command, as a shell splits them; a backslash joins lines."""
    joined = text.replace("\\\n", " ").splitlines()
    return [words for line in joined if (words := shlex.split(line, comments=True))]


def run_line(words: list[str], warm: Callable[..., Any]) -> None:
    """Run a shell command, or check that what it names exists; fail for unknown commands."""
    command, arguments = words[0], words[1:]
    if command == "bitfold" and any(re.match(long, " ".join(arguments)) for long in TOO_LONG):
        parse(app, arguments)
    elif words[:2] == ["bitfold", "explore"]:
        look_at(arguments[1:])
    elif command == "bitfold":
        remove_output(arguments)
        done = warm(*arguments)
        assert done.returncode == 0, f"{shlex.join(words)}\n{done.stdout}{done.stderr}"
    elif command == "make":
        makefile = (ROOT / "Makefile").read_text("utf-8")
        for target in arguments:
            assert re.search(rf"^{re.escape(target)}:", makefile, re.MULTILINE), target
    elif words[:2] == ["pip", "install"]:
        for requirement in (word for word in words[2:] if word.startswith("bitfold")):
            installable(requirement)
    elif words[:3] == ["python", "-m", "benchmarks"]:
        for group in words[3:]:
            assert (ROOT / "benchmarks" / f"{group}.py").exists(), group
    elif words[:3] == ["python", "-m", "reproduction"]:
        parse(reproduction_app, words[3:] if words[3] in PAGE_COMMANDS else ["run", *words[3:]])
    else:
        pytest.fail(f"Unknown command: {shlex.join(words)}.")


def remove_output(arguments: list[str]) -> None:
    """Remove the output of a command, which other pages need and commands do not replace."""
    if "--out" in arguments:
        path = Path(arguments[arguments.index("--out") + 1])
        if path.is_dir():
            shutil.rmtree(path)
        path.unlink(missing_ok=True)


def parse(commands: typer.Typer, arguments: list[str]) -> None:
    """Parse the arguments of a command without running it."""
    group: Any = typer.main.get_command(commands)
    name, command, rest = group.resolve_command(group.make_context("bitfold", []), arguments)
    command.make_context(name, rest)


def look_at(arguments: list[str]) -> None:
    """Start the explorer, request its page, and stop it."""
    with running(*arguments) as server:
        page = httpx.get(server.url, follow_redirects=True)
        assert page.status_code == 200
        assert "<html" in page.text


def installable(requirement: str) -> None:
    """Check that the extras of ``bitfold[a,b]`` exist."""
    named = re.fullmatch(r"bitfold(?:\[([\w,]+)\])?", requirement)
    assert named, requirement
    if named[1] is None:
        return
    assert set(named[1].split(",")) <= PYPROJECT["project"]["optional-dependencies"].keys()


def run_sql(statement: str, text: str, variables: Variables) -> None:
    """Run a statement in the database of the page; raise if it finds nothing."""
    found = re.search(r"postgresql://localhost/\w+", text)
    assert found
    port, user = variables["PGPORT"], variables["PGUSER"]
    with psycopg.connect(found[0], port=port, user=user) as connection:
        assert connection.execute(statement.encode()).fetchall()


@pytest.mark.parametrize(
    "line",
    [
        "rm -rf build",
        "bitfold frob",
        "make nothing",
        'pip install "bitfold[nothing]"',
        "python -m reproduction fig-mnist --frob",
    ],
)
def test_line_that_cannot_run_fails(line: str, warm: Callable[..., Any]) -> None:
    with pytest.raises((AssertionError, pytest.fail.Exception, UsageError)):
        run_line(shlex.split(line), warm)


@pytest.mark.parametrize(
    "text",
    ["x = 1\n", ">>> x = 1\n\nx = 2\n", ">>> x  # doctest: +SKIP\n1\n\n", ">>> 1\n1\n", "\n"],
)
def test_python_that_is_not_run_fails(text: str) -> None:
    with pytest.raises(AssertionError):
        assert_is_run_completely(Block("python", text, 1))


def documented() -> list[str]:
    """Return the names that the reference lists and that can be imported."""
    pages = sorted((ROOT / "docs" / "api").glob("*.md"))
    names = [
        name for page in pages for name in re.findall(r"^::: (\S+)$", page.read_text("utf-8"), re.M)
    ]
    missing = list_missing_modules()
    return [name for name in names if name.rpartition(".")[0] not in missing]


def thing(name: str) -> Any:
    module, _, last = name.rpartition(".")
    return getattr(importlib.import_module(module), last)


def public_modules() -> list[str]:
    """Return the packages that declare their names, and the public modules next to them."""
    root = test_public_names.ROOT
    files = [path for path in root.glob("[a-z]*.py") if not path.stem.startswith("_")]
    return [*test_public_names.MODULES, *(f"bitfold.{path.stem}" for path in files)]


def public_names(name: str) -> list[str]:
    module = importlib.import_module(name)
    declared = getattr(module, "__all__", None)
    if declared is not None:
        return [each for each in declared if each != "__version__"]
    return [
        each
        for each, value in vars(module).items()
        if not each.startswith("_")
        and getattr(value, "__module__", "") == name
        and (inspect.isclass(value) or inspect.isfunction(value))
    ]


def test_table_of_the_reference_has_every_name_of_the_package() -> None:
    page = (ROOT / "docs" / "api" / "index.md").read_text("utf-8")
    names = re.findall(r"^\| \[?`bitfold\.(\w+)`", page, re.MULTILINE)
    assert sorted(names) == sorted(bf.__all__)


def test_every_public_name_is_in_the_reference() -> None:
    shown = documented()
    assert len(shown) == len(set(shown))
    things = {id(thing(name)) for name in shown}
    missing = [
        f"{module}.{name}"
        for module in public_modules()
        for name in public_names(module)
        if id(getattr(importlib.import_module(module), name)) not in things
    ]
    assert missing == []
