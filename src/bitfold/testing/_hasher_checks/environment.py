"""Checks of a hasher among other code: pipelines, callbacks, threads, processes, output."""

from __future__ import annotations

import io
import multiprocessing
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stderr, redirect_stdout, suppress
from itertools import groupby, pairwise

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_info, threadpool_limits

from bitfold.hashers import Hasher
from bitfold.metrics import map_scorer
from bitfold.testing._hasher_checks.common import (
    assert_raises,
    assert_same_state,
    fit_copy,
    ignore_warnings,
    load_many_rows,
    load_sample,
)


def check_bit_names(hasher: Hasher) -> None:
    """Check that bits are named after the class, as scikit-learn names columns."""
    fitted = fit_copy(hasher)
    names = [f"{type(hasher).__name__.lower()}{bit}" for bit in range(fitted.n_bits_)]
    assert list(fitted.get_feature_names_out()) == names


def check_pipeline(hasher: Hasher) -> None:
    """Check that a hasher in a pipeline gives the same bits as on its own."""
    X, y, queries = load_sample()
    pipeline = make_pipeline(StandardScaler(), clone(hasher)).fit(X, y)
    scaler = StandardScaler().fit(X)
    alone = clone(hasher).fit(scaler.transform(X), y)
    np.testing.assert_array_equal(
        pipeline.transform(queries), alone.transform(scaler.transform(queries))
    )


def check_cross_validation(hasher: Hasher) -> None:
    """Check that cross-validated codes rank rows of the same class better than chance."""
    X, y, _ = load_sample()
    scores = cross_val_score(hasher, X, y, scoring=map_scorer, cv=2)
    chance = np.mean(y[:, None] == y)
    assert ((scores > 2 * chance) & (scores <= 1)).all(), scores


def check_progress(hasher: Hasher) -> None:
    """Check that progress only grows, reaches the total, and does not change the result."""
    calls: list[tuple[str, int, int]] = []
    fitted = clone(hasher).fit(
        load_sample().X, load_sample().y, progress=lambda *call: calls.append(call)
    )
    assert_same_state(fitted, fit_copy(hasher))
    _assert_progress_grows(calls)
    calls.clear()
    rows = load_many_rows()
    codes = fitted.encode(rows, progress=lambda *call: calls.append(call))
    assert codes == fitted.encode(rows)
    _assert_progress_grows(calls)
    assert calls[-1] == ("encode", len(rows), len(rows))
    assert len(calls) > 1


def _assert_progress_grows(calls: list[tuple[str, int, int]]) -> None:
    for stage, done, total in calls:
        assert isinstance(stage, str)
        assert 0 < done <= total
    for (stage, done, total), (next_stage, next_done, next_total) in pairwise(calls):
        assert stage != next_stage or (done < next_done and total == next_total)
    stages = [stage for stage, _, _ in calls]
    assert len(list(groupby(stages))) == len(set(stages)), f"a stage is reported twice: {stages}"


def _list_blas_threads() -> list[int]:
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def check_threads(hasher: Hasher) -> None:
    """Check that several threads can encode with one hasher at the same time."""
    fitted, rows = clone(hasher).fit(load_sample().X, load_sample().y), load_many_rows()
    expected = fit_copy(hasher).encode(rows)
    with threadpool_limits(2, "blas"), ThreadPoolExecutor(8) as pool:
        before = _list_blas_threads()
        assert all(codes == expected for codes in pool.map(fitted.encode, [rows] * 16))
        assert _list_blas_threads() == before


class CallbackError(Exception):
    """What the callback of :func:`check_errors_restore_threads` raises."""


def check_errors_restore_threads(hasher: Hasher) -> None:
    """Check that an error during ``encode`` leaves the hasher and the BLAS threads as before."""
    fitted = fit_copy(hasher)
    rows = load_many_rows().copy()
    rows[5000, 0] = np.nan

    def fail(stage: str, done: int, total: int) -> None:
        raise CallbackError

    with threadpool_limits(2, "blas"):
        before = _list_blas_threads()
        with assert_raises(ValueError, "NaN in row 5000."):
            fitted.encode(rows)
        with suppress(CallbackError):
            fitted.encode(load_many_rows(), progress=fail)
        assert _list_blas_threads() == before
    assert fitted.encode(load_many_rows()) == fit_copy(hasher).encode(load_many_rows())


def check_forked_process(hasher: Hasher) -> None:
    """Check that a forked process can encode, where the system can fork."""
    if "fork" not in multiprocessing.get_all_start_methods():
        return
    fitted, rows = fit_copy(hasher), load_many_rows()
    expected = fitted.encode(rows).packed.tobytes()  # starts the threads of this process
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=lambda: sender.send_bytes(fitted.encode(rows).packed.tobytes()))
    # Newer versions of Python warn about every fork of a process with threads.
    with ignore_warnings():
        child.start()
    try:
        assert receiver.poll(60)
        assert receiver.recv_bytes() == expected
        child.join(10)
        assert child.exitcode == 0
    finally:
        child.kill()
        child.join()


def check_no_output(hasher: Hasher) -> None:
    """Check that ``fit`` and ``encode`` print nothing."""
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        clone(hasher).fit(load_sample().X, load_sample().y).encode(load_sample().queries)
    assert out.getvalue() == err.getvalue() == ""


ENVIRONMENT_CHECKS = (
    check_bit_names,
    check_pipeline,
    check_cross_validation,
    check_progress,
    check_threads,
    check_errors_restore_threads,
    check_forked_process,
    check_no_output,
)
