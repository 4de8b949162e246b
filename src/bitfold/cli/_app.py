"""The frame that the verbs hang in."""

from __future__ import annotations

import sys
from io import TextIOWrapper
from typing import Annotated

import typer

from bitfold._version import __version__
from bitfold.cli.compare import compare
from bitfold.cli.encode import encode
from bitfold.cli.evaluate import evaluate
from bitfold.cli.explore import explore
from bitfold.cli.fit import fit
from bitfold.cli.index import index
from bitfold.cli.info import info
from bitfold.cli.pull import pull
from bitfold.cli.push import push
from bitfold.cli.search import search
from bitfold.cli.verify import verify

app = typer.Typer(
    name="bitfold",
    help="Short binary codes that keep the shape of your data's manifold, and search in them.",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(compare)
app.command()(encode)
app.command()(evaluate)
app.command()(fit)
app.command()(index)
app.command()(info)
app.command()(explore)
app.command()(pull)
app.command()(push)
app.command()(search)
app.command()(verify)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"bitfold {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _frame(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True),
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the whole traceback of an error.")
    ] = False,
) -> None:
    for stream in (sys.stdout, sys.stderr):
        # Where a terminal or a pipe has no ℓ, a question mark is better than an error.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
