"""HammingNeighborsTransformer: the sparse graph of nearest codes."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from bitfold import _validation
from bitfold._types import AnyArray, Int64Array
from bitfold.codes import Codes
from bitfold.estimators.binarize import to_codes
from bitfold.search import HammingIndex


class HammingNeighborsTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Transform codes into the sparse graph of their neighbors by Hamming distance.

    The graph is exact, and has the form of :class:`sklearn.neighbors.KNeighborsTransformer` and
    :class:`sklearn.neighbors.RadiusNeighborsTransformer`: rows are sorted by distance, ties by
    number, and zeros are stored. Estimators with ``metric="precomputed"`` accept it.

    Parameters
    ----------
    n_neighbors
        Number of neighbors per row. With ``mode="distance"`` there is one more, because every
        training code is its own neighbor, at distance 0.
    radius
        If given, all codes within this distance are neighbors, instead of the nearest
        ``n_neighbors``. The radius is inclusive.
    mode
        "distance" for Hamming distances, or "connectivity" for ones.
    binarize
        Numbers above this threshold are bits 1, as in
        :class:`sklearn.naive_bayes.BernoulliNB`. None accepts only 0 and 1. It has no effect on
        :class:`bitfold.Codes`.

    Attributes
    ----------
    n_samples_fit_
        Number of training codes.
    n_features_in_
        Number of bits.

    Examples
    --------
    >>> codes = Codes.from_bits([[0, 0, 0], [0, 0, 1], [1, 1, 1]])
    >>> graph = HammingNeighborsTransformer(n_neighbors=1).fit_transform(codes)
    >>> graph.toarray().tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 2.0, 0.0]]
    >>> graph.nnz
    6
    """

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        radius: int | None = None,
        mode: str = "distance",
        binarize: float | None = 0.0,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.mode = mode
        self.binarize = binarize

    def fit(self, X: Any, y: Any = None) -> Self:
        """Store the codes among which neighbors are searched.

        Parameters
        ----------
        X
            :class:`bitfold.Codes`, or an array of numbers, one row per code.
        y
            Not used.

        Returns
        -------
        The transformer itself.

        Raises
        ------
        ParameterError
            If a parameter is not valid, or the codes are longer than 1024 bits.
        """
        self._check_parameters()
        codes = to_codes(self, X, self.binarize, reset=True)
        index = HammingIndex(codes.n_bits)
        index.add(codes)
        self._index, self.n_samples_fit_ = index, len(codes)
        return self

    def transform(self, X: Any) -> csr_matrix:
        """Return the neighbors of codes among the training codes.

        Parameters
        ----------
        X
            :class:`bitfold.Codes`, or an array of numbers, one row per code.

        Returns
        -------
        A sparse matrix with one row per code, one column per training code.

        Raises
        ------
        ParameterError
            If the codes have another length than in ``fit``, or there are fewer training codes
            than neighbors.
        sklearn.exceptions.NotFittedError
            If the transformer is not fitted.
        """
        check_is_fitted(self)
        self._check_parameters()
        codes = to_codes(self, X, self.binarize, reset=False)
        offsets, columns, distances = self._find_neighbors(codes)
        is_distance = self.mode == "distance"
        data = distances.astype(np.float64) if is_distance else np.ones(len(columns))
        return csr_matrix((data, columns, offsets), shape=(len(codes), self.n_samples_fit_))

    def _find_neighbors(self, codes: Codes) -> tuple[Int64Array, Int64Array, AnyArray]:
        """Return where the neighbors of each code begin, their numbers and their distances."""
        if self.radius is not None:
            return self._index.within(codes, self.radius)
        k = self.n_neighbors + (self.mode == "distance")
        if k > self.n_samples_fit_:
            requirement = f"at most {self.n_samples_fit_ - k + self.n_neighbors}, because there "
            requirement += f"are {self.n_samples_fit_} training codes"
            owner = type(self).__name__
            _validation.raise_invalid("n_neighbors", owner, requirement, self.n_neighbors)
        hits = self._index.search(codes, k)
        return k * np.arange(len(codes) + 1), hits.ids.ravel(), hits.distances.ravel()

    def _check_parameters(self) -> None:
        owner = type(self).__name__
        _validation.check_integer(self.n_neighbors, "n_neighbors", owner, low=1)
        if self.radius is not None:
            _validation.check_integer(self.radius, "radius", owner, low=0)
        _validation.check_choice(self.mode, "mode", owner, ("distance", "connectivity"))

    @property
    def _n_features_out(self) -> int:
        """Number of output columns, from which scikit-learn makes their names."""
        return self.n_samples_fit_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags
