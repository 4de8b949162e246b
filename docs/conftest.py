"""Run each page in a folder with the files that it names, and with Postgres if it needs one."""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.documentation import lay_out, make_databases
from tests.stores.postgres_server import start_postgres_on_localhost


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the user."""
    return lay_out(tmp_path_factory.mktemp("files"))


@pytest.fixture(scope="session")
def postgres() -> Iterator[dict[str, str]]:
    """The environment variables that select the server on localhost."""
    with start_postgres_on_localhost() as variables:
        yield variables


@pytest.fixture(autouse=True)
def _as_the_page_says(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = request.path.read_text("utf-8")
    if ".npy" in text or "model.bitfold" in text:
        shutil.copytree(request.getfixturevalue("files"), tmp_path, dirs_exist_ok=True)
    if "postgresql://" in text:
        variables = request.getfixturevalue("postgres")
        make_databases(text, variables)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)


class _Namespace:
    """A stand-in for a module."""


@pytest.fixture(autouse=True)
def _main_module(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let classes that a page defines be found in ``__main__``, as in a script, to be pickled."""
    main = _Namespace()
    main.__dict__ = request.node.dtest.globs
    monkeypatch.setitem(sys.modules, "__main__", main)
