"""``bitfold explore``: a page in the browser to look at what was learned."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from bitfold.explorer.address import Place
    from bitfold.explorer.collection import Collection


def explore(
    indexes: Annotated[
        list[Path],
        typer.Argument(help="An index; two, with two models, to compare.", exists=True),
    ],
    model: Annotated[
        list[Path],
        typer.Option(help="The model of the index; once for each index, in order.", exists=True),
    ],
    images: Annotated[
        Path | None,
        typer.Option(
            help="A folder of pictures, named by id or in order, or .npy or .npz.", exists=True
        ),
    ] = None,
    vectors: Annotated[
        Path | None,
        typer.Option(help="The items' vectors, for exact neighbors and the map."),
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option(help="Labels, to color by: .npy, or text, one a line."),
    ] = None,
    text: Annotated[Path | None, typer.Option(help="Text, one item a line.", exists=True)] = None,
    sample: Annotated[int, typer.Option(min=1, max=50_000, help="Items on the map.")] = 4000,
    host: Annotated[str, typer.Option(help="Where to listen; 0.0.0.0 is everywhere.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 is any free one.")] = 0,
    allow_host: Annotated[
        list[str] | None, typer.Option(help="A name the server may be called by, as by a proxy.")
    ] = None,
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print the address as JSON.")] = False,
) -> None:
    """Look at codes in the browser: the map, what a query finds, and what the bits are worth.

    Everything stays on this machine unless --host says otherwise, and the address that is
    printed carries a token that opens it. Ctrl-C ends it.

    Example: bitfold explore my.index --model model.bitfold --images pictures/
    """
    if len(indexes) > 2 or len(model) != len(indexes):
        came = f"{len(indexes)} and {len(model)}"
        raise typer.BadParameter(f"indexes must be one or two, each with a model, got {came}.")
    _check_extra()
    from bitfold.explorer.address import Place

    place = Place.bind(host, port)
    collection = _load(indexes, model, images, vectors, labels, text, sample)
    from bitfold.explorer.server import serve

    opened = browser and sys.stdout.isatty()
    serve(collection, place, tuple(allow_host or ()), lambda: _announce(place, opened, as_json))


def _check_extra() -> None:
    try:
        import fastapi  # noqa: F401
        import PIL  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        extra = 'pip install "bitfold[explorer]"'
        raise ImportError(f"bitfold explore needs FastAPI, uvicorn and Pillow: {extra}.") from None


def _load(
    indexes: list[Path],
    models: list[Path],
    images: Path | None,
    vectors: Path | None,
    labels: Path | None,
    text: Path | None,
    sample: int,
) -> Collection:
    """Read everything and draw the maps, with a bar for each model."""
    from contextlib import ExitStack

    from bitfold.cli._inputs import read_labels, read_vectors
    from bitfold.cli.terminal import bars

    with bars() as shown, ExitStack() as work:
        with shown.spinner("reading"):
            # Under the spinner, because these imports take a second or two.
            import numpy as np

            from bitfold.explorer.collection import prepare
            from bitfold.explorer.images import read_album
            from bitfold.explorer.items import gather, read_lines
            from bitfold.explorer.models import Coded

            opened = zip(indexes, models, _names(models), strict=True)
            coded = [Coded.open(*each) for each in opened]
            ids = np.unique(np.concatenate([each.ids for each in coded]))
            items = gather(
                ids,
                vectors=None if vectors is None else read_vectors(vectors),
                labels=None if labels is None else read_labels(labels),
                text=None if text is None else read_lines(text),
                album=None if images is None else read_album(images, ids),
            )
        return prepare(coded, items, sample, lambda name: work.enter_context(shown.bar(name)))


def _names(models: list[Path]) -> list[str]:
    """Name models by their files, and by their folders too where the files are named alike."""
    names = [path.stem for path in models]
    return names if len(set(names)) == len(names) else [str(path) for path in models]


def _announce(place: Place, opened: bool, as_json: bool) -> None:
    """Say where the page is, and open it."""
    import json
    import webbrowser
    from threading import Thread

    if as_json:
        typer.echo(json.dumps({"url": place.url, "host": place.host, "port": place.port}))
    else:
        typer.echo(f"Explorer at {place.url}\nCtrl-C ends it.")
    if not place.loopback:
        warning = "Whoever has this address can look from other machines; it is not encrypted."
        typer.echo(warning, err=True)
    sys.stdout.flush()
    if opened:
        # Beside the server, because a browser may want the page before it returns.
        Thread(target=webbrowser.open, args=(place.url,), daemon=True).start()
