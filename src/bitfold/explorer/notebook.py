"""The explorer in a notebook: the same page in a frame, served by a thread of the notebook."""

from __future__ import annotations

import html
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from bitfold._progress import show_progress
from bitfold._types import PathLike
from bitfold.errors import DataError, ParameterError
from bitfold.explorer.address import ListenAddress

if TYPE_CHECKING:
    from bitfold.collection import CollectionContents

_START_SECONDS = 30.0
_STOP_SECONDS = 10.0


class Explorer:
    """A running explorer, shown as a page in a notebook.

    Parameters
    ----------
    server
        The server, in a thread that is running.
    address
        Where it listens.
    height
        Height of the frame in pixels.

    Attributes
    ----------
    url
        Address of the page, with the token; it opens in any browser on this machine.

    Examples
    --------
    >>> import numpy as np
    >>> import bitfold as bf
    >>> from bitfold.hashers import LSH
    >>> X = np.random.default_rng(0).normal(size=(40, 6))
    >>> hasher = LSH(16, random_state=0).fit(X)
    >>> c = bf.Collection.create("framed.bitfold", X, hasher=hasher)
    >>> explorer = show(c)
    >>> "<iframe" in explorer._repr_html_()
    True
    >>> explorer.close()
    """

    def __init__(self, server: Any, address: ListenAddress, height: int) -> None:
        self.url = address.url
        self._server = server
        self._height = height

    def close(self) -> None:
        """Stop the server; closing twice is allowed."""
        self._server.stop(_STOP_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def _repr_html_(self) -> str:
        address = html.escape(self.url, quote=True)
        return (
            f'<iframe src="{address}" width="100%" height="{self._height}" '
            f'style="border: 1px solid #8884; border-radius: 8px" title="bitfold explorer" '
            f'allow="clipboard-write"></iframe>'
        )

    def __repr__(self) -> str:
        return f"Explorer({self.url})"


def show(
    collection: CollectionContents | PathLike,
    *others: CollectionContents | PathLike,
    text: str | None = None,
    label: str | None = None,
    image: str | None = None,
    metadata: PathLike | None = None,
    height: int = 720,
) -> Explorer:
    """Show a collection in a notebook: the page of ``bitfold explore``, inline.

    The server runs in a thread of this process, and only this machine can reach it. It ends with
    the process, or with ``close()``.

    Parameters
    ----------
    collection
        A collection, or its path. It is shown as it was after its last commit.
    others
        At most one other collection of the same items, to compare the two.
    text
        Metadata column that is shown as the text of items, or a text file; None chooses the
        column with the longest texts.
    label
        Metadata column that colors the map, or a file of labels.
    image
        Metadata column with paths of images, a folder of images named by id, or an array file.
    metadata
        A CSV, JSON lines or Parquet file with more columns: one row per item in order, or with a
        column ``id``.
    height
        Height of the page in pixels.

    Returns
    -------
    The running explorer; as the last value of a cell it becomes the page.

    Raises
    ------
    DataError
        If the collection has no codes yet, or a file does not fit it.
    ImportError
        If the extra ``explorer`` is not installed.

    Examples
    --------
    >>> import numpy as np
    >>> import bitfold as bf
    >>> from bitfold.hashers import LSH
    >>> X = np.random.default_rng(0).normal(size=(40, 6))
    >>> hasher = LSH(16, random_state=0).fit(X)
    >>> c = bf.Collection.create("shown.bitfold", X, hasher=hasher)
    >>> with show(c) as explorer:
    ...     explorer.url.startswith("http://127.0.0.1:")
    True
    """
    paths = [_find_path(each) for each in (collection, *others)]
    if len(paths) > 2:
        raise ParameterError("others", "show", "at most one collection", len(others))
    try:
        from bitfold.explorer.opening import ItemSources, open_items, open_models
        from bitfold.explorer.preparation import prepare_workspace
        from bitfold.explorer.server import BackgroundServer
    except ImportError as error:
        raise ImportError(
            'show needs FastAPI, uvicorn and Pillow: pip install "bitfold[explorer]".'
        ) from error
    sources = ItemSources(None if metadata is None else Path(metadata), text, label, image)
    with show_progress(None) as report:
        opened = open_models(paths, [])
        items = open_items(opened, sources, report)
        workspace = prepare_workspace([each.model for each in opened], items, report)
    address = ListenAddress.bind("127.0.0.1", 0)
    server = BackgroundServer(workspace, address)
    server.start(_START_SECONDS)
    return Explorer(server, address, height)


def _find_path(collection: CollectionContents | PathLike) -> Path:
    from bitfold.collection import CollectionContents, is_collection

    if isinstance(collection, CollectionContents):
        return collection.path
    path = Path(collection)
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist.")
    if not is_collection(path):
        raise DataError(f"{path} is not a collection; use bitfold explore for an index.")
    return path
