"""Text files with one label per line."""

from __future__ import annotations

from pathlib import Path

import pytest

from bitfold.errors import FormatError, ParameterError
from bitfold.io import read_labels


def test_lines_are_labels(tmp_path: Path) -> None:
    (tmp_path / "y.txt").write_text("a\nb\né\n", "utf-8")
    assert read_labels(tmp_path / "y.txt").tolist() == ["a", "b", "é"]
    with pytest.raises(ParameterError, match="omitted"):
        read_labels(tmp_path / "y.txt", "a")


@pytest.mark.parametrize("content", [b"", b"\xff\xfe"])
def test_other_content_is_rejected(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "y.txt").write_bytes(content)
    with pytest.raises(FormatError, match=r"y\.txt"):
        read_labels(tmp_path / "y.txt")
