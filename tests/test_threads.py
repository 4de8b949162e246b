"""Blocks on a thread pool: order, bounded memory, errors, and one BLAS thread per block."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import faiss
import numpy as np
import pytest

from bitfold import _threads
from bitfold._threads import count_threads, map_blocks, map_rows, serial_blas


@pytest.fixture
def three_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Use three threads, whatever the machine or OMP_NUM_THREADS allow."""
    with ThreadPoolExecutor(3) as pool:
        monkeypatch.setattr(_threads, "count_threads", lambda: 3)
        monkeypatch.setattr(_threads, "_pool", lambda process_id: pool)
        yield


def blas_threads() -> set[int]:
    """Return the thread counts of numpy's BLAS; that of faiss has its own count in each thread."""
    libraries = [lib for lib in _threads._controller().info() if lib["user_api"] == "blas"]
    return {lib["num_threads"] for lib in libraries if lib.get("threading_layer") != "openmp"}


@pytest.fixture
def two_blas_threads() -> Iterator[None]:
    """Let BLAS use two threads, so that a limit of one is noticed."""
    with _threads._controller().limit(limits=2, user_api="blas"):
        assert blas_threads() == {2}
        yield


def test_results_are_in_order(three_threads: None) -> None:
    def slow_at_first(block: int) -> int:
        time.sleep(0.02 if block % 3 == 0 else 0)
        return block * block

    assert list(map_blocks(slow_at_first, range(20))) == [i * i for i in range(20)]


@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_any_number_of_blocks(three_threads: None, count: int) -> None:
    assert list(map_blocks(str, range(count))) == [str(i) for i in range(count)]


def test_blocks_run_in_parallel(three_threads: None) -> None:
    # Each block waits for two others.
    barrier = threading.Barrier(3, timeout=60)
    assert len(list(map_blocks(lambda _: barrier.wait(), range(6)))) == 6


def test_few_blocks_are_taken_ahead(three_threads: None) -> None:
    taken = 0

    def source() -> Iterator[int]:
        nonlocal taken
        for block in range(50):
            taken += 1
            yield block

    for done, _ in enumerate(map_blocks(lambda block: block, source()), start=1):
        assert taken <= done + 4
    assert taken == 50


def test_one_thread_uses_no_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_threads, "count_threads", lambda: 1)
    names = list(map_blocks(lambda _: threading.current_thread().name, range(3)))
    assert set(names) == {threading.current_thread().name}


def test_results_do_not_depend_on_the_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """BLAS sums a product in another order on two threads, which must not happen."""
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((4096, 24), (24, 16)))
    products = []
    for n in (1, 3):
        monkeypatch.setattr(_threads, "count_threads", lambda n=n: n)
        products += list(map_blocks(lambda _: a @ b, range(2)))
    assert all(np.array_equal(product, products[0]) for product in products)


def test_error_ends_the_work(three_threads: None) -> None:
    started: list[int] = []

    def work(block: int) -> int:
        started.append(block)
        if block == 5:
            raise ValueError("five")
        return block

    results = map_blocks(work, range(1000))
    with pytest.raises(ValueError, match="five"):
        list(results)
    assert len(started) <= 5 + 1 + 4


@pytest.mark.usefixtures("two_blas_threads")
def test_blas_is_limited_during_the_work(three_threads: None) -> None:
    assert list(map_blocks(lambda _: blas_threads(), range(5))) == [{1}] * 5
    assert blas_threads() == {2}


