"""The base class of all hashers: fit, transform, embed, encode, save."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import _get_feature_names, check_is_fitted

from bitfold import _progress, _validation
from bitfold._threads import serial_blas
from bitfold._types import PathLike, ProgressCallback, UInt8Array
from bitfold.errors import DataError
from bitfold.hashers import _persistence
from bitfold.hashers.base.encoding import Encoder
from bitfold.io.model_file import write_model
from bitfold.io.rows import Rows
from bitfold.io.sources import check_source
from bitfold.io.stream import Stream


class Hasher(Encoder, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A scikit-learn transformer from vectors to bits; the base class of all hashers.

    A subclass stores its parameters in ``__init__`` and implements two methods:

    ``_learn(rows, y, progress)``
        Check the parameters, learn, and return the fitted attributes as a dict. It must not set
        attributes: ``fit`` sets them all at the end, so that a failed ``fit`` changes nothing.
    ``_embed_block(values)``
        Return one real per bit for each row of a block. A bit is 1 where its real is positive.
        The reals of a row must depend on that row alone.

    It declares what a saved model contains in two class attributes: ``_fitted_arrays`` maps the
    names of fitted float32 arrays to their shapes, ``_fitted_scalars`` the names of fitted
    numbers, booleans and strings to their types. Both extend those of the parent class.

    A subclass with its own ``__init__`` may store ``normalize`` too; without it, rows are not
    scaled.

    Parameters
    ----------
    normalize
        Whether to scale rows to unit length when fitting and encoding, for data that are compared
        by cosine.

    Attributes
    ----------
    n_bits_
        Length of the codes.
    n_features_in_
        Number of features of the training vectors.
    center_
        Mean of the training vectors, after scaling. ``_learn`` and ``_embed_block`` see rows
        relative to it.
    normalize_
        Whether rows are scaled to unit length, as in ``fit``.
    feature_names_in_
        Names of the features; only after fitting a table with named columns.

    Examples
    --------
    One bit per feature, 1 where it exceeds its mean:

    >>> import numpy as np
    >>> class AboveMean(Hasher):
    ...     def _learn(self, rows, y, progress):
    ...         return {"n_bits_": rows.n_features}
    ...
    ...     def _embed_block(self, values):
    ...         return values.copy()
    >>> X = np.array([[0.0, 5.0], [2.0, 1.0]])
    >>> AboveMean().fit(X).transform(X).tolist()
    [[0, 1], [1, 0]]
    """

    normalize: bool = False

    def __init__(self, *, normalize: bool = False) -> None:
        self.normalize = normalize

    @abstractmethod
    def _learn(self, rows: Rows, y: Any, progress: ProgressCallback) -> dict[str, Any]:
        """Learn from the training rows and return the fitted attributes.

        Parameters
        ----------
        rows
            Training vectors relative to their mean.
        y
            What the user passed as ``y``, unchecked.
        progress
            Called with (stage, done, total).

        Returns
        -------
        All attributes named in ``_fitted_arrays`` and ``_fitted_scalars`` except ``center_``,
        ``n_features_in_`` and ``normalize_``.

        Raises
        ------
        ParameterError
            If a parameter is not valid.
        """

    def fit(self, X: Any, y: Any = None, *, progress: ProgressCallback | None = None) -> Self:
        """Learn the hash functions.

        Parameters
        ----------
        X
            Training vectors, one per row: an array or memory map; an HDF5 or Zarr array, or
            anything else with shape, dtype and slices of rows; a Parquet file or Arrow table with
            a column of lists; a reusable iterable of blocks, or a function that returns one. Only
            a sample and a few blocks are in memory at a time.
        y
            Labels, for the hashers that use them.
        progress
            Called with (stage, done, total).

        Returns
        -------
        The hasher itself.

        Raises
        ------
        ParameterError
            If a parameter of the hasher is not valid.
        DataError
            If the vectors or labels cannot be used.
        """
        if progress is None and _progress.bars_enabled:
            with _progress.show_progress(None) as bars:
                return self.fit(X, y, progress=bars)
        owner = type(self).__name__
        _validation.check_not_absurd(getattr(self, "n_bits", None), owner)
        if isinstance(X, np.ndarray):
            matrix, names = _validation.check_matrix(X, owner, min_rows=2), None
        else:
            matrix = check_source(X, owner, min_rows=2, single_pass=False)
            names = None if isinstance(matrix, Stream) else _get_feature_names(X)
        report = progress or (lambda stage, done, total: None)
        on_step = partial(report, "mean")
        rows = Rows.centered(matrix, owner, normalize=self.normalize, on_step=on_step)
        return self.fit_rows(rows, y, feature_names=names, progress=report)

    def fit_rows(
        self,
        rows: Rows,
        y: Any = None,
        *,
        feature_names: Sequence[str] | None = None,
        progress: ProgressCallback | None = None,
    ) -> Self:
        """Learn the hash functions from rows that are already open and centered.

        Parameters
        ----------
        rows
            Training vectors relative to their mean, as :meth:`bitfold.io.Rows.centered` makes
            them. Whether they are scaled to unit length decides the same for encoding, not the
            parameter ``normalize``.
        y
            Labels, for the hashers that use them.
        feature_names
            Names of the features, if they have names.
        progress
            Called with (stage, done, total).

        Returns
        -------
        The hasher itself.

        Raises
        ------
        ParameterError
            If a parameter of the hasher is not valid.
        DataError
            If the vectors or labels cannot be used.
        """
        if progress is None and _progress.bars_enabled:
            with _progress.show_progress(None) as bars:
                return self.fit_rows(rows, y, feature_names=feature_names, progress=bars)
        _validation.check_not_absurd(getattr(self, "n_bits", None), rows.owner)
        # On one thread of BLAS, the same data give the same model on any number of cores.
        with serial_blas():
            fitted = self._learn(rows, y, progress or (lambda stage, done, total: None))
        _check_finite_state(fitted, rows.owner)
        for name in ("feature_names_in_", *self._optional_arrays):
            self.__dict__.pop(name, None)
        if feature_names is not None:
            fitted = fitted | {"feature_names_in_": feature_names}
        self.__dict__.update(
            fitted,
            n_features_in_=rows.n_features,
            center_=rows.center,
            normalize_=rows.normalize,
        )
        return self

    def transform(self, X: Any) -> UInt8Array:
        """Return the bits as 0 and 1.

        Parameters
        ----------
        X
            Vectors, in any form that :meth:`encode` accepts.

        Returns
        -------
        One row per vector, one column per bit.

        Raises
        ------
        DataError
            If the vectors cannot be used.
        sklearn.exceptions.NotFittedError
            If the hasher is not fitted.
        """
        # Defined here, because scikit-learn wraps only methods of its own subclasses.
        return self.encode(X).unpack()

    def save(self, path: PathLike) -> None:
        """Write the model to one file, atomically. :func:`bitfold.load` reads it.

        Parameters
        ----------
        path
            File to write.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the hasher is not fitted.
        DataError
            If the file could not be loaded again, because an attribute was set to something else
            than ``fit`` makes.
        ParameterError
            If a parameter cannot be stored.
        OSError
            If the file cannot be written.
        """
        check_is_fitted(self, "n_bits_")
        write_model(path, _persistence.describe_hasher(self, Hasher))

    @property
    def _n_features_out(self) -> int:
        """Number of output columns, from which scikit-learn makes their names."""
        return self.n_bits_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # Bits come out, whatever the type of the input.
        tags.transformer_tags.preserves_dtype = []
        return tags


def _check_finite_state(fitted: dict[str, Any], owner: str) -> None:
    """Raise if what was learned contains NaN or infinity: such a model is of no use."""
    for name, value in fitted.items():
        is_real = isinstance(value, float) or getattr(value, "dtype", np.dtype(int)).kind == "f"
        if is_real and not np.isfinite(value).all():
            raise DataError(
                f"{owner} cannot learn from these data: {name} is not finite. The rows of X have "
                f"too few different values, or values too close to zero or too large for float32; "
                f"scale X, or remove duplicates."
            )
