"""What is computed before the first page: maps, indexes, and how images become vectors."""

from __future__ import annotations

import numpy as np

from bitfold._types import ProgressCallback
from bitfold.explorer.answers import answer_search
from bitfold.explorer.columns import ColumnReader
from bitfold.explorer.image_features import ImageFeatures, find_image_features
from bitfold.explorer.items import Items
from bitfold.explorer.model_view import ModelView
from bitfold.explorer.models import IndexedModel
from bitfold.explorer.plane_map import compute_map
from bitfold.explorer.workspace import Workspace


def prepare_workspace(
    models: list[IndexedModel], items: Items, progress: ProgressCallback
) -> Workspace:
    """Compute what the first page needs: image features, and maps.

    Parameters
    ----------
    models
        Models with their codes.
    items
        What is known about the items.
    progress
        Called with (stage, done, total).

    Returns
    -------
    Workspace
        Ready to be served.
    """
    columns = ColumnReader(items.table)
    views = []
    for model in models:
        report = progress if len(models) == 1 else _name_stages(progress, model.name)
        item_map = compute_map(model, items, report)
        report("index", 0, 1)
        views.append(ModelView(model, items, item_map, columns))
    workspace = Workspace(items, views, _find_features(models, items), columns)
    _warm_up(workspace)
    return workspace


def _name_stages(progress: ProgressCallback, name: str) -> ProgressCallback:
    return lambda stage, done, total: progress(f"{name}: {stage}", done, total)


def _warm_up(workspace: Workspace) -> None:
    """Answer a query with every model: it builds indexes and compiles what all others need."""
    query = workspace.query("point:0")
    for view in workspace.views:
        for rank in (None, "hamming"):
            coded = workspace.code_query(query, view, rank, None)
            groups = view.search.find(coded, 10, 10, None)
            answer_search(workspace, view, query, coded, groups, None, None)
        workspace.count_within(query, view)
        view.channels.find("distance", workspace.code(query, view))
        len(view.ordered_points)


def _find_features(models: list[IndexedModel], items: Items) -> ImageFeatures | None:
    images = items.images
    if images is None:
        return None
    rows = np.linspace(0, len(items) - 1, min(len(items), 256)).astype(np.int64)
    with_image = np.array([row for row in rows.tolist() if row in images], np.int64)
    for model in models:
        if len(with_image):
            width = model.hasher.n_features_in_
            found = find_image_features(images, with_image, model.agreement, width)
            if found is not None:
                return found
    return None
