"""The command ``python -m reproduction``."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.table import Table

from bitfold.errors import MissingDataError
from reproduction import runner
from reproduction.artifacts import ARTIFACTS, Artifact
from reproduction.demo.command import demo
from reproduction.experiments.estimates import format_duration
from reproduction.paper.targets import judge_targets
from reproduction.protocol import Protocol
from reproduction.report.target_table import make_target_table
from reproduction.terminal import open_console

app = typer.Typer(
    help="Reproduce the tables and figures of 'Hashing on Nonlinear Manifolds', and write the "
    "pages of the documentation that are made from results.",
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(demo)

PAGE_COMMANDS = (
    "demo", "targets", "paper-to-code", "gallery", "theory", "comparison", "published",
    "which-code", "kind-and-order", "labels", "text-set",
)  # fmt: skip

Docs = Annotated[Path, typer.Argument(help="Folder of the documentation.")]


def main() -> NoReturn:
    """Run the command; an error is one line and exit code 1, Ctrl-C is exit code 130."""
    arguments = sys.argv[1:]
    if not arguments or arguments[0] not in ("run", "-h", "--help", *PAGE_COMMANDS):
        arguments = ["run", *arguments]
    try:
        code = app(arguments, prog_name="python -m reproduction", standalone_mode=False)
    except KeyboardInterrupt:
        code = 130
    except Exception as error:
        text = error.format_message() if hasattr(error, "format_message") else str(error)
        sys.stderr.write(f"reproduction: {' '.join(text.split()) or type(error).__name__}\n")
        code = getattr(error, "exit_code", 1)  # 2 for a wrong option
    sys.exit(code or 0)


@app.command()
def run(
    names: Annotated[
        list[str] | None, typer.Argument(help="Artifacts, or all.", metavar="[NAME]...")
    ] = None,
    show_list: Annotated[
        bool, typer.Option("--list", help="List the artifacts and the time that is left.")
    ] = False,
    quick: Annotated[bool, typer.Option(help="Run a small version.")] = False,
    repeats: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of seeds to average over; by default 5, and 3 on the sets with a million "
            "rows. The paper has 10.",
            show_default=False,
        ),
    ] = None,
    queries: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of queries; by default the paper's, 10,000 on the sets with a million "
            "rows and 1,000 elsewhere.",
            show_default=False,
        ),
    ] = None,
    times: Annotated[
        bool, typer.Option("--times", help="Measure times again that a busy machine left out.")
    ] = False,
    jobs: Annotated[
        int,
        typer.Option(
            min=1,
            help="Number of processes, with one core each; times are not measured with several.",
        ),
    ] = 1,
    out: Annotated[Path, typer.Option(help="Folder of the records and the report.")] = Path(
        "report"
    ),
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Run what is missing of the paper's tables and figures, and write the report.

    "run" can be left out. A run can be interrupted at any time; the next one continues from its
    records.

    Example: python -m reproduction fig-mnist --quick
    """
    protocol = Protocol(repeats, queries, quick)
    if show_list or not names:
        _print_list(runner.list_artifacts(protocol, out), as_json)
        return
    chosen = _find_artifacts(names)
    _require_matplotlib()
    problems = runner.run_artifacts(chosen, protocol, out, times=times, n_jobs=jobs)
    path = runner.write_artifacts(chosen, protocol, out, _format_command(names, protocol))
    if as_json:
        typer.echo(json.dumps({"report": str(path), "artifacts": [a.name for a in chosen]}))
    else:
        typer.echo(f"Report written to {path}")
    if problems:
        raise MissingDataError(" ".join(problems))


