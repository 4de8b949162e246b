"""What the rows of a store consist of."""

from __future__ import annotations

import pytest

from bitfold.errors import ParameterError
from bitfold.stores.schema import StoreSchema


def test_columns_of_unknown_types_cannot_be_written() -> None:
    schema = StoreSchema(8, None, {"year": int, "place": None, "name": str})
    assert schema.writable_types == {"year": int, "name": str}


@pytest.mark.parametrize(
    ("arguments", "name", "value"),
    [
        ((0, None), "n_bits", 0),
        ((1025, None), "n_bits", 1025),
        ((8, 0), "n_features", 0),
        ((8, 17), "n_features", 17),
    ],
)
def test_parameters_outside_their_limits(
    arguments: tuple[int, int | None], name: str, value: object
) -> None:
    with pytest.raises(ParameterError) as caught:
        StoreSchema.check(*arguments, None, "MyStore", max_features=16)
    assert (caught.value.name, caught.value.owner, caught.value.value) == (name, "MyStore", value)
