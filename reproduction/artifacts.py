"""Every table and figure of the paper as data: the cases it needs and how it is presented."""

from __future__ import annotations

from dataclasses import dataclass

from reproduction import case_lists as lists
from reproduction.paper.checks import CODE_LENGTHS
from reproduction.report.presentation import (
    ACCURACY,
    F1,
    MAP,
    RECALL,
    Present,
    present_base_size_figure,
    present_by_length,
    present_digits,
    present_plane,
    present_precision_and_recall,
    present_retrieved,
    present_supplement,
)
from reproduction.report.table_presentation import (
    present_base_methods,
    present_base_size_table,
    present_other_queries,
    present_times,
)
from reproduction.report.unit_rows import present_unit_rows


@dataclass(frozen=True)
class Artifact:
    """A table or figure: its number and title, the cases it needs, and how it is presented.

    ``priority`` orders the runs: artifacts with smaller numbers are run first.
    """

    name: str
    number: str
    title: str
    cases: lists.ListCases
    present: Present
    priority: int = 5


ARTIFACTS: dict[str, Artifact] = {
    artifact.name: artifact
    for artifact in (
        Artifact("fig-query-digits", "Fig. 2", "Queries among 300 digits",
                 lists.list_digits, present_digits, 2),
        Artifact("fig-embeddings", "Fig. 3", "Manifold methods within IMH on CIFAR-10",
                 lists.list_embeddings, present_by_length(MAP)),
        Artifact("fig-base-size", "Fig. 4", "Base set size and neighbors on CIFAR-10, 64 bits",
                 lists.list_sizes_and_neighbors, present_base_size_figure, 6),
        Artifact("table-base-method", "Table I", "How the base set is chosen, CIFAR-10",
                 lists.list_base_methods, present_base_methods, 1),
        Artifact("table-base-size", "Table II", "Impact of the size of the base set, 64 bits",
                 lists.list_base_sizes, present_base_size_table, 1),
        Artifact("fig-2d", "Fig. 5", "MNIST in the plane", lists.list_plane, present_plane, 2),
        Artifact("fig-cifar", "Fig. 6", "Comparison on CIFAR-10",
                 lists.list_comparison("cifar10"), present_by_length(MAP, F1), 3),
        Artifact("fig-cifar-pr", "Fig. 7", "Precision and recall on CIFAR-10, 64 bits",
                 lists.list_paper_methods("cifar10", [64]), present_precision_and_recall, 3),
        Artifact("fig-retrieved", "Fig. 8", "Retrieved images, 32 bits",
                 lists.list_retrieved, present_retrieved, 2),
        Artifact("fig-mnist", "Fig. 9", "Comparison on MNIST",
                 lists.list_comparison("mnist"), present_by_length(MAP, F1), 3),
        Artifact("table-time", "Table III", "Times on MNIST",
                 lists.list_paper_methods("mnist", (64, 128)), present_times, 3),
        Artifact("fig-sift", "Fig. 10", "A million SIFT descriptors",
                 lists.list_million_rows("sift_photos", "sift1m"),
                 present_by_length(F1, RECALL, artifact="fig-sift"), 9),
        Artifact("fig-gist", "Fig. 11", "A million GIST descriptors",
                 lists.list_million_rows("gist_cifar", "gist1m"), present_by_length(F1, RECALL), 9),
        Artifact("fig-classify", "Fig. 12", "A linear SVM on the codes of MNIST",
                 lists.list_classification,
                 present_by_length(ACCURACY, artifact="fig-classify"), 2),
        Artifact("fig-itq", "Fig. 13", "Learned rotations",
                 lists.list_rotations, present_by_length(F1, RECALL), 4),
        Artifact("fig-supervised", "Fig. 14", "Methods that learn from labels",
                 lists.list_supervised, present_by_length(MAP, F1), 4),
        Artifact("supplement", "Supplement", "Precision and recall at all code lengths",
                 lambda protocol: [
                     *lists.list_paper_methods("mnist", CODE_LENGTHS)(protocol),
                     *lists.list_paper_methods("cifar10", CODE_LENGTHS)(protocol),
                 ],
                 present_supplement),
        Artifact("other-queries", "Check", "Queries that no setting was chosen on",
                 lists.list_other_queries, present_other_queries, 7),
        Artifact("unit-rows", "Check", "The other methods on rows of unit length",
                 lists.list_unit_rows, present_unit_rows, 7),
    )
}  # fmt: skip
"""The tables and figures by name, in the order of the paper."""
