"""The same data and random state give the same model, byte for byte; ``make reproducible`` tries
more hashers and more surroundings."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.reproducibility import SMALL, find_differences, fit_in_process

import bitfold

KERNELS = sorted((Path(bitfold.__file__).parent / "_kernels").glob("*.py"))


def test_models_do_not_depend_on_threads_or_the_form_of_the_data() -> None:
    first, second = (fit_in_process(around, None, thorough=False) for around in SMALL.values())
    assert find_differences(second, first) == []


def kernels(tree: ast.Module) -> Iterator[tuple[ast.FunctionDef, bool]]:
    """Yield the compiled functions of a module, and whether they use fast math."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            for decorator in map(ast.unparse, node.decorator_list):
                if decorator.startswith("njit"):
                    yield node, "fastmath" in decorator


def called_names(function: ast.FunctionDef) -> set[str]:
    calls = [node.func for node in ast.walk(function) if isinstance(node, ast.Call)]
    return {ast.unparse(call).split(".")[-1] for call in calls}


def find_fast_callees(trees: list[ast.Module]) -> list[tuple[str, str]]:
    """Return the kernels that call a fast-math kernel, and what they call.

    Such a callee is compiled twice, alone and as part of its caller, and its sums may then have
    two orders. Which one is used depends on whether the caller was loaded from the cache.
    """
    found = [pair for tree in trees for pair in kernels(tree)]
    fast = {function.name for function, is_fast in found if is_fast}
    return [
        (function.name, name)
        for function, _ in found
        for name in sorted(called_names(function) & fast)
    ]


def test_no_kernel_calls_a_fast_math_kernel() -> None:
    trees = [ast.parse(path.read_text()) for path in KERNELS]
    assert sum(is_fast for tree in trees for _, is_fast in kernels(tree)) > 0
    assert find_fast_callees(trees) == []


def test_a_fast_math_callee_is_found() -> None:
    code = """
@njit(fastmath=True)
def add(x): return x.sum()

@njit
def plain(x): return add(x)

@njit(cache=True)
def caller(x): return base.add(x) + plain(x)
"""
    assert find_fast_callees([ast.parse(code)]) == [("plain", "add"), ("caller", "add")]
