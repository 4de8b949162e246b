"""Opening what is shown: collections, indexes with their models, and files about items."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bitfold._types import AnyArray, Int64Array, ProgressCallback
from bitfold.collection import is_collection
from bitfold.collection.database import Database
from bitfold.collection.reading import read_snapshot
from bitfold.collection.snapshot import Snapshot
from bitfold.errors import DataError, ParameterError
from bitfold.evaluation import find_metric
from bitfold.explorer.images import ImageColumn, ImageSource, open_images
from bitfold.explorer.item_ids import CollectionIds, IntegerIds, RowIds
from bitfold.explorer.item_table import ItemTable
from bitfold.explorer.item_vectors import ItemVectors
from bitfold.explorer.items import Items, read_lines
from bitfold.explorer.metadata import MetadataPlan
from bitfold.explorer.models import IndexedModel, ModelPaths
from bitfold.io import read_labels

_TEXT_COLUMN, _LABEL_COLUMN = "text", "label"
"""Names of the columns that texts and labels from files become."""

_LABEL_NAMES = ("label", "class", "category")
"""Columns that color the map if none is named."""

_MIN_TEXT_LENGTH = 12
"""Minimum mean length, in characters, of a column that is shown as the text of items."""

_N_SAMPLED_TEXTS = 200
_ROWS_PER_CHECK = 1 << 16


class OpenedModel(NamedTuple):
    """A model with the ids of its items, and the collection it comes from, if any."""

    model: IndexedModel
    ids: RowIds
    snapshot: Snapshot | None


@dataclass(frozen=True)
class ItemSources:
    """Where the data about items are, besides the collection.

    Parameters
    ----------
    metadata
        A CSV, JSON lines or Parquet file.
    text, label, image
        Name of a column; or a text file, a file of labels, a folder or array of images.
    vectors
        Array or memory map, one row per item.
    read_labels
        Reads a file of labels.
    """

    metadata: Path | None = None
    text: str | None = None
    label: str | None = None
    image: str | None = None
    vectors: AnyArray | None = None
    read_labels: Callable[[Path], AnyArray] = read_labels


def open_models(indexes: Sequence[Path], models: Sequence[Path]) -> list[OpenedModel]:
    """Open collections, and indexes with their models, in order.

    Parameters
    ----------
    indexes
        One or two folders: collections or indexes.
    models
        One model file per index.

    Returns
    -------
    list
        Models of the same items.

    Raises
    ------
    DataError
        If the items differ, or there are no codes yet.
    """
    rest = iter(models)
    sources = [path if is_collection(path) else next(rest) for path in indexes]
    opened = [
        _open_collection(path, name) if is_collection(path) else _open_index(path, source, name)
        for path, source, name in zip(indexes, sources, make_names(sources), strict=True)
    ]
    for other in opened[1:]:
        _check_same_items(opened[0], other)
    return opened


def open_items(
    opened: Sequence[OpenedModel], sources: ItemSources, progress: ProgressCallback
) -> Items:
    """Combine what is known about the items of models.

    Parameters
    ----------
    opened
        The models.
    sources
        Files and columns that the user named.
    progress
        Called with (stage, done, total).

    Returns
    -------
    Items
        The combination.

    Raises
    ------
    DataError, ParameterError
        If a file does not fit the items, or a column does not exist.
    """
    first = opened[0]
    snapshot = next((each.snapshot for each in opened if each.snapshot is not None), None)
    plan = MetadataPlan(first.ids, _file_rows(first.ids), snapshot)
    if sources.metadata is not None:
        plan.add_file(sources.metadata)
    text_file = _add_file(plan, sources.text, _TEXT_COLUMN, read_lines)
    label_file = _add_file(
        plan, sources.label, _LABEL_COLUMN, lambda path: sources.read_labels(path).tolist()
    )
    table = plan.build(lambda done, total: progress("metadata", done, total))
    text = text_file or _check_role(table, sources.text) or _choose_text(table)
    label = label_file or _check_role(table, sources.label) or _choose_label(table)
    images, column = _open_images(table, plan.file_rows, sources.image, first)
    return Items(table, _open_vectors(opened, sources, plan), images, text, label, column)


def make_names(models: Sequence[Path]) -> list[str]:
    """Return the file names of models, or their paths if the file names are equal."""
    names = [path.stem for path in models]
    return names if len(set(names)) == len(names) else [str(path) for path in models]


def _open_collection(path: Path, name: str) -> OpenedModel:
    folder = path.absolute()
    snapshot = read_snapshot(folder, Database(folder))
    hasher, index = snapshot.hasher, snapshot.index
    if hasher is None or index is None:
        raise DataError(f"{path} has no codes yet, because it has too few items.")
    if not len(index):
        raise DataError(f"{path} is empty; add items to it first.")
    model, _ = IndexedModel.from_index(name, hasher, index, ModelPaths(collection_path=path))
    return OpenedModel(model, CollectionIds(snapshot), snapshot)


def _open_index(index: Path, model: Path, name: str) -> OpenedModel:
    opened, ids = IndexedModel.open(index, model, name)
    return OpenedModel(opened, IntegerIds(ids), None)


def _check_same_items(first: OpenedModel, other: OpenedModel) -> None:
    n = len(first.ids)
    is_same = n == len(other.ids)
    for start in range(0, n if is_same else 0, _ROWS_PER_CHECK):
        rows = np.arange(start, min(start + _ROWS_PER_CHECK, n))
        is_same = is_same and first.ids.names(rows) == other.ids.names(rows)
    if not is_same:
        raise DataError(
            f"{first.model.name} and {other.model.name} have codes of different items; encode the "
            f"same items with both models to compare them."
        )


def _file_rows(ids: RowIds) -> Int64Array:
    """Return the row of each item in files: its id in an index, its position in a collection."""
    return ids.ids if isinstance(ids, IntegerIds) else np.arange(len(ids))


def _check_file_rows(plan: MetadataPlan, name: str) -> None:
    if plan.file_rows.min(initial=0) < 0:
        requirement = f"at least 0, because they are rows of {name}"
        raise ParameterError("ids", "the index", requirement, int(plan.file_rows.min()))


def _add_file(
    plan: MetadataPlan, value: str | None, column: str, read: Callable[[Path], list[Any]]
) -> str | None:
    """Add a file as a column, if the value names a file and no column; return the column."""
    if value is None or value in _known_columns(plan) or not _names_file(value):
        return None
    _check_file_rows(plan, value)
    plan.add_column(column, read(Path(value)), value)
    return column


def _known_columns(plan: MetadataPlan) -> set[str]:
    known = set() if plan.snapshot is None else set(plan.snapshot.state.columns)
    known |= {name for each in plan.aligned for name in each.source.types}
    return known if plan.joined is None else known | set(plan.joined.types)


def _names_file(value: str) -> bool:
    """Return whether this is a file, or ``FILE:NAME`` of one."""
    front = value.rpartition(":")[0]
    return Path(value).exists() or bool(front and Path(front).exists())


def _check_role(table: ItemTable, value: str | None) -> str | None:
    """Return the column that the user named; raise if there is no such column or file."""
    if value is None or value in table.columns:
        return value
    known = ", ".join(map(repr, table.columns)) or "none"
    raise DataError(f"{value} is neither a column nor a file; the columns are: {known}.")


def _choose_text(table: ItemTable) -> str | None:
    """Return the column with the longest texts, if they are long enough."""
    names = [name for name, kind in table.columns.items() if kind is str]
    if not names:
        return None
    rows = np.unique(np.linspace(0, len(table) - 1, _N_SAMPLED_TEXTS).astype(np.int64))
    values = table.values(rows, names)
    lengths = {name: float(np.mean([len(v or "") for v in values[name]])) for name in names}
    longest = max(names, key=lambda name: lengths[name])
    return longest if lengths[longest] >= _MIN_TEXT_LENGTH else None


def _choose_label(table: ItemTable) -> str | None:
    kinds = {name: kind for name, kind in table.columns.items() if kind in (str, int, bool)}
    return next((name for name in kinds if name.lower() in _LABEL_NAMES), None)


def _open_images(
    table: ItemTable, file_rows: Int64Array, value: str | None, first: OpenedModel
) -> tuple[ImageSource | None, str | None]:
    """Return the images of the items, and the column with their paths."""
    if value is None:
        return None, None
    if value in table.columns:
        folders = [Path.cwd()]
        if first.snapshot is not None:
            folders.append(first.snapshot.path.parent)

        def read_path(row: int) -> str | None:
            path = table.values(np.array([row]), [value])[value][0]
            return None if path is None else str(path)

        return ImageColumn(read_path, len(table), tuple(folders)), value
    if not Path(value).exists():
        _check_role(table, value)
    names = table.ids.names(np.arange(len(table))) if Path(value).is_dir() else []
    return open_images(Path(value), names, file_rows), None


def _open_vectors(
    opened: Sequence[OpenedModel], sources: ItemSources, plan: MetadataPlan
) -> ItemVectors | None:
    if sources.vectors is not None:
        _check_file_rows(plan, "vectors")
        metric = find_metric(opened[0].model.hasher)
        return ItemVectors.from_array(sources.vectors, metric, plan.file_rows)
    for each in opened:
        if each.snapshot is not None and each.snapshot.vectors is not None:
            return ItemVectors.from_snapshot(each.snapshot)
    return None
