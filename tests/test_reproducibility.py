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


def find_fast_calls(trees: list[ast.Module]) -> list[tuple[str, str]]:
    """Return the calls between kernels in which one uses fast math: the caller and the callee.

    A fast callee is compiled twice, alone and as part of its caller, and its sums may then have
    two orders. Any callee of a fast caller inherits fast math if it is compiled for this caller
    first, and is stored so in the cache. Both depend on what was compiled before.
    """
    found = [pair for tree in trees for pair in kernels(tree)]
    known = {function.name for function, _ in found}
    fast = {function.name for function, is_fast in found if is_fast}
    return [
        (function.name, name)
        for function, is_fast in found
        for name in sorted(called_names(function) & (known if is_fast else fast))
    ]


def test_no_call_between_kernels_uses_fast_math() -> None:
    trees = [ast.parse(path.read_text()) for path in KERNELS]
    assert sum(is_fast for tree in trees for _, is_fast in kernels(tree)) > 0
    assert find_fast_calls(trees) == []


def test_calls_with_fast_math_are_found() -> None:
    code = """
@njit(fastmath=True)
def add(x): return x.sum()

@njit
def plain(x): return add(x)

@njit(cache=True)
def caller(x): return base.add(x) + plain(x)

@njit(fastmath=True)
def fast_caller(x): return caller(x)
"""
    assert find_fast_calls([ast.parse(code)]) == [
        ("plain", "add"), ("caller", "add"), ("fast_caller", "caller")
    ]  # fmt: skip
