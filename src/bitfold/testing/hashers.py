"""The contract of hashers as checks that anyone can run."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

from sklearn.base import clone

from bitfold.hashers import Hasher
from bitfold.testing._hasher_checks.codes import CODE_CHECKS
from bitfold.testing._hasher_checks.data import DATA_CHECKS
from bitfold.testing._hasher_checks.environment import ENVIRONMENT_CHECKS
from bitfold.testing._hasher_checks.errors import ERROR_CHECKS
from bitfold.testing._hasher_checks.estimator import ESTIMATOR_CHECKS
from bitfold.testing._hasher_checks.files import FILE_CHECKS
from bitfold.testing._hasher_checks.frames import FRAME_CHECKS
from bitfold.testing._hasher_checks.normalization import NORMALIZATION_CHECKS
from bitfold.testing._hasher_checks.processors import PROCESSOR_CHECKS
from bitfold.testing._running import run_checks

HASHER_CHECKS: tuple[Callable[[Hasher], None], ...] = (
    *ESTIMATOR_CHECKS,
    *CODE_CHECKS,
    *DATA_CHECKS,
    *NORMALIZATION_CHECKS,
    *ERROR_CHECKS,
    *FILE_CHECKS,
    *ENVIRONMENT_CHECKS,
    *PROCESSOR_CHECKS,
    *(FRAME_CHECKS if find_spec("pandas") else ()),
)
"""All checks of hashers: functions that take an unfitted hasher and raise if it fails.

Those that need pandas are included only if it is installed.
"""


def check_hasher(hasher: Hasher) -> None:
    """Check that a hasher keeps the contract of all hashers.

    The checks fit copies of the hasher on 240 handwritten digits of 64 features, many times, so
    choose parameters that make it fast. That it is a scikit-learn transformer is checked by
    :func:`sklearn.utils.estimator_checks.check_estimator`.

    Parameters
    ----------
    hasher
        An unfitted hasher with at most 40 bits. Its class must be importable, because some checks
        pickle it.

    Raises
    ------
    AssertionError
        If a check fails; the message begins with the name of the check.

    See Also
    --------
    HASHER_CHECKS : The checks one by one, for ``pytest.mark.parametrize``.

    Examples
    --------
    >>> from bitfold.hashers import LSH
    >>> from bitfold.testing import check_hasher
    >>> check_hasher(LSH(n_bits=16, random_state=0))
    """
    # A clone, because the caller may change the hasher and check it again.
    run_checks(HASHER_CHECKS, clone(hasher))
