"""``bitfold info``: show what a collection, an index, a model or a codes file contains."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from typer import Argument

from bitfold.cli._inputs import check_exists, is_codes_file
from bitfold.cli._options import AsJson
from bitfold.cli._terminal import print_result
from bitfold.cli.build import describe_collection
from bitfold.cli.fit import describe_base_set
from bitfold.collection import Collection, is_collection
from bitfold.collection.folder import DATABASE
from bitfold.hashers import load
from bitfold.io import open_codes
from bitfold.search import HammingIndex


def info(
    path: Annotated[Path, Argument(help="Collection or index (a folder), model or codes file.")],
    as_json: AsJson = False,
) -> None:
    """Show what a collection, an index, a model or a codes file contains.

    Example: bitfold info model.bitfold
    """
    check_exists(path)
    if is_collection(path):
        summary = _describe_collection(path)
    elif path.is_dir():
        summary = _describe_index(path)
    else:
        summary = _describe_codes(path) if is_codes_file(path) else _describe_model(path)
    width = max(map(len, summary))
    lines = (
        f"{name.replace('_', ' '):{width}}  {_format_value(value)}"
        for name, value in summary.items()
    )
    print_result(summary, "\n".join(lines), as_json=as_json)


def _describe_collection(path: Path) -> dict[str, Any]:
    """Return the size and contents of a collection."""
    with Collection.open(path) as collection:
        summary = describe_collection(collection, path)
    return {**summary, "written": _format_date(path / DATABASE)}


def _describe_model(path: Path) -> dict[str, Any]:
    """Return the parameters and fitted attributes of a model."""
    hasher = load(path)  # checks every byte
    return {
        "path": str(path),
        "kind": f"model, {type(hasher).__name__}",
        "bits": hasher.n_bits_,
        "features": hasher.n_features_in_,
        "digest": hasher.model_digest,
        "parameters": {
            name: _to_json(value) for name, value in hasher.get_params(deep=False).items()
        },
        **describe_base_set(hasher),
        "fitted": {
            name: _to_json(value)
            for name, value in sorted(vars(hasher).items())
            if name.endswith("_") and not name.startswith("_") and not isinstance(value, str)
        },
        "bytes": path.stat().st_size,
        "written": _format_date(path),
    }


def _to_json(value: Any) -> Any:
    """Return the shape of an array, plain values as they are, and objects as text."""
    if isinstance(value, np.ndarray):
        return list(value.shape)
    return value if value is None or isinstance(value, (bool, int, float, str)) else repr(value)


def _describe_codes(path: Path) -> dict[str, Any]:
    """Return the size and origin of a codes file."""
    codes = open_codes(path)
    return {
        "path": str(path),
        "kind": "codes",
        "bits": codes.n_bits,
        "codes": len(codes),
        "model_digest": codes.model_digest,
        "bytes": path.stat().st_size,
        "written": _format_date(path),
    }


def _describe_index(path: Path) -> dict[str, Any]:
    """Return the size and contents of an index."""
    files = [file for file in path.iterdir() if file.is_file()]
    with HammingIndex.open(path) as index:
        return {
            "path": str(path),
            "kind": "index",
            "bits": index.n_bits,
            "codes": len(index),
            "distinct": index.n_distinct,
            "model_digest": index.model_digest,
            "files": len(files),
            "bytes": sum(file.stat().st_size for file in files),
            "written": _format_date(path / "manifest.json"),
        }


def _format_date(path: Path) -> str:
    """Return the modification time of a file."""
    return datetime.fromtimestamp(path.stat().st_mtime).astimezone().isoformat(" ", "seconds")


def _format_value(value: Any) -> str:
    """Return numbers with commas, parameters as NAME=VALUE, shapes as 400 × 64."""
    if isinstance(value, dict):
        return ", ".join(f"{name}={_format_value(inner)}" for name, inner in value.items())
    if isinstance(value, list):
        return " × ".join(map(_format_value, value))
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
