"""Stores that are tables of a database: vectors and columns next to the codes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, Self

from numpy.typing import ArrayLike

from bitfold import _validation
from bitfold._progress import show_progress
from bitfold._types import Ids, ProgressCallback
from bitfold.errors import StoreError
from bitfold.search import Batch
from bitfold.stores.columns import CODE_COLUMN, ID_COLUMN, VECTOR_COLUMN
from bitfold.stores.conditions import Condition, Where, parse_conditions
from bitfold.stores.contract import Store
from bitfold.stores.loading import BatchLoader
from bitfold.stores.schema import ColumnNames, StoreSchema


class TableStore(Store):
    """A table with ids, codes, and optionally vectors and columns of the user.

    Parameters
    ----------
    schema
        Code length, vectors and columns of the table, for the constructors of subclasses.

    Attributes
    ----------
    n_bits
        Length of the codes.
    n_features
        Width of the vectors; None if the table has no vectors.

    Examples
    --------
    >>> from bitfold import Codes
    >>> from bitfold.stores import LanceStore
    >>> store = LanceStore.create("lancedb", "words", n_bits=2, columns={"word": str})
    >>> store.add(Codes.from_bits([[0, 1], [1, 1]]), columns={"word": ["yes", "no"]})
    >>> store.columns([1, 0])
    {'word': ['no', 'yes']}
    """

    _MAX_FEATURES: int | None = None

    def __init__(self, schema: StoreSchema) -> None:
        super().__init__(schema)
        self.n_features = schema.n_features

    @classmethod
    def create(
        cls,
        database: Any,
        table: str,
        n_bits: int,
        *,
        n_features: int | None = None,
        columns: Mapping[str, type] | None = None,
        batches: Iterable[Batch] = (),
        replace: bool = False,
        progress: ProgressCallback | None = None,
        connect_options: Mapping[str, Any] | None = None,
    ) -> Self:
        """Create a table and fill it, as one change.

        Parameters
        ----------
        database
            Address of the database: see :class:`LanceStore` and :class:`PgvectorStore`.
        table
            Name of the table.
        n_bits
            Length of the codes.
        n_features
            Width of the vectors, to store them for re-ranking.
        columns
            Names and types of further columns: bool, int, float, str or datetime.
        batches
            Items to fill the table with, such as ``index.batches()``.
        replace
            Whether to replace a table of the same name.
        progress
            Called with (stage, done, total) after each batch.
        connect_options
            Keyword arguments of ``lancedb.connect`` or ``psycopg.connect``.

        Returns
        -------
        TableStore
            The new store.

        Raises
        ------
        ParameterError
            If an argument is not allowed, or a batch does not fit.
        FileExistsError
            If the table exists and ``replace`` is False.
        StoreError
            If the database rejects the request.
        """
        schema = StoreSchema.check(n_bits, n_features, columns, cls.__name__, cls._MAX_FEATURES)
        with show_progress(progress) as report:
            loader = BatchLoader(batches, schema, cls.__name__, report)
            return cls._create(database, dict(connect_options or {}), table, loader, replace)

    @classmethod
    def open(
        cls,
        database: Any,
        table: str,
        *,
        id_column: str = ID_COLUMN,
        code_column: str = CODE_COLUMN,
        vector_column: str = VECTOR_COLUMN,
        connect_options: Mapping[str, Any] | None = None,
    ) -> Self:
        """Open a table that :meth:`create` made, or any other that has ids and codes.

        Parameters
        ----------
        database
            Address of the database: see :class:`LanceStore` and :class:`PgvectorStore`.
        table
            Name of the table.
        id_column
            Column of the ids, 64-bit integers.
        code_column
            Column of the codes.
        vector_column
            Column of the vectors, if the table has one.
        connect_options
            Keyword arguments of ``lancedb.connect`` or ``psycopg.connect``.

        Returns
        -------
        TableStore
            The store.

        Raises
        ------
        MissingStoreError
            If there is no such table.
        ParameterError
            If the columns do not hold ids and codes.
        StoreError
            If the database rejects the request.
        """
        names = ColumnNames(id_column, code_column, vector_column)
        return cls._open(database, dict(connect_options or {}), table, names)

    @abstractmethod
    def columns(self, ids: ArrayLike) -> dict[str, list[Any]]:
        """Return the columns of some ids, in the order of the ids.

        Parameters
        ----------
        ids
            Ids of codes that are present; they may repeat.

        Returns
        -------
        dict
            A list of values per column; None marks a missing value.

        Raises
        ------
        DataError
            If an id is not present.
        """

    @classmethod
    @abstractmethod
    def _create(
        cls, database: Any, options: dict[str, Any], table: str, loader: BatchLoader, replace: bool
    ) -> Self: ...

    @classmethod
    @abstractmethod
    def _open(
        cls, database: Any, options: dict[str, Any], table: str, names: ColumnNames
    ) -> Self: ...

    @abstractmethod
    def _compile_conditions(self, groups: list[list[Condition]]) -> Any:
        """Return conditions on known columns in the terms of the engine."""

    @abstractmethod
    def _find_meeting(self, ids: Ids, conditions: Any) -> Ids:
        """Return those of some ids whose rows meet conditions, in any order."""

    def _compile_where(self, where: Where | None) -> Any:
        owner = type(self).__name__
        groups = parse_conditions(where, owner)
        known = [self._schema.names.id, *self._schema.column_types]
        for column, *_ in (condition for group in groups for condition in group):
            if column not in known:
                requirement = f"one of {', '.join(map(repr, known))}"
                _validation.raise_invalid("column in where", owner, requirement, repr(column))
        return self._compile_conditions(groups) if groups else None

    def _check_has_vectors(self) -> int:
        """Return the width of the vectors; raise if there are none."""
        if self.n_features is None:
            raise StoreError(
                f"This {type(self).__name__} keeps no vectors; pass n_features to create()."
            )
        return self.n_features
