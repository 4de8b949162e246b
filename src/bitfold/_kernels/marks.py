"""Marks: words with one bit per code that says whether the code is near a query.

Comparing codes without a branch takes hardly longer than xor and popcount alone. The loops are
written for vectors, because the compiler does not find out how to pack the comparisons into bits.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic

from bitfold._kernels.hamming import lowest_bit, popcount
from bitfold._types import Int64Array, UInt64Array, Words

CODES_PER_MARK = 64

CODES_PER_RUN = 2048
"""Number of codes that are compared before those that are near are looked at."""

PLANES_PER_PASS = 4
"""Number of bit planes of the weights in a weighted comparison."""

_WIDTH = 4
_WORD = ir.IntType(64)
_VECTOR = ir.VectorType(_WORD, _WIDTH)


def _repeat(builder: Any, word: Any) -> Any:
    """Return a vector whose elements all are one word."""
    first = ir.Constant(ir.IntType(32), 0)
    vector = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), word, first)
    places = ir.Constant(ir.VectorType(ir.IntType(32), _WIDTH), [0] * _WIDTH)
    return builder.shuffle_vector(vector, vector, places)


def _count_ones(builder: Any, vector: Any) -> Any:
    kind = ir.FunctionType(_VECTOR, [_VECTOR])
    name = f"llvm.ctpop.v{_WIDTH}i64"
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), [vector])


def _check_types(*arrays: Any) -> None:
    for array, n_dimensions in zip(arrays, (2, 1, 2), strict=False):
        is_known = isinstance(array, types.Array) and array.layout == "C"
        if not is_known or array.dtype != types.uint64 or array.ndim != n_dimensions:
            raise TypingError("Codes, queries and planes must be contiguous arrays of uint64.")


class _Loops:
    """The instructions that mark codes."""

    def __init__(self, context: Any, builder: Any, signature: Any, arguments: Any) -> None:
        columns, query, marks = (
            context.make_array(signature.args[i])(context, builder, arguments[i]) for i in (0, 2, 5)
        )
        self.builder = builder
        self.n_codes = builder.extract_value(columns.shape, 1)
        self.codes = builder.gep(columns.data, [arguments[1]])
        self.query, self.marks = query.data, marks.data
        self.n_words = arguments[3]
        self.limits = _repeat(builder, arguments[4])
        self.n_marks = arguments[6]

    def count(self, place: Any, w: Any) -> Any:
        """Count the bits of word ``w`` that differ, for the vector of codes at a place."""
        return _count_ones(self.builder, self.differ(place, w))

    def differ(self, place: Any, w: Any) -> Any:
        """Return the bits of word ``w`` that differ, for the vector of codes at a place."""
        builder = self.builder
        first = builder.add(builder.mul(self.n_codes, w), place)
        codes = builder.bitcast(builder.gep(self.codes, [first]), _VECTOR.as_pointer())
        word = _repeat(builder, builder.load(builder.gep(self.query, [w])))
        return builder.xor(builder.load(codes, align=8), word)

    def measure(self, place: Any, n_words: int | None) -> Any:
        """Return the distances of a vector of codes."""
        builder = self.builder
        if n_words is not None:
            counts = (self.count(place, ir.Constant(_WORD, w)) for w in range(n_words))
            return functools.reduce(builder.add, counts)
        total = cgutils.alloca_once(builder, _VECTOR)
        builder.store(ir.Constant(_VECTOR, None), total)
        with cgutils.for_range(builder, self.n_words) as loop:
            count = self.count(place, loop.index)
            builder.store(builder.add(builder.load(total), count), total)
        return builder.load(total)

    def mark(self, n_words: int | None) -> None:
        """Write the marks; the number of words is a variable if it is None."""
        builder, zeros = self.builder, ir.Constant(_VECTOR, None)
        with cgutils.for_range(builder, self.n_marks) as loop:
            first = builder.mul(loop.index, ir.Constant(_WORD, CODES_PER_MARK))
            far = ir.Constant(_WORD, 0)
            for shift in range(0, CODES_PER_MARK, _WIDTH):
                shift_value = ir.Constant(_WORD, shift)
                distances = self.measure(builder.add(first, shift_value), n_words)
                # One instruction packs signs into bits; without AVX-512, comparisons take five.
                is_far = builder.icmp_signed("<", builder.sub(self.limits, distances), zeros)
                bits = builder.zext(builder.bitcast(is_far, ir.IntType(_WIDTH)), _WORD)
                far = builder.or_(far, builder.shl(bits, shift_value))
            builder.store(builder.not_(far), builder.gep(self.marks, [loop.index]))


class _WeightedLoops(_Loops):
    """The instructions that mark codes by the bits that differ, which count by their weights."""

    def __init__(self, context: Any, builder: Any, signature: Any, arguments: Any) -> None:
        super().__init__(context, builder, signature, arguments)
        self.planes = context.make_array(signature.args[7])(context, builder, arguments[7]).data

    def count(self, place: Any, w: Any) -> Any:
        """Sum the weights of the bits of word ``w`` that differ."""
        builder, different, total = self.builder, self.differ(place, w), None
        for power in range(PLANES_PER_PASS):
            row = builder.mul(self.n_words, ir.Constant(_WORD, power))
            plane = builder.load(builder.gep(self.planes, [builder.add(row, w)]))
            ones = _count_ones(builder, builder.and_(different, _repeat(builder, plane)))
            weighted = builder.shl(ones, ir.Constant(_VECTOR, [power] * _WIDTH))
            total = weighted if total is None else builder.add(total, weighted)
        return total


def _make_marker(n_words: int | None = None) -> Any:
    """Return an intrinsic for codes of some words, or of any number of words."""

    def declare(
        typing_context: Any,
        columns: Any,
        start: Any,
        query: Any,
        n: Any,
        limit: Any,
        marks: Any,
        n_marks: Any,
    ) -> Any:
        _check_types(columns, query)

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            _Loops(context, builder, signature, arguments).mark(n_words)
            return context.get_dummy_value()

        number = types.int64
        return types.none(columns, number, query, number, number, marks, number), generate

    return intrinsic(declare)


def _make_weighted_marker(n_words: int | None = None) -> Any:
    """Return an intrinsic for weighted distances, which takes the planes of the weights, too."""

    def declare(
        typing_context: Any,
        columns: Any,
        start: Any,
        query: Any,
        n: Any,
        limit: Any,
        marks: Any,
        n_marks: Any,
        planes: Any,
    ) -> Any:
        _check_types(columns, query, planes)

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            _WeightedLoops(context, builder, signature, arguments).mark(n_words)
            return context.get_dummy_value()

        number = types.int64
        arguments = (columns, number, query, number, number, marks, number, planes)
        return types.none(*arguments), generate

    return intrinsic(declare)


_mark_1: Any = _make_marker(1)
_mark_2: Any = _make_marker(2)
_mark_4: Any = _make_marker(4)
_mark_any: Any = _make_marker()
_mark_weighted_1: Any = _make_weighted_marker(1)
_mark_weighted_2: Any = _make_weighted_marker(2)
_mark_weighted_any: Any = _make_weighted_marker()


@njit(nogil=True, cache=True)
def measure_code(columns: Words, code: int, query: Words, limit: int) -> int:
    """Return the distance of a query to one code; it may be too small beyond the limit."""
    total = 0
    for w in range(columns.shape[0]):
        total += popcount(columns[w, code] ^ query[w])
        if total > limit:
            break
    return total


@njit(nogil=True, cache=True)
def _mark_last(
    columns: Words, start: int, last: int, query: Words, n_words: int, limit: int
) -> Any:
    """Return the mark of fewer codes than it has bits."""
    mark = np.uint64(0)
    for code in range(start, last):
        total = 0
        for w in range(n_words):
            total += popcount(columns[w, code] ^ query[w])
        mark |= np.uint64(total <= limit) << np.uint64(code - start)
    return mark


@njit(nogil=True, cache=True)
def find_near(
    columns: Words,
    start: int,
    last: int,
    query: Words,
    n_words: int,
    limit: int,
    marks: UInt64Array,
    near: Int64Array,
) -> int:
    """Write the codes from ``start`` that are within ``limit`` by their first words to ``near``.

    ``CODES_PER_RUN`` codes are compared, or fewer if ``last`` comes before; :func:`make_buffers`
    returns space for their marks and numbers. Return the number of near codes.
    """
    stop = min(start + CODES_PER_RUN, last)
    n_marks = (stop - start) // CODES_PER_MARK
    if n_words == 1:
        _mark_1(columns, start, query, n_words, limit, marks, n_marks)
    elif n_words == 2:
        _mark_2(columns, start, query, n_words, limit, marks, n_marks)
    elif n_words == 4:
        _mark_4(columns, start, query, n_words, limit, marks, n_marks)
    else:
        _mark_any(columns, start, query, n_words, limit, marks, n_marks)
    rest = start + n_marks * CODES_PER_MARK
    if rest < stop:
        marks[n_marks] = _mark_last(columns, rest, stop, query, n_words, limit)
        n_marks += 1
    return _list_marked(marks[:n_marks], start, near)


@njit(nogil=True, cache=True)
def _list_marked(marks: UInt64Array, start: int, near: Int64Array) -> int:
    """Write the codes from ``start`` that are marked to ``near``; return their number."""
    n_near = 0
    for m in range(marks.shape[0]):
        mark = marks[m]
        while mark:
            near[n_near] = start + m * CODES_PER_MARK + lowest_bit(mark)
            mark &= mark - np.uint64(1)
            n_near += 1
    return n_near


@njit(nogil=True, cache=True)
def sum_weights(columns: Words, code: int, query: Words, planes: Words) -> int:
    """Return the sum of the weights of the bits of a code that differ; the lowest plane is first.

    There are ``PLANES_PER_PASS`` planes of weights, one row of words each.
    """
    total = 0
    for w in range(columns.shape[0]):
        x = columns[w, code] ^ query[w]
        for power in range(PLANES_PER_PASS):
            total += popcount(x & planes[power, w]) << power
    return total


@njit(nogil=True, cache=True)
def find_near_weighted(
    columns: Words,
    start: int,
    last: int,
    query: Words,
    planes: Words,
    limit: int,
    marks: UInt64Array,
    near: Int64Array,
) -> int:
    """Write the codes from ``start`` whose :func:`sum_weights` is within ``limit``.

    The number of codes, the buffers and the result are those of :func:`find_near`.
    """
    stop, n_words = min(start + CODES_PER_RUN, last), columns.shape[0]
    n_marks = (stop - start) // CODES_PER_MARK
    if n_words == 1:
        _mark_weighted_1(columns, start, query, n_words, limit, marks, n_marks, planes)
    elif n_words == 2:
        _mark_weighted_2(columns, start, query, n_words, limit, marks, n_marks, planes)
    else:
        _mark_weighted_any(columns, start, query, n_words, limit, marks, n_marks, planes)
    rest = start + n_marks * CODES_PER_MARK
    if rest < stop:
        mark = np.uint64(0)
        for code in range(rest, stop):
            is_near = sum_weights(columns, code, query, planes) <= limit
            mark |= np.uint64(is_near) << np.uint64(code - rest)
        marks[n_marks] = mark
        n_marks += 1
    return _list_marked(marks[:n_marks], start, near)


@njit(nogil=True, cache=True)
def make_buffers() -> tuple[UInt64Array, Int64Array]:
    """Return arrays for the marks and the numbers of the codes of a run."""
    return np.empty(CODES_PER_RUN // CODES_PER_MARK, np.uint64), np.empty(CODES_PER_RUN, np.int64)
