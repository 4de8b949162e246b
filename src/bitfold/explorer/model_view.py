"""A model as the page shows it: its map, colors, regions, duplicates and statistics."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cached_property
from typing import TypeVar

from bitfold._types import Int32Array, UInt16Array
from bitfold.explorer.channels import Channels
from bitfold.explorer.code_search import BucketSearch
from bitfold.explorer.columns import ColumnReader
from bitfold.explorer.density import MapRegions, find_regions
from bitfold.explorer.duplicates import DuplicateGroups
from bitfold.explorer.items import Items
from bitfold.explorer.models import IndexedModel
from bitfold.explorer.plane_map import ItemMap
from bitfold.explorer.regions import name_regions
from bitfold.explorer.schemas import RegionOut
from bitfold.explorer.statistics import compute_statistics
from bitfold.explorer.statistics_schemas import BitStatistics

T = TypeVar("T")


class ModelView:
    """A model with its map, and what is computed from it when it is first asked for.

    Parameters
    ----------
    model
        The model.
    items
        What is known about the items.
    item_map
        The map.
    columns
        Reads metadata columns.
    """

    def __init__(
        self, model: IndexedModel, items: Items, item_map: ItemMap, columns: ColumnReader
    ) -> None:
        self.model = model
        self.map = item_map
        self._items = items
        self._lock = threading.RLock()
        self.channels = Channels(model, items, item_map, columns, self._name_regions)
        fits = items.vectors is not None and items.vectors.width == model.hasher.n_features_in_
        self.vectors = items.vectors if fits else None
        self.search = BucketSearch(model, self.vectors)
        self.duplicates = DuplicateGroups(model)

    @cached_property
    def ordered_points(self) -> UInt16Array:
        """Coordinates of the items in the order of points."""
        return self.map.points[self._items.order]

    @cached_property
    def _statistics(self) -> BitStatistics:
        return compute_statistics(self.model, self._items)

    @cached_property
    def _region_numbers(self) -> MapRegions:
        return find_regions(self.map.points)

    @cached_property
    def _regions(self) -> list[RegionOut]:
        return name_regions(self.model, self._items, self._region_numbers)

    def statistics(self) -> BitStatistics:
        """Return statistics of the codes; computed once."""
        return self._once(lambda: self._statistics)

    def regions(self) -> list[RegionOut]:
        """Return the named regions of the map; computed once."""
        return self._once(lambda: self._regions)

    def _name_regions(self) -> tuple[list[str], Int32Array]:
        names = [region.name or f"cluster {i + 1}" for i, region in enumerate(self.regions())]
        return names, self._region_numbers.numbers

    def _once(self, read: Callable[[], T]) -> T:
        """Let other threads wait while one computes a value."""
        with self._lock:
            return read()
