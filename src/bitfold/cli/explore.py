"""``bitfold explore``: look at codes in the browser."""

from __future__ import annotations

import sys
import webbrowser
from contextlib import ExitStack
from pathlib import Path
from threading import Thread
from typing import Annotated

import numpy as np
import typer
from typer import Argument, Option

from bitfold.cli._inputs import LABEL_FORMATS, VECTOR_FORMATS, read_labels, read_vectors
from bitfold.cli._terminal import print_summary, show_progress

try:
    from bitfold.explorer.address import ListenAddress
    from bitfold.explorer.images import open_images
    from bitfold.explorer.items import gather_items, read_lines
    from bitfold.explorer.models import IndexedModel
    from bitfold.explorer.server import serve
    from bitfold.explorer.workspace import Workspace, prepare_workspace
except ImportError as error:
    raise ImportError(
        'bitfold explore needs FastAPI, uvicorn and Pillow: pip install "bitfold[explorer]".'
    ) from error


def explore(
    indexes: Annotated[
        list[Path], Argument(help="Index; two, with two models, to compare.", exists=True)
    ],
    model: Annotated[
        list[Path],
        Option(help="Model of the index; once per index, in the same order.", exists=True),
    ],
    images: Annotated[
        Path | None,
        Option(
            help="Folder of images, named by id or in the order of ids, or .npy or .npz.",
            exists=True,
        ),
    ] = None,
    vectors: Annotated[
        Path | None, Option(help=f"Vectors, for exact neighbors and the map: {VECTOR_FORMATS}.")
    ] = None,
    labels: Annotated[Path | None, Option(help=f"Labels to color by: {LABEL_FORMATS}.")] = None,
    text: Annotated[
        Path | None, Option(help="Text file with one line per item.", exists=True)
    ] = None,
    sample: Annotated[int, Option(min=1, max=50_000, help="Items on the map.")] = 4000,
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

    The page shows a map of the items, what a query finds, and statistics of the bits. Everything
    stays on this machine unless --host is given. The printed address contains the access token.
    Press Ctrl-C to stop.

    Example: bitfold explore my.index --model model.bitfold --images pictures/
    """
    if len(indexes) > 2 or len(model) != len(indexes):
        raise typer.BadParameter(
            "One or two indexes are needed, each with a --model; "
            f"got {len(indexes)} indexes and {len(model)} models."
        )
    place = ListenAddress.bind(host, port)
    collection = _load(indexes, model, images, vectors, labels, text, sample)
    open_browser = browser and sys.stdout.isatty()
    serve(
        collection, place, tuple(allow_host or ()), lambda: _announce(place, open_browser, as_json)
    )


def _load(
    indexes: list[Path],
    models: list[Path],
    images: Path | None,
    vectors: Path | None,
    labels: Path | None,
    text: Path | None,
    sample: int,
) -> Workspace:
    """Read everything and compute the maps, with one bar per model."""
    with show_progress() as display, ExitStack() as bars:
        with display.spinner("reading"):
            opened = zip(indexes, models, _make_names(models), strict=True)
            coded = [IndexedModel.open(*each) for each in opened]
            ids = np.unique(np.concatenate([each.ids for each in coded]))
            items = gather_items(
                ids,
                vectors=None if vectors is None else read_vectors(vectors),
                labels=None if labels is None else read_labels(labels),
                text=None if text is None else read_lines(text),
                images=None if images is None else open_images(images, ids),
            )
        return prepare_workspace(
            coded, items, sample, lambda name: bars.enter_context(display.bar(name))
        )


def _make_names(models: list[Path]) -> list[str]:
    """Return the file names of models, or their paths if the file names are equal."""
    names = [path.stem for path in models]
    return names if len(set(names)) == len(names) else [str(path) for path in models]


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
