"""``bitfold explore``: look at codes in the browser."""

from __future__ import annotations

import sys
import webbrowser
from pathlib import Path
from threading import Thread
from typing import Annotated

import typer
from typer import Argument, Option

from bitfold._types import ProgressCallback
from bitfold.cli._inputs import LABEL_FORMATS, VECTOR_FORMATS, read_labels, read_vectors
from bitfold.cli._terminal import print_summary, show_progress
from bitfold.collection import is_collection

try:
    from bitfold.explorer.address import ListenAddress
    from bitfold.explorer.items import Items
    from bitfold.explorer.opening import ItemSources, OpenedModel, open_items, open_models
    from bitfold.explorer.preparation import prepare_workspace
    from bitfold.explorer.server import serve
    from bitfold.explorer.workspace import Workspace
except ImportError as error:
    raise ImportError(
        'bitfold explore needs FastAPI, uvicorn and Pillow: pip install "bitfold[explorer]".'
    ) from error


def explore(
    indexes: Annotated[
        list[Path],
        Argument(help="Collection, or index with --model; two of them to compare.", exists=True),
    ],
    model: Annotated[
        list[Path] | None,
        Option(help="Model of an index; once per index, in the same order.", exists=True),
    ] = None,
    text: Annotated[
        str | None,
        Option(
            help="Metadata column with the text of items, or a text file with one line per item; "
            "by default the column with the longest texts."
        ),
    ] = None,
    image: Annotated[
        str | None,
        Option(
            "--image",
            "--images",
            help="Metadata column with paths of images; a folder of images, named by id or in the "
            "order of ids; or .npy or .npz.",
        ),
    ] = None,
    label: Annotated[
        str | None,
        Option(
            "--label",
            "--labels",
            help=f"Metadata column to color by, or labels: {LABEL_FORMATS}.",
        ),
    ] = None,
    metadata: Annotated[
        Path | None,
        Option(
            help="Table of metadata, .csv, .jsonl or .parquet: one row per item in order, or with "
            "a column id.",
            exists=True,
        ),
    ] = None,
    vectors: Annotated[
        Path | None, Option(help=f"Vectors, for exact neighbors and the map: {VECTOR_FORMATS}.")
    ] = None,
    host: Annotated[
        str, Option(help="Address to listen on; 0.0.0.0 for all interfaces.")
    ] = "127.0.0.1",
    port: Annotated[int, Option(min=0, max=65535, help="Port; 0 for any free one.")] = 0,
    allow_host: Annotated[
        list[str] | None,
        Option(help="Another host name of the server, for example behind a proxy."),
    ] = None,
    browser: Annotated[bool, Option(help="Open the page in the browser.")] = True,
    as_json: Annotated[bool, Option("--json", help="Print the address as JSON.")] = False,
) -> None:
    """Look at codes in the browser.

    The page shows a map of the items, what a query finds, near-duplicates, and what the codes keep
    and lose. Everything stays on this machine unless --host is given. The printed address contains
    the access token. Press Ctrl-C to stop.

    Example: bitfold explore news.bitfold --text title --image path
    """
    models, n_indexes = model or [], sum(not is_collection(path) for path in indexes)
    if len(indexes) > 2 or len(models) != n_indexes:
        raise typer.BadParameter(
            "One or two collections or indexes are needed, each index with a --model; "
            f"got {n_indexes} indexes and {len(models)} models."
        )
    place = ListenAddress.bind(host, port)
    given = None if vectors is None else read_vectors(vectors)
    sources = ItemSources(metadata, text, label, image, given, read_labels)
    opened, items = _open(indexes, models, sources)
    open_browser = browser and sys.stdout.isatty()
    serve(
        lambda report: _prepare(opened, items, report),
        place,
        tuple(allow_host or ()),
        lambda: _announce(place, open_browser, as_json),
    )


def _open(
    indexes: list[Path], models: list[Path], sources: ItemSources
) -> tuple[list[OpenedModel], Items]:
    """Open the models, and what is known about their items."""
    with show_progress() as display, display.bar("reading") as report:
        opened = open_models(indexes, models)
        return opened, open_items(opened, sources, report)


def _prepare(opened: list[OpenedModel], items: Items, report: ProgressCallback) -> Workspace:
    """Compute the maps; progress is shown in the terminal and on the page."""
    with show_progress() as display, display.bar("preparing") as draw:

        def report_both(stage: str, done: int, total: int) -> None:
            draw(stage, done, total)
            report(stage, done, total)

        return prepare_workspace([each.model for each in opened], items, report_both)


def _announce(place: ListenAddress, open_browser: bool, as_json: bool) -> None:
    """Print the address of the page, and open it."""
    summary = {"url": place.url, "host": place.host, "port": place.port}
    text = f"Explorer at {place.url}\nPress Ctrl-C to stop."
    print_summary(summary, text, as_json=as_json)
    if not place.loopback:
        warning = "Anyone with this address can connect from other machines, without encryption."
        typer.echo(warning, err=True)
    sys.stdout.flush()
    if open_browser:
        # In a thread, because a browser may request the page before the call returns.
        Thread(target=webbrowser.open, args=(place.url,), daemon=True).start()
