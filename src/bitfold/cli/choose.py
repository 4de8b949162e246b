"""``bitfold choose``: choose a method and a code length for a budget or a target."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table
from typer import Argument, Option

from bitfold.cli._comparison_table import SEARCH_NOTE, list_errors, list_options
from bitfold.cli._inputs import LABEL_FORMATS
from bitfold.cli._method_runs import MethodRun, run_methods
from bitfold.cli._options import AsJson, Cosine, HeldOutRows, SampledRows
from bitfold.cli._quality_table import format_share
from bitfold.cli._recommendation import describe_option, format_next_step, is_unsupervised
from bitfold.cli._sampled_data import (
    DATA_HELP,
    DEFAULT_ROWS,
    DataRequest,
    describe_sample,
)
from bitfold.cli._terminal import make_console
from bitfold.codes import count_bytes
from bitfold.evaluation import CodeOption, choose_code
from bitfold.evaluation.choice import SLACK
from bitfold.io.records import RunRecords

LENGTHS = (32, 64, 128, 256)
"""Code lengths that are measured without a budget."""

MAX_BYTES = 128
"""Largest budget per vector: codes have at most 1024 bits."""

CANDIDATES: dict[str, tuple[int, ...]] = {
    "dualhasher": LENGTHS[1:],
    "itq": LENGTHS,
    "lsh": LENGTHS,
    "imh": LENGTHS[:2],
}
"""Methods that are measured, with their lengths; longer codes of IMH are hardly better."""

SUPERVISED: dict[str, tuple[int, ...]] = {"ccaitq": LENGTHS, "supervisedimh": (0,)}
"""The same for methods that learn from labels; 0 stands for as many bits as the labels allow."""

MEASURES = {0: "recall_10", 40: "recall_10_from_40", 100: "recall_10_from_100"}
"""The measure of recall by the number of rescored candidates."""


class Goal(NamedTuple):
    """What is wanted: the measure and its heading, and the limits."""

    measure: str
    heading: str
    target: float | None
    max_bytes: int | None

    @property
    def max_bits(self) -> int | None:
        """Longest code that the budget allows."""
        return self.max_bytes and 8 * self.max_bytes


def choose(
    data: Annotated[str, Argument(metavar="VECTORS", help=DATA_HELP)],
    labels: Annotated[
        Path | None, Option(help=f"Labels of the rows of a file: {LABEL_FORMATS}.")
    ] = None,
    bytes_per_vector: Annotated[
        int | None, Option(min=1, max=MAX_BYTES, help="Budget: the longest code in bytes.")
    ] = None,
    recall: Annotated[
        float | None, Option(min=0, max=1, help="Target: recall@10 of the exact neighbors.")
    ] = None,
    precision: Annotated[
        float | None, Option(min=0, max=1, help="Target: P@10, with labels.")
    ] = None,
    rescore: Annotated[
        int, Option(help="Candidates that you will rescore by the original vectors: 0, 40 or 100.")
    ] = 0,
    queries: HeldOutRows = None,
    rows: SampledRows = DEFAULT_ROWS,
    cosine: Cosine = False,
    as_json: AsJson = False,
) -> None:
    """Choose a method and a code length for a budget or a target.

    A few good methods are measured on a sample, by the asymmetric search that bitfold search runs.
    With a target, the shortest code that reaches it is chosen; otherwise the shortest whose first
    hits are nearly as good as the best.

    Example: bitfold choose vectors.npy --bytes-per-vector 16
    """
    request = DataRequest.create(data, labels, queries, rows, cosine)
    goal = _read_goal(request, bytes_per_vector, recall, precision, rescore)
    runs = [
        MethodRun.create(request, method, n_bits)
        for method, n_bits in _list_candidates(goal, is_labeled=request.is_labeled)
    ]
    done = run_methods(runs, request, RunRecords(None))
    options = list_options(done, goal.measure)
    chosen = choose_code(options, max_bits=goal.max_bits, target=goal.target)
    if as_json:
        typer.echo(json.dumps(_summarize(done, goal, chosen, request)))
    else:
        _print_choice(done, goal, chosen, request)


def _read_goal(
    request: DataRequest,
    max_bytes: int | None,
    recall: float | None,
    precision: float | None,
    rescore: int,
) -> Goal:
    """Return the goal that the options describe."""
    if sum(value is not None for value in (max_bytes, recall, precision)) > 1:
        raise typer.BadParameter(
            "--bytes-per-vector, --recall and --precision cannot be used together."
        )
    if precision is not None and not request.is_labeled:
        raise typer.BadParameter("--precision needs --labels.")
    if rescore not in MEASURES:
        raise typer.BadParameter(f"--rescore must be 0, 40 or 100, got {rescore}.")
    if recall is not None or not request.is_labeled:
        heading = f"recall@10 from {rescore}" if rescore else "recall@10"
        return Goal(MEASURES[rescore], heading, recall, max_bytes)
    if rescore:
        raise typer.BadParameter("With labels, --rescore needs --recall.")
    return Goal("precision_10", "P@10", precision, max_bytes)


def _list_candidates(goal: Goal, *, is_labeled: bool) -> list[tuple[str, int]]:
    """Return methods and code lengths, short codes first."""
    methods = CANDIDATES | (SUPERVISED if is_labeled else {})
    pairs = {
        (method, n_bits)
        for method, lengths in methods.items()
        for n_bits in _limit_lengths(lengths, goal.max_bits)
    }
    order = list(methods)
    return sorted(pairs, key=lambda pair: (pair[1], order.index(pair[0])))


def _limit_lengths(lengths: tuple[int, ...], max_bits: int | None) -> tuple[int, ...]:
    """Return the lengths within a budget: all of it, and the longest that is shorter."""
    if max_bits is None or lengths == (0,):
        return lengths
    longest = max_bits if lengths[-1] == LENGTHS[-1] else min(max_bits, lengths[-1])
    shorter = [n_bits for n_bits in lengths if n_bits < longest]
    return (*shorter[-1:], longest)


def _summarize(
    done: list[dict[str, Any]], goal: Goal, chosen: CodeOption | None, request: DataRequest
) -> dict[str, Any]:
    """Return what was measured and chosen, for JSON."""
    return {
        "goal": goal._asdict(),
        "chosen": chosen and chosen._asdict(),
        "reason": chosen and _explain(chosen, goal),
        "next_step": chosen and format_next_step(chosen, request),
        "runs": done,
    }


def _print_choice(
    done: list[dict[str, Any]], goal: Goal, chosen: CodeOption | None, request: DataRequest
) -> None:
    """Print the table, the choice with its reason, and the command to continue with."""
    sizes = [record["result"] for record in done if "n_rows" in record["result"]]
    if sizes:
        sample = describe_sample(sizes[0]["n_rows"], sizes[0]["n_available"])
        by_cosine = "; exact neighbors by cosine" if request.cosine else ""
        typer.echo(f"{request.data}: {request.n_queries:,} queries in {sample}{by_cosine}")
        typer.echo(SEARCH_NOTE)
    make_console().print(_make_table(done, chosen, is_labeled=request.is_labeled))
    for message in list_errors(done):
        typer.echo(f"– {message}")
    if chosen is None:
        raise typer.BadParameter("No method can have codes within this budget.")
    found = describe_option(chosen, goal.heading, with_map=request.is_labeled)
    typer.echo("with 40, with 100: recall@10 after rescoring that number of hits")
    typer.echo(f"Chosen: {found}; {_explain(chosen, goal)}.")
    if not is_unsupervised(chosen):
        options = filter(is_unsupervised, list_options(done, goal.measure))
        other = choose_code(options, max_bits=goal.max_bits, target=goal.target)
        if other is not None:
            typer.echo(f"Without learning from labels: {describe_option(other, goal.heading)}.")
    for hint in _list_hints(sizes, goal, chosen):
        typer.echo(hint)
    typer.echo(format_next_step(chosen, request))


def _explain(chosen: CodeOption, goal: Goal) -> str:
    """Return the reason for a choice."""
    if goal.target is not None and chosen.score >= goal.target:
        return f"the shortest code that reaches {goal.heading} {goal.target:g}"
    within = f" of at most {goal.max_bytes} bytes" if goal.max_bytes else ""
    best = f"the shortest code{within} whose {goal.heading} is within {SLACK} of the best"
    if goal.target is not None:
        return f"no code reaches {goal.heading} {goal.target:g}, and this is {best}"
    return best


def _list_hints(sizes: list[dict[str, Any]], goal: Goal, chosen: CodeOption) -> list[str]:
    """Return what the user should know about the choice."""
    hints = []
    is_missed = goal.target is not None and chosen.score < goal.target
    if is_missed and goal.measure in ("recall_10", "recall_10_from_40"):
        hints.append("Rescoring more candidates raises recall: try --rescore 100.")
    if sizes and goal.measure.startswith("recall") and sizes[0]["n_rows"] < sizes[0]["n_available"]:
        hints.append(
            "Recall is lower among all rows than in a sample: use --rows 0 to measure it there."
        )
    return hints


def _make_table(
    done: list[dict[str, Any]], chosen: CodeOption | None, *, is_labeled: bool
) -> Table:
    """Return a table with one row per code."""
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    labeled = ("P@10", "MAP") if is_labeled else ()
    table.add_column("\nmethod", no_wrap=True)
    for heading in (
        "bits", "bytes", *labeled, "recall\n@10", "with\n40", "with\n100", "fit s",
    ):  # fmt: skip
        text = heading if "\n" in heading else f"\n{heading}"
        table.add_column(text, justify="right", no_wrap=True)
    for record in done:
        result = record["result"]
        if "error" in result:
            continue
        shares = [result["precision_10"], result["search_map"]] if is_labeled else []
        shares += [result[measure] for measure in MEASURES.values()]
        key = record["case"]["method"], result["n_bits"]
        mark = "→" if chosen is not None and key == chosen[:2] else " "
        size = str(result["n_bits"]), str(count_bytes(result["n_bits"]))
        values = map(format_share, shares)
        table.add_row(f"{mark} {key[0]}", *size, *values, f"{result['fit_seconds']:.1f}")
    return table
