"""The page of all methods side by side, from the records that ``bitfold compare`` keeps.

``python -m reproduction.comparison docs`` writes it.
"""

from __future__ import annotations

import sys
from pathlib import Path

from reproduction.methods import METHODS
from reproduction.records import Record, Records
from reproduction.tables import MEASURES, Measure, measure_table

HEAD = """# All methods side by side

Tie-aware mean average precision of Hamming ranking, F1 of looking up radius 2, seconds to fit and
microseconds to encode a row, by code length. Made by `make compare` on 2 cores, one seed, defaults
but for what the name says: IMH is the default, with as many base points as the data call for;
IMH-… and AGH have the paper's 400, its graph and 5 nearest; `-2` is two layers, `-ITQ` the learned
rotation, IMHs the supervised form of IMH. The last six learn from labels; they have 9 bits too, all
that ten classes give IMHs. Other dashes are lengths a method cannot have.

Several defaults were chosen by looking at MAP on MNIST with these same queries (those of IMH, AGH,
LLH, KSH, BRE, SSH and RMMH), so that their rows are somewhat optimiztic.
"""

ABOUT = {
    "mnist": "MNIST: 69,000 digits of 784 pixels, 1,000 queries",
    "digits": "Digits of scikit-learn: 64 pixels",
    "cifar10": "CIFAR-10: 59,000 pictures as 512-D GIST, 1,000 queries",
}


def page(records: Records, folder: Path) -> Path:
    """Write the page of all data sets that have records."""
    parts, order = [HEAD], {name: place for place, name in enumerate(METHODS)}
    for data in dict.fromkeys(record["case"]["data"] for record in records):
        own = [record for record in records if record["case"]["data"] == data]
        own.sort(key=lambda record: order.get(record["case"]["method"], len(order)))
        parts.append(f"## {_title(data)}\n")
        parts += [_part(own, measure) for measure in MEASURES]
    path = folder / "comparison.md"
    path.write_text("\n".join(parts), encoding="utf-8")
    return path


def _title(data: str) -> str:
    kind, _, n_features = data.partition("-")
    if kind == "manifold":
        return f"Ten curved sheets in {n_features} dimensions: 9,000 points, 1,000 queries"
    return ABOUT.get(data, data)


def _part(records: list[Record], measure: Measure) -> str:
    return f"**{measure.about}**\n\n{measure_table(records, measure)}"


if __name__ == "__main__":
    page(Records(Path(sys.argv[1]) / "compare.jsonl"), Path(sys.argv[1]))
