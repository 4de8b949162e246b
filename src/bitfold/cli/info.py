"""``bitfold info``: what a model or an index is, how it was made, its size."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from bitfold.cli._inputs import check_exists


def info(
    path: Annotated[Path, typer.Argument(help="A model (a file) or an index (a folder).")],
    as_json: Annotated[bool, typer.Option("--json", help="Answer as JSON.")] = False,
) -> None:
    """Tell what a model or an index is, how it was made, and its size.

    Example: bitfold info model.bitfold
    """
    check_exists(path)
    about = _of_index(path) if path.is_dir() else _of_model(path)
    if as_json:
        typer.echo(json.dumps(about))
    else:
        width = max(map(len, about))
        for name, value in about.items():
            typer.echo(f"{name.replace('_', ' '):{width}}  {_shown(value)}")


def _of_model(path: Path) -> dict[str, Any]:
    from bitfold.cli.fit import base_of
    from bitfold.hashers import load
    from bitfold.io import model_file

    hasher = load(path)  # every byte of it is checked
    stored = model_file.read(path)
    return {
        "path": str(path),
        "kind": f"model, {stored.kind}",
        "bits": hasher.n_bits_,
        "features": hasher.n_features_in_,
        "settings": stored.meta["params"],
        **base_of(hasher),
        "learned": {
            **_scalars(stored.meta["learned"]),
            **{name: list(array.shape) for name, array in sorted(stored.arrays.items())},
        },
        "bytes": path.stat().st_size,
        "written": _date(path),
    }


def _scalars(learned: dict[str, Any]) -> dict[str, Any]:
    """Leave out why there are so many base points, which has a line of its own."""
    return {name: value for name, value in learned.items() if name != "base_reason_"}


def _of_index(path: Path) -> dict[str, Any]:
    from bitfold.search import HammingIndex

    files = [file for file in path.iterdir() if file.is_file()]
    with HammingIndex.open(path) as index:
        return {
            "path": str(path),
            "kind": "index",
            "bits": index.n_bits,
            "codes": len(index),
            "distinct": index.n_distinct,
            "files": len(files),
            "bytes": sum(file.stat().st_size for file in files),
            "written": _date(path / "manifest.json"),
        }


def _date(path: Path) -> str:
    return datetime.fromtimestamp(path.stat().st_mtime).astimezone().isoformat(" ", "seconds")


def _shown(value: Any) -> str:
    """Numbers with commas, settings as NAME=VALUE, shapes as 400 × 64."""
    if isinstance(value, dict) and "strategy" in value:
        return f"{value['strategy']}({_shown(value['params'])})"
    if isinstance(value, dict):
        return ", ".join(f"{name}={_shown(inner)}" for name, inner in value.items()) or "none"
    if isinstance(value, list):
        return " × ".join(map(_shown, value))
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
