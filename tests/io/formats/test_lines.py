"""Lines with numbers, and blocks of rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bitfold.errors import FormatError
from bitfold.io.formats.lines import LineReader, convert_row, stack_rows


def test_errors_name_the_last_line(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(b"\xef\xbb\xbfa\r\nb\r\n")
    with LineReader.open(path) as lines:
        assert list(lines) == ["a\r\n", "b\r\n"]
        with pytest.raises(FormatError, match=r"x\.csv, line 2: too short\.$"):
            lines.fail("too short")


def test_rows_are_stacked_in_blocks_of_bounded_size() -> None:
    rows = [convert_row(iter([i, 1e300]), 2) for i in range(5000)]
    blocks = list(stack_rows(iter(rows)))
    assert [len(block) for block in blocks] == [4096, 904]
    assert np.concatenate(blocks)[:, 0].tolist() == list(range(5000))
    assert np.isinf(rows[0][1])
