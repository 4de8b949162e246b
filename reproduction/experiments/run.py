"""Run cases; those that have a record are not repeated."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any

from bitfold.datasets import Dataset
from bitfold.errors import DataError
from reproduction.experiments.classification import measure_classification
from reproduction.experiments.pictures import measure_digits, measure_plane, measure_retrieved
from reproduction.experiments.retrieval import (
    drop_times,
    is_machine_busy,
    measure_retrieval,
    measure_scan,
)
from reproduction.kind_and_order.cases import MEASURE as KIND_AND_ORDER
from reproduction.kind_and_order.measure import measure_setting
from reproduction.labels.cases import MEASURE as LABELS
from reproduction.labels.measure import measure_labels
from reproduction.records import Case, RunRecords
from reproduction.shared_types import ProgressCallback, Record, Result
from reproduction.which_code.contenders import MEASURE as WHICH_CODE
from reproduction.which_code.measure import measure_contender

MEASURES: dict[str, Callable[[Case, Dataset, ProgressCallback | None], Result]] = {
    "retrieval": measure_retrieval,
    "scan": measure_scan,
    "classification": measure_classification,
    "plane": measure_plane,
    "retrieved": measure_retrieved,
    "digits": measure_digits,
    WHICH_CODE: measure_contender,
    KIND_AND_ORDER: measure_setting,
    LABELS: measure_labels,
}
"""What can be measured in a case."""

Load = Callable[[Case, ProgressCallback | None], Dataset]
ShowCase = Callable[[Case], AbstractContextManager[ProgressCallback]]


def run_cases(
    cases: Iterable[Case],
    records: RunRecords,
    load: Load,
    show: ShowCase,
    *,
    drop_busy_times: bool = False,
) -> list[Record]:
    """Run the cases that have no record yet, and return the records of all.

    Parameters
    ----------
    cases
        The cases.
    records
        Where records are looked for and added.
    load
        Loads the data set of a case.
    show
        Shows a case while it runs, and yields its progress callback.
    drop_busy_times
        Whether times are left out if other programs competed for the cores.

    Returns
    -------
    One record per case. A method without codes of the requested length has the result
    ``{"error": message}``.
    """

    def measure(case: Case) -> Result:
        with show(case) as progress:
            result = run_case(case, load, progress)
        return drop_times(result) if drop_busy_times and is_machine_busy() else result

    return records.run_missing(cases, measure)


def run_case(
    case: Case, load: Load, progress: ProgressCallback | None = None, *, keep_times: bool = True
) -> Result:
    """Load the data of a case, and return what is measured in it."""
    data = load(case, progress)
    with warnings.catch_warnings():
        if case.n_rows:
            # Few rows may not have as many distinct base points as the paper's settings ask for.
            warnings.simplefilter("ignore", UserWarning)
        try:
            result: Result = _round_floats(MEASURES[case.measure](case, data, progress))
        except DataError as error:
            # With one neighbor per row, the graph of AGH has no edges, and AGH no eigenvectors.
            return {"error": str(error)}
    return result if keep_times else drop_times(result)


def _round_floats(value: Any) -> Any:
    """Round numbers to six digits, more than another seed reproduces; records are half as long."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {name: _round_floats(item) for name, item in value.items()}
    return [_round_floats(item) for item in value] if isinstance(value, list) else value
