"""``bitfold verify``: check every byte of a model, a codes file or an index."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from bitfold.cli._inputs import check_exists, is_codes_file
from bitfold.hashers import load
from bitfold.io import open_codes
from bitfold.search.disk.index_folder import verify as verify_index


def verify(
    path: Annotated[Path, typer.Argument(help="Model or codes file, or index (a folder).")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check every byte of a model, a codes file or an index.

    Damage is an error that says what is wrong.

    Example: bitfold verify my.index
    """
    check_exists(path)
    if path.is_dir():
        kind, counts = _verify_index(path)
    else:
        kind, counts = _verify_codes(path) if is_codes_file(path) else _verify_model(path)
    if as_json:
        typer.echo(json.dumps({"path": str(path), "kind": kind, **counts}))
    else:
        summary = ", ".join([kind, *(f"{count:,} {name}" for name, count in counts.items())])
        typer.echo(f"{path} is intact: {summary}.")


def _verify_index(path: Path) -> tuple[str, dict[str, Any]]:
    """Check an index; return its kind and counts."""
    n_codes, n_segments, n_bytes = verify_index(path)
    return "index", {"codes": n_codes, "segments": n_segments, "bytes": n_bytes}


def _verify_codes(path: Path) -> tuple[str, dict[str, Any]]:
    """Check a codes file; return its kind and counts."""
    codes = open_codes(path)
    return "codes", {"codes": len(codes), "bits": codes.n_bits, "bytes": path.stat().st_size}


def _verify_model(path: Path) -> tuple[str, dict[str, Any]]:
    """Check a model; return its kind and counts."""
    hasher = load(path)
    return type(hasher).__name__, {"bits": hasher.n_bits_, "bytes": path.stat().st_size}
