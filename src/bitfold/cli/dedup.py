"""``bitfold dedup``: group near-duplicates, and say which items to keep."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from typer import Argument, Option

from bitfold._types import Ids
from bitfold.cli import _dedup_items
from bitfold.cli._dedup_items import DEFAULT_BITS, Encoding
from bitfold.cli._dedup_page import PageContent
from bitfold.cli._dedup_request import Checks, DedupRequest, describe, summarize
from bitfold.cli._dedup_table import GroupTable
from bitfold.cli._inputs import VECTOR_FORMATS, check_exists
from bitfold.cli._options import AsJson, Cosine, Force
from bitfold.cli._outputs import (
    check_differs,
    check_new,
    check_output,
    explain_full_disk,
    remove_if_failed,
)
from bitfold.cli._terminal import ProgressDisplay, print_summary, show_progress
from bitfold.cli.search import load_model_of
from bitfold.io.atomic import replace_atomically
from bitfold.search import (
    HammingIndex,
    VectorCheck,
    default_radius,
    group_duplicates,
    match_duplicates,
    measure_radii,
)


def dedup(
    items: Annotated[
        Path,
        Argument(
            help=f"Vectors ({VECTOR_FORMATS}), codes (.codes), an index, or a text file of "
            "hexadecimal hashes, one per line (.txt, .hex)."
        ),
    ],
    out: Annotated[Path, Option(help="Groups to write: .parquet or .jsonl.")],
    radius: Annotated[
        int | None,
        Option(min=0, help="Largest Hamming distance of near-duplicates; by default bits / 16."),
    ] = None,
    linkage: Annotated[
        str,
        Option(
            help="star: every item is near its representative. connected: a chain of near items "
            "connects the items of a group."
        ),
    ] = "star",
    max_distance: Annotated[
        float | None,
        Option(min=0, help="Accept only pairs whose original vectors are within this distance."),
    ] = None,
    precision: Annotated[
        float | None,
        Option(
            min=0,
            max=1,
            help="Choose the largest radius within which this fraction of pairs is within "
            "--max-distance, measured on a sample.",
        ),
    ] = None,
    cosine: Cosine = False,
    model: Annotated[
        Path | None, Option(help="Model for vectors; by default LSH is fitted.")
    ] = None,
    bits: Annotated[
        int, Option(min=1, max=1024, help="Code length if no model is given.")
    ] = DEFAULT_BITS,
    vectors: Annotated[
        Path | None, Option(help="Original vectors of codes or an index; row i has id i.")
    ] = None,
    against: Annotated[
        Path | None, Option(help="Index; items that are near one of its items are not kept.")
    ] = None,
    against_vectors: Annotated[
        Path | None, Option(help="Original vectors of that index; row i has id i.")
    ] = None,
    update: Annotated[
        bool, Option("--update", help="Add the kept items to the index of --against.")
    ] = False,
    kept: Annotated[Path | None, Option(help="Index to write with the kept items.")] = None,
    all_items: Annotated[
        bool, Option("--all", help="Write items without near-duplicates, too.")
    ] = False,
    page: Annotated[Path | None, Option(help="Web page to write with the largest groups.")] = None,
    images: Annotated[
        Path | None, Option(help="Images for the page: a folder, .npy or .npz.")
    ] = None,
    texts: Annotated[Path | None, Option(help="Texts for the page, one line per item.")] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Group near-duplicates, and say which items to keep.

    Items are near if their codes differ in at most --radius bits, and with --max-distance if their
    vectors are near as well. Vectors are encoded block by block; after an interruption, the same
    command continues.

    Example: bitfold dedup vectors.npy --out groups.parquet --page groups.html
    """
    inputs = items, model, vectors, against, against_vectors, images, texts
    check_exists(*inputs)
    request = DedupRequest(
        *(items, out, radius, linkage, max_distance, precision, cosine, vectors),
        *(against, against_vectors, update, all_items),
    )
    request.check(model)
    content = PageContent.create(page, images, texts)
    for output in filter(None, (out, page)):
        check_output(output, *inputs, force=force)
    if page is not None and page.resolve() == out.resolve():
        raise typer.BadParameter("--page and --out must be different files.")
    if kept is not None:
        check_differs(kept, *inputs)
        check_new(kept, force=force)
    summary = _Run(request, Encoding(model, bits, cosine), content, kept).run()
    print_summary(summary, describe(summary), as_json=as_json)


