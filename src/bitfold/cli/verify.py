"""``bitfold verify``: check every byte of a collection, an index, a model or a codes file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument

from bitfold.cli._inputs import check_exists, is_codes_file
from bitfold.cli._options import AsJson
from bitfold.cli._terminal import print_summary, show_progress
from bitfold.collection import Collection, is_collection
from bitfold.hashers import load
from bitfold.io import open_codes
from bitfold.search.disk.index_folder import verify as verify_index


def verify(
    path: Annotated[Path, Argument(help="Collection or index (a folder), model or codes file.")],
    as_json: AsJson = False,
) -> None:
    """Check every byte of a collection, an index, a model or a codes file.

    Damage is an error that says what is wrong.

    Example: bitfold verify my.index
    """
    check_exists(path)
    with show_progress() as display, display.spinner("verifying"):
        kind, counts = _verify(path)
    listed = ", ".join([kind, *(f"{count:,} {name}" for name, count in counts.items())])
    summary = {"path": str(path), "kind": kind, **counts}
    print_summary(summary, f"{path} is intact: {listed}.", as_json=as_json)


def _verify(path: Path) -> tuple[str, dict[str, int]]:
    """Check a file or an index; return its kind and its sizes."""
    if is_collection(path):
        with Collection.open(path) as collection:
            n_items, n_files, n_bytes = collection.verify()
        return "collection", {"items": n_items, "files": n_files, "bytes": n_bytes}
    if path.is_dir():
        n_codes, n_segments, n_bytes = verify_index(path)
        return "index", {"codes": n_codes, "segments": n_segments, "bytes": n_bytes}
    n_bytes = path.stat().st_size
    if is_codes_file(path):
        codes = open_codes(path)
        return "codes", {"codes": len(codes), "bits": codes.n_bits, "bytes": n_bytes}
    hasher = load(path)
    return type(hasher).__name__, {"bits": hasher.n_bits_, "bytes": n_bytes}
