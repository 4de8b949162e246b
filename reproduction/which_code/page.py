"""The page "Which code should I use?" and the table of the README, from records."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from bitfold.errors import FormatError
from reproduction.data.loader import DataLoader
from reproduction.records import Case, RunRecords
from reproduction.runner import run_missing_cases
from reproduction.shared_types import Record
from reproduction.which_code.charts import write_chart
from reproduction.which_code.contenders import DATA
from reproduction.which_code.jobs import (
    RowsByData,
    answer_buckets,
    answer_labels,
    answer_neighbors,
    answer_top_results,
)
from reproduction.which_code.measure import COARSE
from reproduction.which_code.summary import find_extent, select_records, summarize
from reproduction.which_code.tables import make_full_table, make_headline_table

NAMES = {"text": "Debian descriptions", "cifar10": "CIFAR-10", "mnist": "MNIST"}
KINDS = {"text": "sentence vectors", "cifar10": "GIST descriptors", "mnist": "images"}
"""Names of the data sets, and what their vectors are."""

HEADLINE_DATA = "text"
"""Data set of the table in the README."""

START, END = "<!-- which-code: start -->", "<!-- which-code: end -->"
"""Comments in the README between which its table is written."""

HEAD = """# Which code should I use?

Quality by bytes per vector. Up and to the left is better. Hollow marks rank by Hamming distance,
filled ones compare the real values of the query with the stored code.
"""

METHOD = """## How this was measured

- MAP and P@k count results with the label of the query: the section of a package, the class of an
  image. Recall@10 counts the ten exact Euclidean neighbors among the first ten results, or after
  *rescoring* the first 40 or 100 candidates by the exact vectors. All are in percent.
- The first half of the 1,000 queries is for tuning; these figures are from the other half. Some
  defaults of `IMH` were chosen earlier with all queries of MNIST, so that its results there are
  somewhat optimistic.
- The quality of hashers of bitfold is the mean over seeds, times are the best of them; the other
  codes are not random, or have a fixed seed.
- Ties in Hamming distance count as the mean over their orders in MAP and P@k, and go by id in
  recall. Ties of real-valued distances go by id.
- Sign bits are the signs of the vector, one bit per feature, as in the binary embeddings of
  sentence-transformers. Where vectors have no negative values, the mean is subtracted first.
- "faiss" are indexes of `faiss.index_factory` with their default settings. Bytes are those of the
  code alone, without ids. The exact vectors have the size of their type: float32, or one byte per
  pixel.
- Fitting includes encoding and indexing the database, searching includes encoding the query; the
  queries are searched together, for ten results each. Times depend on the machine.

`make which-code` measures what is missing in `docs/which-code.jsonl` and writes this page.
`python -m reproduction text-set` makes the vectors of the Debian descriptions from the package
lists of any Debian mirror.

Next: [choose a method and a code length](how-to/choose-bits.md) on your own data.
"""


def run_which_code(docs: Path, cases: list[Case]) -> list[Record]:
    """Run the cases that have no record in ``which-code.jsonl``; return all records of the file."""
    records = RunRecords(docs / "which-code.jsonl")
    run_missing_cases(cases, records, DataLoader())
    return list(records)


def write_which_code(records: Iterable[Record], docs: Path) -> Path:
    """Draw the charts, write the page, and return its path."""
    known = list(records)
    for data in _list_data(known):
        write_chart(summarize(known, data), _make_title(known, data), docs / _chart_path(data))
    return write_page(known, docs)


def write_page(records: Iterable[Record], docs: Path) -> Path:
    """Write the page without drawing its charts."""
    known = list(records)
    path = docs / "which-code.md"
    path.write_text(make_page(known), encoding="utf-8")
    return path


def make_page(records: list[Record]) -> str:
    """Return the page, with the data sets that have records."""
    data = _list_data(records)
    rows = {NAMES[name]: summarize(records, name) for name in data}
    answers = (answer_top_results, answer_neighbors, answer_buckets, answer_labels)
    return "\n".join(
        [
            HEAD,
            *(f"![{_make_title(records, name)}]({_chart_path(name)})\n" for name in data),
            "## By job\n",
            *(answer(rows) for answer in answers),
            "## Everything that was measured\n",
            *(_make_section(records, name, rows) for name in data),
            METHOD,
        ]
    )


def write_readme_table(records: Iterable[Record], readme: Path) -> bool:
    """Replace the table between the two comments in the README.

    Returns
    -------
    Whether it was replaced; without records of the data set of the table it is not.

    Raises
    ------
    FormatError
        If the README does not have both comments.
    """
    known = list(records)
    if HEADLINE_DATA not in _list_data(known):
        return False
    before, start, rest = readme.read_text(encoding="utf-8").partition(START)
    _, end, after = rest.partition(END)
    if not end:
        raise FormatError(f"{readme} must have the comments {START} and {END}.")
    title = _make_title(known, HEADLINE_DATA)
    table = make_headline_table(summarize(known, HEADLINE_DATA))
    readme.write_text(f"{before}{start}\n{title}.\n\n{table}\n{end}{after}", encoding="utf-8")
    return True


def _list_data(records: list[Record]) -> list[str]:
    return [data for data in DATA if select_records(records, data)]


def _chart_path(data: str) -> str:
    return f"images/which-code/{data}.png"


def _make_title(records: list[Record], data: str) -> str:
    n_items, n_features, n_queries = find_extent(records, data)
    return (
        f"{NAMES[data]}: {n_items:,} {KINDS[data]} of {n_features} numbers, "
        f"{n_queries:,} held-out queries"
    )


def _make_section(records: list[Record], data: str, rows: RowsByData) -> str:
    """Return the table of a data set, collapsed, and how many seeds its means are over."""
    shown = [row for row in rows[NAMES[data]] if row.ranking != COARSE]
    n_seeds = max(row.n_seeds for row in shown)
    seeds = "one seed" if n_seeds == 1 else f"mean of {n_seeds} seeds"
    title = _make_title(records, data)
    return (
        f'<details markdown="1">\n<summary>{title} ({seeds})</summary>\n\n'
        f"{make_full_table(shown)}\n</details>\n"
    )