@pytest.mark.usefixtures("two_blas_threads")
def test_blas_limit_is_lifted_after_an_error_or_early_end(three_threads: None) -> None:
    with pytest.raises(ZeroDivisionError):
        list(map_blocks(lambda block: 1 // block, range(3)))
    assert blas_threads() == {2}
    results = map_blocks(lambda block: block, range(10))
    assert next(iter(results)) == 0
    assert blas_threads() == {1}
    results.close()  # type: ignore[attr-defined]
    assert blas_threads() == {2}


@pytest.mark.usefixtures("two_blas_threads")
def test_serial_blas_can_be_nested_and_overlap() -> None:
    with serial_blas():
        with serial_blas():
            assert blas_threads() == {1}
        assert blas_threads() == {1}
    assert blas_threads() == {2}
    first, second = serial_blas(), serial_blas()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert blas_threads() == {1}
    second.__exit__(None, None, None)
    assert blas_threads() == {2}


@pytest.mark.usefixtures("two_blas_threads")
def test_concurrent_callers(three_threads: None) -> None:
    """Several threads map their blocks over the same pool, as with Dask."""
    sums: list[int] = []

    def call() -> None:
        sums.append(sum(map_blocks(lambda block: block, range(30))))

    callers = [threading.Thread(target=call) for _ in range(8)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(timeout=60)
    assert sums == [435] * 8
    assert blas_threads() == {2}


@pytest.mark.parametrize(
    ("value", "expected"),
    [("1", 1), ("2", 2), ("0", 1), ("64", 3), ("", 3), ("two", 3), ("2,1", 3), ("-1", 3)],
)
def test_omp_num_threads_lowers_the_number(
    monkeypatch: pytest.MonkeyPatch, value: str, expected: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process_id: {0, 1, 2}, raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", value)
    assert count_threads() == expected
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert count_threads() == 3


def test_at_least_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert count_threads() == 1


def run_in_child(work: Callable[[], bool]) -> bool:
    """Fork, run ``work`` in the child, and return whether it returned True within a minute."""
    child = os.fork()
    if child == 0:
        os._exit(0 if work() else 1)
    for _ in range(6000):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status == 0
        time.sleep(0.01)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return False


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forked_process_has_its_own_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_threads, "count_threads", lambda: 2)
    expected = [i + 1 for i in range(5)]
    assert list(map_blocks(lambda i: i + 1, range(5))) == expected
    assert run_in_child(lambda: list(map_blocks(lambda i: i + 1, range(5))) == expected)


def test_matrix_products_in_the_pool(three_threads: None) -> None:
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((300, 40)), rng.standard_normal((40, 50))
    blocks = [slice(i, i + 32) for i in range(0, 300, 32)]
    got = np.concatenate(list(map_blocks(lambda rows: A[rows] @ B, blocks)))
    np.testing.assert_allclose(got, A @ B, rtol=1e-12)


def test_lock_can_be_taken_twice_by_one_thread_only() -> None:
    lock, held, finish = _threads.SharedLock(), threading.Event(), threading.Event()
    order: list[str] = []

    def hold() -> None:
        with lock, lock:
            held.set()
            finish.wait(60)
            order.append("first")

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(60)
    finish.set()
    with lock:
        order.append("second")
    thread.join()
    assert order == ["first", "second"]


def test_lazy_property_is_computed_once_and_does_not_block_other_objects() -> None:
    class Slow:
        def __init__(self, turn: threading.Event) -> None:
            self.turn, self.n_calls = turn, 0

        @_threads.lazy_property
        def value(self) -> int:
            self.n_calls += 1
            assert self.turn.wait(60)
            return self.n_calls

    waiting, ready = Slow(threading.Event()), Slow(threading.Event())
    thread = threading.Thread(target=lambda: waiting.value)
    thread.start()
    ready.turn.set()
    assert (ready.value, ready.value, ready.n_calls) == (1, 1, 1)
    assert thread.is_alive()
    waiting.turn.set()
    thread.join()
    assert waiting.value == 1


def openmp_threads() -> set[int]:
    """Return the thread counts of OpenMP in this thread."""
    libraries = [lib for lib in _threads._controller().lib_controllers if lib.user_api == "openmp"]
    assert libraries
    return {lib.get_num_threads() for lib in libraries}


def test_openmp_is_limited_in_every_thread() -> None:
    faiss.omp_set_num_threads(2)
    with serial_blas(), ThreadPoolExecutor(1) as pool:
        assert openmp_threads() == {1}

        def enter() -> tuple[set[int], set[int]]:
            faiss.omp_set_num_threads(3)
            with serial_blas():
                inside = openmp_threads()
            return inside, openmp_threads()

        inside, after = pool.submit(enter).result()
        assert inside == {1}
        assert 3 in after
    assert 2 in openmp_threads()


def test_rows_are_mapped_by_blocks_and_joined(three_threads: None) -> None:
    rng = np.random.default_rng(0)
    points, centers = (rng.standard_normal((n, 5)).astype(np.float32) for n in (3000, 40))
    lengths: list[int] = []

    def search(block: Any, others: Any, k: int) -> tuple[Any, Any]:
        lengths.append(len(block))
        assert openmp_threads() == {1}
        distances, indices = faiss.knn(block, others, k)
        return distances, indices

    distances, indices = map_rows(search, points, centers, 3)
    assert sorted(lengths) == [952, 1024, 1024]
    assert distances.shape == indices.shape == (3000, 3)
    gaps = ((points[:, None] - centers) ** 2).sum(axis=2)
    np.testing.assert_array_equal(indices, np.argsort(gaps, axis=1)[:, :3])


def test_libraries_that_are_loaded_later_are_limited_too() -> None:
    code = """
from bitfold import _threads
with _threads.serial_blas():
    pass
before = len(_threads._controller().lib_controllers)
import faiss, scipy.linalg
assert len(_threads._controller().lib_controllers) > before
with _threads.serial_blas():
    assert {lib.get_num_threads() for lib in _threads._controller().lib_controllers} == {1}
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_short_work_is_shared_by_threads_and_returned_in_order() -> None:
    threads = set()

    def work(i: int) -> int:
        threads.add(threading.get_ident())
        time.sleep(0.02)
        return i * i

    assert _threads.map_short(work, range(8)) == [i * i for i in range(8)]
    assert threading.get_ident() in threads
    assert len(threads) == min(_threads.count_threads(), 8)
    assert _threads.map_short(work, []) == []


@pytest.mark.parametrize("failing", [0, 7])
def test_an_error_in_short_work_reaches_the_caller(failing: int) -> None:
    def work(i: int) -> int:
        time.sleep(0.005)
        if i == failing:
            raise ZeroDivisionError(i)
        return i

    with pytest.raises(ZeroDivisionError):
        _threads.map_short(work, range(8))
