"""The exception tree: its drawing is complete, and errors can be pickled."""

from __future__ import annotations

import inspect
import pickle
import re

import pytest

from bitfold import errors

CLASSES = [getattr(errors, name) for name in errors.__all__]


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_every_exception_is_a_bitfold_error(kind: type[Exception]) -> None:
    assert issubclass(kind, errors.BitfoldError)
    assert kind is errors.BitfoldError or kind.__name__.endswith("Error")


def test_module_docstring_draws_every_class() -> None:
    drawn = dict(re.findall(r"─ (\w+)(?: \((\w+)\))?", inspect.getdoc(errors) or ""))
    assert {"BitfoldError", *drawn} == set(errors.__all__)
    for name, builtin in drawn.items():
        if builtin:
            assert builtin in {base.__name__ for base in getattr(errors, name).__mro__}


@pytest.mark.parametrize("kind", [errors.ParameterError, errors.ParameterTypeError])
def test_parameter_errors_survive_pickling(kind: type[errors.ParameterError]) -> None:
    error = kind("n_bits", "ITQ", "at most 32", 64)
    copied = pickle.loads(pickle.dumps(error))
    assert type(copied) is kind
    assert str(copied) == str(error) == "n_bits of ITQ must be at most 32, got 64."
    assert (copied.name, copied.owner, copied.value) == ("n_bits", "ITQ", 64)
