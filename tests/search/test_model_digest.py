"""An index knows the model of its codes, and rejects codes of another one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bitfold import Codes, HammingIndex
from bitfold.errors import ModelMismatchError

BITS = np.random.default_rng(0).integers(0, 2, (20, 12))


def make_codes(digest: str | None) -> Codes:
    return Codes(Codes.from_bits(BITS).packed, 12, digest)


def make_index(*digests: str | None) -> HammingIndex:
    index = HammingIndex(12)
    for digest in digests:
        index.add(make_codes(digest))
    return index


@pytest.mark.parametrize(
    ("digests", "expected"),
    [([], None), ([None], None), (["a"], "a"), ([None, "a"], "a"), (["a", None, "a"], "a")],
)
def test_index_adopts_the_known_digest(digests: list[str | None], expected: str | None) -> None:
    index = make_index(*digests)
    assert index.model_digest == expected
    if digests:
        assert index.codes([0]).model_digest == expected
        assert {batch.codes.model_digest for batch in index.batches()} == {expected}


def test_other_models_raise() -> None:
    index = make_index("3f2a")
    other = make_codes("77bc")
    for call in (index.add, index.search, index.within):
        with pytest.raises(ModelMismatchError, match=r"3f2a .* 77bc"):
            call(other)
    assert (len(index), index.model_digest) == (20, "3f2a")


@pytest.mark.parametrize(("stored", "query"), [("a", "a"), ("a", None), (None, "a"), (None, None)])
def test_unknown_models_are_accepted(stored: str | None, query: str | None) -> None:
    index = make_index(stored)
    assert index.search(make_codes(query), k=1).distances.max() == 0
    assert len(index.within(make_codes(query), radius=0).ids) >= 20
    assert index.model_digest == stored


def test_digest_survives_saving_and_changes(tmp_path: Path) -> None:
    path = tmp_path / "index"
    make_index("3f2a").save(path)
    with HammingIndex.open(path, "a") as index:
        assert index.model_digest == "3f2a"
        index.remove([0])
        index.add(make_codes(None))
        with pytest.raises(ModelMismatchError):
            index.add(make_codes("77bc"))
    assert HammingIndex.open(path).model_digest == "3f2a"


def test_digest_is_learned_by_an_index_on_disk(tmp_path: Path) -> None:
    path = tmp_path / "index"
    make_index(None).save(path)
    with HammingIndex.open(path, "a") as index:
        index.add(make_codes("3f2a"))
    assert HammingIndex.open(path).model_digest == "3f2a"
