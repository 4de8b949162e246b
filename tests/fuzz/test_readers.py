"""The targets notice files that are accepted although they were changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import bitfold as bf
from bitfold.hashers import LSH
from bitfold.io import save_codes
from fuzz import readers, samples


def test_another_model_is_noticed(tmp_path: Path) -> None:
    LSH(6, random_state=1).fit(samples.X).save(tmp_path / "m")
    with pytest.raises(AssertionError):
        readers.check_model((tmp_path / "m").read_bytes())


def test_other_codes_are_noticed(tmp_path: Path) -> None:
    save_codes(samples.make_codes(13), tmp_path / "x.codes")
    with pytest.raises(AssertionError):
        readers.check_codes((tmp_path / "x.codes").read_bytes())


def test_other_items_of_an_index_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    seed = readers.READERS["index"].seeds()[0]
    readers.check_index(seed)
    monkeypatch.setattr(readers, "_true_items", lambda: {1: b"x"})
    with pytest.raises(AssertionError):
        readers.check_index(seed)


def test_an_unexpected_exception_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise KeyError("name")

    monkeypatch.setattr(bf, "load", fail)
    with pytest.raises(KeyError):
        readers.check_model(b"")
