"""What the rows of a store consist of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

from bitfold import _validation
from bitfold.search.contract import MAX_BITS
from bitfold.stores.columns import CODE_COLUMN, ID_COLUMN, VECTOR_COLUMN, check_column_types


class ColumnNames(NamedTuple):
    """Names of the columns that hold the ids, the codes and the vectors."""

    id: str = ID_COLUMN
    code: str = CODE_COLUMN
    vector: str = VECTOR_COLUMN


@dataclass(frozen=True)
class StoreSchema:
    """Length of the codes, width of the vectors (None without vectors), and the columns.

    A column whose values only the engine understands has the type None: it can be read and
    filtered, but not written.
    """

    n_bits: int
    n_features: int | None = None
    column_types: Mapping[str, type | None] = field(default_factory=dict)
    names: ColumnNames = ColumnNames()  # noqa: RUF009  # a named tuple is immutable

    @classmethod
    def check(
        cls,
        n_bits: Any,
        n_features: Any,
        columns: Mapping[str, type] | None,
        owner: str,
        max_features: int | None = None,
    ) -> Self:
        """Return the schema of a new store from the parameters of the user."""
        check_n_bits(n_bits, owner)
        if n_features is not None:
            _validation.check_integer(n_features, "n_features", owner, low=1, high=max_features)
        return cls(n_bits, n_features, check_column_types(columns, owner))

    @property
    def writable_types(self) -> dict[str, type]:
        """Columns that can be written."""
        return {name: kind for name, kind in self.column_types.items() if kind is not None}


def check_n_bits(n_bits: Any, owner: str) -> int:
    """Return a code length that search supports."""
    return _validation.check_integer(n_bits, "n_bits", owner, low=1, high=MAX_BITS)
