"""``bitfold explore``: look at codes in the browser."""

from __future__ import annotations

import sys
import webbrowser
from contextlib import ExitStack
from pathlib import Path
from threading import Thread
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from typer import Argument, Option

from bitfold.cli._inputs import (
    LABEL_FORMATS,
    VECTOR_FORMATS,
    copy_to_disk,
    read_labels,
    read_vectors,
)
from bitfold.cli._terminal import print_summary, show_progress
from bitfold.collection import Collection, is_collection
from bitfold.errors import DataError
from bitfold.search import HammingIndex

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
        list[Path],
        Argument(help="Collection, or index with --model; two of them to compare.", exists=True),
    ],
    model: Annotated[
        list[Path] | None,
        Option(help="Model of an index; once per index, in the same order.", exists=True),
    ] = None,
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
    label_column: Annotated[
        str | None, Option(help="Metadata column of a collection to color by.")
    ] = None,
    text_column: Annotated[
        str | None, Option(help="Metadata column of a collection to show as text.")
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
    models, n_indexes = model or [], sum(not is_collection(path) for path in indexes)
    if len(indexes) > 2 or len(models) != n_indexes:
        raise typer.BadParameter(
            "One or two collections or indexes are needed, each index with a --model; "
            f"got {n_indexes} indexes and {len(models)} models."
        )
    place = ListenAddress.bind(host, port)
    files = ItemFiles(images, vectors, labels, text, label_column, text_column)
    workspace = _load(indexes, models, files, sample)
    open_browser = browser and sys.stdout.isatty()
    serve(
        workspace, place, tuple(allow_host or ()), lambda: _announce(place, open_browser, as_json)
    )


class ItemFiles(NamedTuple):
    """Where the images, vectors, labels and texts of the items are."""

    images: Path | None
    vectors: Path | None
    labels: Path | None
    text: Path | None
    label_column: str | None
    text_column: str | None


def _load(indexes: list[Path], models: list[Path], files: ItemFiles, sample: int) -> Workspace:
    """Read everything and compute the maps, with one bar per model."""
    with show_progress() as display, ExitStack() as bars:
        with display.spinner("reading"):
            coded = _open_models(indexes, models)
            ids = np.unique(np.concatenate([each.ids for each in coded]))
            kept = next((_read_collection(p, files) for p in indexes if is_collection(p)), {})
            given = {
                "vectors": None if files.vectors is None else read_vectors(files.vectors),
                "labels": None if files.labels is None else read_labels(files.labels),
                "text": None if files.text is None else read_lines(files.text),
                "images": None if files.images is None else open_images(files.images, ids),
            }
            given = {name: value for name, value in given.items() if value is not None}
            items = gather_items(ids, **{**kept, **given})
        return prepare_workspace(
            coded, items, sample, lambda name: bars.enter_context(display.bar(name))
        )


def _open_models(indexes: list[Path], models: list[Path]) -> list[IndexedModel]:
    """Open the collections, and the indexes with their models, in order."""
    rest = iter(models)
    sources = [path if is_collection(path) else next(rest) for path in indexes]
    return [
        _open_collection(path, name)
        if is_collection(path)
        else IndexedModel.open(path, source, name)
        for path, source, name in zip(indexes, sources, _make_names(sources), strict=True)
    ]


def _open_collection(path: Path, name: str) -> IndexedModel:
    """Return the model and the codes of a collection; items are numbered in their order."""
    with Collection.open(path) as collection:
        if collection.hasher is None:
            raise DataError(f"{path} has no codes yet, because it has too few items.")
        index = HammingIndex(collection.hasher.n_bits_)
        index.add(collection.codes())
        return IndexedModel(name, collection.hasher, index, index.buckets())


def _read_collection(path: Path, files: ItemFiles) -> dict[str, Any]:
    """Return the vectors, labels and texts of a collection, as far as it has them."""
    found: dict[str, Any] = {}
    with Collection.open(path) as collection:
        if collection.keep_vectors:
            found["vectors"] = copy_to_disk(collection.open_vectors())
        ids = collection.ids()
        if files.label_column is not None:
            values = collection.metadata(ids, [files.label_column])[files.label_column]
            found["labels"] = np.array(["" if value is None else str(value) for value in values])
        if files.text_column is not None:
            values = collection.metadata(ids, [files.text_column])[files.text_column]
            found["text"] = ["" if value is None else str(value) for value in values]
        elif ids.dtype == object:
            found["text"] = ids.tolist()
    return found


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