@app.command()
def targets(
    out: Annotated[Path, typer.Option(help="Folder of the records.")] = Path("docs/report"),
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print the values that the authors' settings must reach here, next to the paper's.

    Example: python -m reproduction targets --out docs/report
    """
    records = runner.choose_records([], Protocol(), out)
    results = judge_targets(records)
    if as_json:
        typer.echo(json.dumps([result.to_dict() for result in results]))
    else:
        open_console().print(make_target_table(results))


@app.command()
def paper_to_code(docs: Docs = Path("docs")) -> None:
    """Write the page that maps every equation, table and figure of the paper to code and tests."""
    from reproduction.pages.paper_to_code import write_paper_to_code

    typer.echo(f"Page written to {write_paper_to_code(docs)}")


@app.command()
def gallery(docs: Docs = Path("docs")) -> None:
    """Write the gallery: how the first bits of each method divide the plane."""
    from reproduction.pages.gallery import write_gallery

    typer.echo(f"Page written to {write_gallery(docs)}")


@app.command()
def theory(docs: Docs = Path("docs")) -> None:
    """Draw the figures of the theory pages."""
    from reproduction.theory import draw_figures

    typer.echo(f"Figures written to {draw_figures(docs)}")


@app.command()
def comparison(
    docs: Docs = Path("docs"),
    times: Annotated[
        bool, typer.Option("--times", help="Measure times again that a busy machine left out.")
    ] = False,
) -> None:
    """Run what is missing of the comparison of all methods, and write its pages.

    Example: python -m reproduction comparison docs --times
    """
    from reproduction.pages.comparison import run_comparison, write_comparison

    records = run_comparison(docs, times=times)
    typer.echo(f"Page written to {write_comparison(records, docs)}")


@app.command()
def published(docs: Docs = Path("docs")) -> None:
    """Run what is missing of the published results on MNIST, and write their page."""
    from reproduction.pages.published import run_published, write_published

    typer.echo(f"Page written to {write_published(run_published(docs), docs)}")


@app.command()
def which_code(
    docs: Docs = Path("docs"),
    data: Annotated[
        list[str] | None,
        typer.Option(help="Data set to measure, repeatable; all of the page by default."),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Number of seeds of random methods.")] = 3,
    readme: Annotated[Path, typer.Option(help="README whose table of codes is replaced.")] = Path(
        "README.md"
    ),
) -> None:
    """Measure what is missing of the page that says which code to use, and write it.

    The records of all data sets are shown, measured now or before. The README gets a table of them.

    Example: python -m reproduction which-code docs --data text --seeds 1
    """
    from reproduction.which_code.contenders import DATA, list_cases
    from reproduction.which_code.page import (
        run_which_code,
        write_readme_table,
        write_which_code,
    )

    _check_data_names(data or (), DATA)
    records = run_which_code(docs, list_cases(tuple(data or DATA), seeds))
    typer.echo(f"Page written to {write_which_code(records, docs)}")
    if write_readme_table(records, readme):
        typer.echo(f"Table written to {readme}")


@app.command()
def kind_and_order(
    docs: Docs = Path("docs"),
    data: Annotated[
        list[str] | None,
        typer.Option(help="Data set to measure, repeatable; all of the page by default."),
    ] = None,
) -> None:
    """Measure what is missing of the page on splits, weights and base sets of DualHasher.

    The page shows the records of all data sets, measured now or before.

    Example: python -m reproduction kind-and-order docs --data text
    """
    from reproduction.kind_and_order.cases import DATA, list_cases
    from reproduction.kind_and_order.page import run_kind_and_order, write_kind_and_order

    _check_data_names(data or (), DATA)
    records = run_kind_and_order(docs, list_cases(tuple(data or DATA)))
    typer.echo(f"Page written to {write_kind_and_order(records, docs)}")


@app.command()
def labels(
    docs: Docs = Path("docs"),
    data: Annotated[
        list[str] | None,
        typer.Option(help="Data set to measure, repeatable; all of the page by default."),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Number of seeds.")] = 3,
) -> None:
    """Measure what is missing of the page on codes from labels, print its tables, and write it.

    Three of the ten classes are also left out of training, to measure codes of unknown classes.

    Example: python -m reproduction labels docs --data mnist --seeds 1
    """
    from reproduction.labels.cases import DATA, list_cases
    from reproduction.labels.page import run_labels, write_labels

    _check_data_names(data or (), DATA)
    path = write_labels(run_labels(docs, list_cases(tuple(data or DATA), seeds)), docs)
    typer.echo(path.read_text(encoding="utf-8"))
    typer.echo(f"Page written to {path}")


@app.command()
def text_set(
    lists: Annotated[
        list[Path],
        typer.Argument(
            help="Package lists of Debian, plain or compressed with gzip or xz; later ones replace "
            "packages of earlier ones.",
            metavar="PACKAGES...",
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder of the text set, such as BITFOLD_DATA/text.")],
) -> None:
    """Make the text set: descriptions of Debian packages as sentence vectors (needs wordllama).

    Example: python -m reproduction text-set Packages.xz --out data/text
    """
    from reproduction.data.text_set import make_text_set

    typer.echo(f"Text set written to {make_text_set(lists, out)}")


def _check_data_names(names: Iterable[str], known: Sequence[str]) -> None:
    for name in names:
        if name not in known:
            raise typer.BadParameter(f"unknown data set {name!r}; choose among {', '.join(known)}.")


def _find_artifacts(names: list[str]) -> list[Artifact]:
    for name in names:
        if name != "all" and name not in ARTIFACTS:
            known = ", ".join(["all", *ARTIFACTS])
            raise typer.BadParameter(f"unknown artifact {name!r}; choose among {known}.")
    return [a for a in ARTIFACTS.values() if "all" in names or a.name in names]


def _require_matplotlib() -> None:
    """Raise before hours of runs if figures cannot be drawn."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise ImportError('Drawing needs matplotlib: pip install "bitfold[figures]".') from None


def _format_command(names: list[str], protocol: Protocol) -> str:
    """Return the command that makes the same report."""
    options = ["--quick"] if protocol.quick else []
    if protocol.n_repeats and not protocol.quick:
        options.append(f"--repeats {protocol.n_repeats}")
    if protocol.n_queries and not protocol.quick:
        options.append(f"--queries {protocol.n_queries}")
    return " ".join(["python -m reproduction", *names, *options])


def _print_list(entries: list[runner.ListEntry], as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps([asdict(entry) for entry in entries]))
        return
    table = Table("name", "in the paper", "title")
    for head in ("runs", "missing", "time left"):
        table.add_column(head, justify="right")
    for entry in entries:
        if entry.name == "all":
            table.add_section()
        left = format_duration(entry.seconds_left) if entry.n_missing else "done"
        counts = f"{entry.n_runs:,}", f"{entry.n_missing:,}"
        table.add_row(entry.name, entry.number, entry.title, *counts, left)
    open_console().print(table)
