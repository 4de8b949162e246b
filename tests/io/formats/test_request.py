"""Read requests, and the translation of a reader's errors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from bitfold.errors import FormatError, ParameterError
from bitfold.io.formats.request import READ_ERRORS, ReadRequest, translate_errors

REQUEST = ReadRequest(Path("x.h5"), None, "read_vectors")


@pytest.mark.parametrize("error", READ_ERRORS)
def test_errors_of_readers_are_translated(error: type[Exception]) -> None:
    with (
        pytest.raises(FormatError, match=r"x\.h5 .* an HDF5 file") as caught,
        REQUEST.translate_errors("an HDF5 file"),
    ):
        raise error("details")
    assert isinstance(caught.value.__cause__, error)


def test_format_errors_pass_unchanged() -> None:
    with pytest.raises(FormatError, match=r"^as it was$"), translate_errors("x", "y"):
        raise FormatError("as it was")


def test_only_the_given_errors_are_translated() -> None:
    with pytest.raises(OSError, match="disk"), translate_errors("x", "y", EOFError):
        raise OSError("disk")


def test_blocks_are_guarded() -> None:
    def read_blocks() -> Iterator[int]:
        yield 1
        raise LookupError

    blocks = REQUEST.guard_blocks(read_blocks(), "numbers", LookupError)
    assert next(blocks) == 1
    with pytest.raises(FormatError):
        next(blocks)


def test_name_is_required_if_there_are_several() -> None:
    assert REQUEST.choose_name(["a"], "arrays") == "a"
    assert REQUEST._replace(name="b").choose_name(["a", "b"], "arrays") == "b"
    with pytest.raises(FormatError, match="contains no arrays"):
        REQUEST.choose_name([], "arrays")
    for request in (REQUEST, REQUEST._replace(name="c")):
        with pytest.raises(ParameterError, match="'a', 'b'") as caught:
            request.choose_name(["a", "b"], "arrays")
        assert (caught.value.name, caught.value.value) == ("name", repr(request.name))


def test_values_must_be_real_numbers() -> None:
    REQUEST.check_numeric(np.dtype("u1"))
    with pytest.raises(FormatError, match="complex128"):
        REQUEST.check_numeric(np.dtype("c16"))
