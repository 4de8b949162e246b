"""bitfold verify: tells whether a file or an index is still what was written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer


def verify(
    path: Annotated[Path, typer.Argument(help="An index (a folder) or a model (a file).")],
    as_json: Annotated[bool, typer.Option("--json", help="Answer as JSON.")] = False,
) -> None:
    """Check every byte of an index or a model; say what is damaged, if anything.

    Example: bitfold verify my.index
    """
    kind, counts = _index(path) if path.is_dir() else _model(path)
    if as_json:
        typer.echo(json.dumps({"path": str(path), "kind": kind, **counts}))
    else:
        about = ", ".join([kind, *(f"{count:,} {name}" for name, count in counts.items())])
        typer.echo(f"{path} is sound: {about}.")


def _index(path: Path) -> tuple[str, dict[str, Any]]:
    from bitfold.search.disk.index_folder import verify as check

    codes, segments, n_bytes = check(path)
    return "index", {"codes": codes, "segments": segments, "bytes": n_bytes}


def _model(path: Path) -> tuple[str, dict[str, Any]]:
    from bitfold.hashers import load

    hasher = load(path)
    return type(hasher).__name__, {"bits": hasher.n_bits_, "bytes": path.stat().st_size}
