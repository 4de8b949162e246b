from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import pytest
from tests.search.disk.conftest import (
    make_sparse_segment,
    overwrite,
    write_index,
)

from bitfold.errors import FormatError
from bitfold.search.disk.index_folder import IndexFolder


def test_deeply_nested_json(index: Path) -> None:
    """JSON that can be parsed may be nested too deeply to be written again."""
    file = index / "manifest.json"
    for depth in range(800, 1000):
        deep = '{"a":' * depth + "0" + "}" * depth
        overwrite(file, f'{{"format":"bitfold index","format_version":1,"x":{deep}}}'.encode())
        with pytest.raises(FormatError):
            IndexFolder.open(index)


HUGE = 1 << 62


MANIFESTS: list[dict[str, Any]] = [
    {"n_bits": 0}, {"n_bits": 1025}, {"n_bits": "96"}, {"n_bits": 96.0}, {"n_bits": HUGE},
    {"n_bits": 64}, {"next_id": None}, {"next_id": HUGE * 9}, {"generation": -1},
    {"generation": HUGE}, {"format_version": 0}, {"format_version": "1"}, {"format_version": None},
    {"segments": None}, {"segments": {"file": 1}}, {"segments": [None]}, {"segments": ["a"]},
    {"segments": [{}]}, {"segments": 5},
    {"segments": [{"segment": {"file": 5, "n_bytes": 1, "crc32": 1}, "deleted": None}]},
    {"model_digest": 5}, {"model_digest": []},
]  # fmt: skip


NAMES = [
    "../segment-1-0.bin", "segment-1-0.bin/../segment-1-0.bin", "segment-1-0.bin\n", "\0", "", ".",
    "/etc/passwd", "manifest.json",
]  # fmt: skip


FILES: list[dict[str, Any]] = [
    *({"file": name} for name in NAMES), {"n_bytes": -1}, {"n_bytes": 1.5}, {"n_bytes": "1"},
    {"crc32": None}, {"crc32": 1},
]  # fmt: skip
DELETED: list[Any] = [1, 0, "a", "", {}, [], {"file": "segment-1-0.bin"}]


def test_hostile_manifests(tmp_path: Path) -> None:
    path = write_index(tmp_path / "index", make_sparse_segment())
    file = path / "manifest.json"
    right = json.loads(file.read_text())
    del right["crc32"]
    (entry,) = right["segments"]
    cases = [
        *MANIFESTS,
        *({"segments": [entry | {"segment": entry["segment"] | wrong}]} for wrong in FILES),
        *({"segments": [entry | {"deleted": wrong}]} for wrong in DELETED),
    ]
    for wrong in cases:
        text = json.dumps(right | wrong, sort_keys=True, separators=(",", ":"))
        file.write_text(json.dumps(right | wrong | {"crc32": zlib.crc32(text.encode())}))
        with pytest.raises(FormatError) as caught:
            IndexFolder.open(path)
        assert str(caught.value).startswith(str(path))