class _Run(NamedTuple):
    """One run of the command."""

    request: DedupRequest
    encoding: Encoding
    content: PageContent | None
    kept: Path | None

    def run(self) -> dict[str, Any]:
        """Group the items, and write everything; return what is printed about it."""
        request = self.request
        with explain_full_disk(request.out), show_progress() as display:
            if _dedup_items.has_codes(request.items):
                return self._group(display, request.out.parent)
            work = request.out.with_name(f"{request.out.name}.work")
            with _dedup_items.keep_work(work, self.encoding.describe(request.items)):
                return self._group(display, work)

    def _group(self, display: ProgressDisplay, work: Path) -> dict[str, Any]:
        request = self.request
        other = self._open_other()
        items = _dedup_items.open_items(
            request.items, request.vectors, self.encoding, work, display
        )
        if other is not None and request.against is not None:
            _dedup_items.check_bits(items.index, other, request.against)
        checks = request.make_checks(items)
        with display.spinner("choosing the radius"):
            radius, choice = self._choose_radius(items.index, checks.own)
        with display.spinner("grouping"):
            table = self._find_groups(items.index, other, radius, checks)
        summary = summarize(request, table, items.index, radius) | choice
        ids = np.sort(items.index.buckets().ids)
        # The page is rendered first: if an image or a text is missing, nothing has been written.
        rendered = self._render(table, ids, summary, display)
        table.write(request.out)
        if self.content is not None:
            with replace_atomically(self.content.page) as file:
                file.write(rendered)
        return summary | self._keep(items.index, other, np.setdiff1d(ids, table.dropped))

    def _render(
        self, table: GroupTable, ids: Ids, summary: dict[str, Any], display: ProgressDisplay
    ) -> bytes:
        """Return the page, if one is wanted."""
        if self.content is None:
            return b""
        with display.spinner("rendering the page"):
            return self.content.render(table, ids, describe(summary))

    def _open_other(self) -> HammingIndex | None:
        """Open the index to compare with, after checking that the model made its codes."""
        against = self.request.against
        if against is None:
            return None
        _dedup_items.check_index(against)
        other = HammingIndex.open(against, "a" if self.request.update else "r")
        if self.encoding.model is not None:
            load_model_of(other, against, self.encoding.model)
        return other

    def _choose_radius(
        self, index: HammingIndex, check: VectorCheck | None
    ) -> tuple[int, dict[str, Any]]:
        """Return the radius, and how it was chosen if it was measured."""
        request = self.request
        if request.precision is None or check is None:
            given = request.radius
            return (default_radius(index.n_bits) if given is None else given), {}
        quality = measure_radii(index, check)
        radius = quality.choose(request.precision)
        return radius, {
            "precision": quality.precision(radius),
            "recall": quality.recall(radius),
            "sampled_pairs": int(quality.n_pairs[radius]),
            "max_distance": request.max_distance,
        }

    def _find_groups(
        self, index: HammingIndex, other: HammingIndex | None, radius: int, checks: Checks
    ) -> GroupTable:
        """Match the items with the other index, and group the rest."""
        if other is None:
            return self._group_items(index, radius, checks.own)
        matches = match_duplicates(index, other, radius, check=checks.other)
        rest = _select(index, np.setdiff1d(index.buckets().ids, matches.ids))
        matched = _measure(GroupTable.from_matches(matches), checks.other)
        return matched.append(self._group_items(rest, radius, checks.own))

    def _group_items(
        self, index: HammingIndex, radius: int, check: VectorCheck | None
    ) -> GroupTable:
        min_size, linkage = 1 if self.request.all_items else 2, self.request.linkage
        clusters = group_duplicates(index, radius, linkage=linkage, check=check, min_size=min_size)
        return _measure(GroupTable.from_clusters(clusters), check)

    def _keep(self, index: HammingIndex, other: HammingIndex | None, ids: Ids) -> dict[str, Any]:
        """Write the kept items to a new index, or add them to the other one."""
        done: dict[str, Any] = {}
        if self.kept is not None:
            with remove_if_failed(self.kept):
                _select(index, ids).save(self.kept)
            done["kept_index"] = str(self.kept)
        if self.request.update and other is not None and len(ids):
            other.add(index.codes(ids))
            last = max(int(np.max(batch.ids)) for batch in other.batches())
            done["added_ids"] = [last - len(ids) + 1, last]
        if other is not None:
            other.close()
        return done


def _select(index: HammingIndex, ids: Ids) -> HammingIndex:
    """Return an index in memory of some items of an index."""
    selected = HammingIndex(index.n_bits)
    selected.add(index.codes(ids), ids)
    return selected


def _measure(table: GroupTable, check: VectorCheck | None) -> GroupTable:
    """Add the exact distance of each item to its representative, if vectors are known."""
    if check is None:
        return table
    return table._replace(exact_distance=check.measure(table.id, table.representative))
