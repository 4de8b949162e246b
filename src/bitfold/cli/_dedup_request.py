"""What ``bitfold dedup`` was asked for, and what it says about the result."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import typer

from bitfold.cli import _dedup_items, _dedup_table
from bitfold.cli._dedup_items import CodedItems
from bitfold.cli._dedup_table import GroupTable
from bitfold.cli._inputs import read_vectors
from bitfold.search import HammingIndex, VectorCheck


class DedupRequest(NamedTuple):
    """What to compare, and what counts as near."""

    items: Path
    out: Path
    radius: int | None
    linkage: str
    max_distance: float | None
    precision: float | None
    cosine: bool
    vectors: Path | None
    against: Path | None
    against_vectors: Path | None
    update: bool
    all_items: bool

    def check(self, model: Path | None) -> None:
        """Raise if options contradict each other."""
        has_codes = _dedup_items.has_codes(self.items)
        has_vectors = not has_codes or self.vectors is not None
        is_exact = self.max_distance is not None
        problems = {
            "--linkage must be star or connected.": self.linkage not in ("star", "connected"),
            "--out must end in .parquet or .jsonl.": (
                self.out.suffix.lower() not in _dedup_table.SUFFIXES
            ),
            "--precision cannot be used with --radius.": None not in (self.radius, self.precision),
            "--precision needs --max-distance, which says what a near-duplicate is.": (
                self.precision is not None and not is_exact
            ),
            "--max-distance needs the original vectors: use --vectors.": (
                is_exact and not has_vectors
            ),
            "--max-distance needs the vectors of the other index: use --against-vectors.": (
                is_exact and self.against is not None and self.against_vectors is None
            ),
            "--update needs --against.": self.update and self.against is None,
            "--model is for vectors, but the items are codes.": has_codes and model is not None,
            "--vectors is for codes; the items are vectors.": (
                not has_codes and self.vectors is not None
            ),
            "--against needs --model, the model of the index, to encode vectors.": (
                self.against is not None and not has_codes and model is None
            ),
        }
        is_same = self.against is not None and self.against.resolve() == self.items.resolve()
        problems["--against must be another index than the items."] = is_same
        for problem, is_present in problems.items():
            if is_present:
                raise typer.BadParameter(problem)
        if self.out.suffix.lower() == ".parquet":
            _dedup_table.import_parquet()

    def make_checks(self, items: CodedItems) -> Checks:
        """Return the checks by exact distance, if there is a largest distance."""
        vectors = None if self.max_distance is None else items.read_vectors()
        if self.max_distance is None or vectors is None:
            return Checks()
        own = VectorCheck(vectors, self.max_distance, "cosine" if self.cosine else "l2")
        if self.against_vectors is None:
            return Checks(own)
        return Checks(own, replace(own, other_vectors=read_vectors(self.against_vectors)))


class Checks(NamedTuple):
    """Checks of pairs of items, and of an item with one of the other index."""

    own: VectorCheck | None = None
    other: VectorCheck | None = None


def summarize(
    request: DedupRequest, table: GroupTable, index: HammingIndex, radius: int
) -> dict[str, Any]:
    sizes = np.diff(table.offsets)
    is_group = sizes > 1
    matched = {}
    if table.in_index is not None:
        is_group |= table.in_index[table.offsets[:-1]]
        matched["in_index"] = int(table.in_index.sum())
    return {
        "out": str(request.out),
        "items": len(index),
        "bits": index.n_bits,
        "radius": radius,
        "linkage": request.linkage,
        "groups": int(is_group.sum()),
        "dropped": len(table.dropped),
        "kept": len(index) - len(table.dropped),
        "largest_groups": np.sort(sizes[is_group])[::-1][:5].tolist(),
        **matched,
    }


def describe(summary: dict[str, Any]) -> str:
    """Return what was found, in words."""
    share = summary["dropped"] / max(summary["items"], 1)
    lines = [
        f"{summary['out']}: {summary['groups']:,} groups of near-duplicates within radius "
        f"{summary['radius']} of {summary['bits']} bits ({summary['linkage']}).",
        f"{summary['kept']:,} of {summary['items']:,} items to keep, {summary['dropped']:,} "
        f"({share:.2%}) to drop.",
    ]
    if "in_index" in summary:
        lines.append(f"{summary['in_index']:,} items are near items of the index.")
    if "precision" in summary:
        lines.append(
            f"Radius {summary['radius']}: {summary['precision']:.3f} of the "
            f"{summary['sampled_pairs']:,} sampled pairs within it are within distance "
            f"{summary['max_distance']:g}; it finds {summary['recall']:.3f} of all such pairs."
        )
    if summary["groups"]:
        sizes = ", ".join(f"{size:,}" for size in summary["largest_groups"])
        lines.append(f"Largest groups: {sizes} items.")
    if "added_ids" in summary:
        first, last = summary["added_ids"]
        lines.append(
            f"Added the kept items to the index, in their order, as ids {first} to {last}."
        )
    if "kept_index" in summary:
        lines.append(f"{summary['kept_index']}: index of the kept items.")
    return "\n".join(lines)
