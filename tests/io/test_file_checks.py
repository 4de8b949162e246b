"""Values that come from files which are not trusted."""

from __future__ import annotations

from typing import Any

import pytest

from bitfold.errors import FormatError, NewerFormatError
from bitfold.io.file_checks import check_version, is_count, parse_json_object


def test_known_version() -> None:
    check_version("x.codes", 1, 1)


@pytest.mark.parametrize("version", [2, 10, 1 << 40])
def test_newer_version_names_the_file_and_both_versions(version: int) -> None:
    with pytest.raises(NewerFormatError, match=rf"x\.codes .* {version}; .* 1\. Upgrade bitfold"):
        check_version("x.codes", version, 1)


@pytest.mark.parametrize("version", [0, -1, None, "1", "2", 1.0, 2.5, True, [1], {}, 1 << 70])
def test_invalid_version(version: Any) -> None:
    with pytest.raises(FormatError, match=r"x\.codes is damaged") as caught:
        check_version("x.codes", version, 1)
    assert not isinstance(caught.value, NewerFormatError)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0, True), (5, True), ((1 << 48) - 1, True), (1 << 48, False), (-1, False), (True, False),
     (1.0, False), ("1", False), (None, False)],
)  # fmt: skip
def test_counts(value: object, expected: bool) -> None:
    assert is_count(value) is expected


@pytest.mark.parametrize(
    "text", ["", "[]", "3", "{", "nul", "[" * 100_000, '{"a":' * 100_000, b"\xff\xfe", "1" * 9999]
)
def test_text_without_a_json_object(text: str | bytes) -> None:
    assert parse_json_object(text) is None
