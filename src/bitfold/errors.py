"""The exceptions that bitfold raises.

::

    BitfoldError
     ├─ ParameterError (ValueError)         a parameter has a value that is not allowed
     │   └─ ParameterTypeError (TypeError)  ... or a value of the wrong type
     ├─ DataError (ValueError)              vectors, labels or codes cannot be used as they are
     │   ├─ InputChangedError               the input differs from the one the work began with
     │   └─ ModelMismatchError              codes or indexes of different models are combined
     ├─ FormatError (ValueError)            a file is damaged, or not of the expected format
     │   └─ NewerFormatError                a file was written by a newer version of bitfold
     ├─ MissingDataError (FileNotFoundError)    a data set is not here and cannot be downloaded
     ├─ DownloadError (OSError)             a download failed
     ├─ LockedError (BlockingIOError)       another process is writing to the same files
     └─ StoreError (RuntimeError)           a database rejected a request
         └─ MissingStoreError (FileNotFoundError)   there is no store at the given place

Plain ``OSError`` (a full disk, a missing file) and ``ImportError`` (a missing extra) are raised as
they are. Exit codes of the command line and HTTP status codes of the explorer follow from the
class.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "BitfoldError",
    "DataError",
    "DownloadError",
    "FormatError",
    "InputChangedError",
    "LockedError",
    "MissingDataError",
    "MissingStoreError",
    "ModelMismatchError",
    "NewerFormatError",
    "ParameterError",
    "ParameterTypeError",
    "StoreError",
]


class BitfoldError(Exception):
    """Base class of all exceptions that bitfold defines."""


class ParameterError(BitfoldError, ValueError):
    """A parameter has a value that is not allowed.

    Parameters
    ----------
    name
        Name of the parameter.
    owner
        Class or function that the parameter belongs to.
    requirement
        What the value must be, as the end of the sentence "name of owner must be".
    value
        The value, as the message shows it.

    Examples
    --------
    >>> error = ParameterError("n_bits", "ITQ", "at most n_features=32", 64)
    >>> print(error)
    n_bits of ITQ must be at most n_features=32, got 64.
    >>> error.name, error.value
    ('n_bits', 64)
    """

    def __init__(self, name: str, owner: str, requirement: str, value: Any) -> None:
        super().__init__(f"{name} of {owner} must be {requirement}, got {value}.")
        self.name = name
        self.owner = owner
        self.requirement = requirement
        self.value = value

    def __reduce__(self) -> tuple[Any, ...]:
        # Exceptions travel from Dask workers as pickles, which call the class with ``args``.
        return type(self), (self.name, self.owner, self.requirement, self.value)


class ParameterTypeError(ParameterError, TypeError):
    """A parameter has a value of the wrong type."""


class DataError(BitfoldError, ValueError):
    """Vectors, labels or codes cannot be used as they are: NaN, wrong shape, too few rows."""


class InputChangedError(DataError):
    """Interrupted work cannot be resumed, because the model or the vectors are different now."""


class ModelMismatchError(DataError):
    """Codes or indexes that different models made were combined."""


class FormatError(BitfoldError, ValueError):
    """A file is damaged, truncated, or not of the expected format."""


class NewerFormatError(FormatError):
    """A file was written by a newer version of bitfold."""


class MissingDataError(BitfoldError, FileNotFoundError):
    """The files of a data set are not here and cannot, or may not, be downloaded."""


class DownloadError(BitfoldError, OSError):
    """A file could not be downloaded."""


class LockedError(BitfoldError, BlockingIOError):
    """Another process is writing to the same files."""


class StoreError(BitfoldError, RuntimeError):
    """A database rejected a request; the message contains its reason."""


class MissingStoreError(StoreError, FileNotFoundError):
    """There is no store at the given place."""
