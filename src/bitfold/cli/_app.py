"""The root command, and the table of all commands."""

from __future__ import annotations

import sys
from importlib import import_module
from io import TextIOWrapper
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from bitfold._version import __version__
from bitfold.cli import _interrupts
from bitfold.cli._errors import describe_exit_codes

COMMANDS: dict[str, dict[str, str]] = {
    "Build and search": {
        "build": "Make a collection from vectors: codes, ids, metadata and vectors in one folder.",
        "fit": "Learn codes from vectors, and write the model.",
        "encode": "Encode vectors with a model, and write a codes file.",
        "index": "Build an index from codes.",
        "search": "Find the nearest items of a collection or an index.",
        "dedup": "Group near-duplicates, and say which items to keep.",
    },
    "Measure": {
        "evaluate": "Measure how good the codes of a model are, and say what to do.",
        "choose": "Choose a method and a code length for a budget or a target.",
        "compare": "Compare methods and code lengths on your data, and recommend one.",
    },
    "Move data": {
        "push": "Copy a collection or an index into Postgres, LanceDB or a faiss file.",
        "pull": "Copy codes from Postgres, LanceDB or a faiss file into an index.",
    },
    "Try": {
        "sample": "Write a small data set to try the commands on.",
    },
    "Inspect": {
        "info": "Show what a collection, an index, a model or a codes file contains.",
        "verify": "Check every byte of a collection, an index, a model or a codes file.",
        "explore": "Look at codes in the browser.",
    },
}
"""Panels of the help page, and their commands with the first line of their help.

The command ``name`` is the function ``name`` in ``bitfold/cli/name.py``.
"""


def load_command(name: str) -> Any:
    """Import the module of a command, and return its parser; its ``EPILOG`` ends the help page."""
    module = import_module(f"bitfold.cli.{name}")
    single = typer.Typer(add_completion=False, context_settings=app.info.context_settings)
    single.command(name, epilog=getattr(module, "EPILOG", None))(getattr(module, name))
    return typer.main.get_command(single)


class LazyGroup(TyperGroup):
    """A group whose commands are imported when they run; help and completion use the table.

    numpy, scikit-learn, faiss and numba take seconds to import, too long for ``bitfold --help``.
    """

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the name, the command and the remaining arguments."""
        name, command, rest = super().resolve_command(ctx, args)
        loaded = command and load_command(str(name))
        _interrupts.unwind_on_signals()
        return name, loaded, rest


app = typer.Typer(
    name="bitfold",
    cls=LazyGroup,
    help="Turn vectors into short binary codes, and search them.",
    epilog=describe_exit_codes(),
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _make_placeholder() -> None:
    """Return a stand-in for a command, so that help lists it."""


for _panel, _commands in COMMANDS.items():
    for _name, _help in _commands.items():
        app.command(_name, help=_help, rich_help_panel=_panel)(_make_placeholder)


def _show_version(requested: bool) -> None:
    if requested:
        typer.echo(f"bitfold {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _run_root(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    for stream in (sys.stdout, sys.stderr):
        # A terminal or pipe that cannot show a character gets a question mark, not an error.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
