"""PCA against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import decomposition
from tests.embedding.conftest import cloud, embed

from bitfold.embedding import PCA
from bitfold.errors import ParameterError


def test_it_equals_that_of_scikit_learn() -> None:
    base = cloud()
    theirs = decomposition.PCA(3, svd_solver="full").fit_transform(base)
    np.testing.assert_allclose(embed(PCA(), base, 3), theirs, atol=1e-5)


def test_the_features_limit_the_components() -> None:
    with pytest.raises(ParameterError, match="n_bits of PCA must be at most n_features=5"):
        PCA().embed(cloud(60, 5), 6)
