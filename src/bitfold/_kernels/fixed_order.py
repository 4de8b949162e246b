"""Inner products and squared distances whose every rounding is prescribed.

The compiler vectorizes fast-math sums as it sees fit: their last bits change with the processor,
with the kernel that a function is inlined into, and between a kernel that was just compiled and
the same kernel loaded from its cache. The sums here are written for vectors of ``LANES`` elements.
A processor with shorter vectors adds them in parts, and every processor gets the same bits. They
are as fast as fast-math sums, although products and sums are not fused: not all processors can.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic

LANES = 16
"""Number of partial sums: element c belongs to sum c % LANES, except for the last few."""

_FLOAT = ir.FloatType()
_DOUBLE = ir.DoubleType()
_VECTOR = ir.VectorType(_FLOAT, LANES)


def _add_product(builder: Any, a: Any, b: Any, total: Any) -> Any:
    return builder.fadd(builder.fmul(a, b), total)


def _add_square(builder: Any, a: Any, b: Any, total: Any) -> Any:
    difference = builder.fsub(a, b)
    return _add_product(builder, difference, difference, total)


def _add_lanes(builder: Any, vector: Any) -> Any:
    """Add the lower half of the lanes to the upper half until one is left."""
    width = LANES
    while width > 1:
        width //= 2
        halves = [
            ir.Constant(ir.VectorType(ir.IntType(32), width), list(range(first, first + width)))
            for first in (0, width)
        ]
        low, high = (builder.shuffle_vector(vector, vector, half) for half in halves)
        vector = builder.fadd(low, high)
    return builder.extract_element(vector, ir.Constant(ir.IntType(32), 0))


def _accumulate(
    builder: Any, kind: Any, term: Any, count: Any, x: Any, others: list[Any], first: Any
) -> list[Any]:
    """Sum terms of type ``kind``, a vector or a scalar, from the element ``first``.

    Elements of a narrower type are converted, which is exact.
    """
    totals = [cgutils.alloca_once(builder, kind) for _ in others]
    for total in totals:
        builder.store(ir.Constant(kind, None), total)

    def load(data: Any, index: Any) -> Any:
        stored = data.type.pointee
        stored = ir.VectorType(stored, LANES) if isinstance(kind, ir.VectorType) else stored
        pointer = builder.bitcast(builder.gep(data, [first]), stored.as_pointer())
        value = builder.load(builder.gep(pointer, [index]), align=4)
        return value if stored == kind else builder.fpext(value, kind)

    with cgutils.for_range(builder, count) as loop:
        value = load(x, loop.index)
        for other, total in zip(others, totals, strict=True):
            added = term(builder, value, load(other, loop.index), builder.load(total))
            builder.store(added, total)
    return [builder.load(total) for total in totals]


def _sum_terms(term: Any, context: Any, builder: Any, signature: Any, arguments: Any) -> list[Any]:
    """Sum the terms of the first array with each of the others."""
    arrays = [
        context.make_array(kind)(context, builder, value)
        for kind, value in zip(signature.args, arguments, strict=True)
    ]
    x, *others = [array.data for array in arrays]
    length = builder.extract_value(arrays[0].shape, 0)
    lanes = ir.Constant(length.type, LANES)
    n_vectors = builder.sdiv(length, lanes)
    whole = builder.mul(n_vectors, lanes)
    start = ir.Constant(length.type, 0)
    element = _FLOAT if _find_sum_type(*signature.args) == types.float32 else _DOUBLE
    vector = ir.VectorType(element, LANES)
    vectors = _accumulate(builder, vector, term, n_vectors, x, others, start)
    n_rest = builder.sub(length, whole)
    rest = _accumulate(builder, element, term, n_rest, x, others, whole)
    sums = [_add_lanes(builder, vector) for vector in vectors]
    return [builder.fadd(a, b) for a, b in zip(sums, rest, strict=True)]


def _check_arrays(*arrays: Any, kinds: tuple[Any, ...] = (types.float32,)) -> None:
    for array in arrays:
        is_vector = isinstance(array, types.Array) and array.ndim == 1 and array.layout == "C"
        if not is_vector or array.dtype not in kinds:
            names = " or ".join(map(str, kinds))
            raise TypingError(f"The arguments must be contiguous vectors of {names}.")


def _find_sum_type(*arrays: Any) -> Any:
    """Return float64 if one of the arrays is, and float32 otherwise."""
    is_wide = any(array.dtype == types.float64 for array in arrays)
    return types.float64 if is_wide else types.float32


def _make_single(term: Any) -> Any:
    def declare(typing_context: Any, x: Any, a: Any) -> Any:
        _check_arrays(x, a, kinds=(types.float32, types.float64))

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return _sum_terms(term, context, builder, signature, arguments)[0]

        return _find_sum_type(x, a)(x, a), generate

    return intrinsic(declare)


def _make_tile(term: Any) -> Any:
    def declare(typing_context: Any, x: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
        _check_arrays(x, a, b, c, d)

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            sums = _sum_terms(term, context, builder, signature, arguments)
            return context.make_tuple(builder, signature.return_type, sums)

        return types.UniTuple(types.float32, 4)(x, a, b, c, d), generate

    return intrinsic(declare)


dot: Any = _make_single(_add_product)
"""dot(x, a) is x·a, in float64 if one of the vectors is."""

dot_tile: Any = _make_tile(_add_product)
"""dot_tile(x, a, b, c, d) are x·a, x·b, x·c and x·d, each with the bits of ``dot``."""

sq_distance: Any = _make_single(_add_square)
"""sq_distance(x, a) is |x - a|² from differences, which avoids cancellation; as for ``dot``."""

sq_distance_tile: Any = _make_tile(_add_square)
"""sq_distance_tile(x, a, b, c, d) are four squared distances with the bits of ``sq_distance``."""


def _declare_lane_scores(
    typing_context: Any, x: Any, columns: Any, offsets: Any, limit: Any, out: Any
) -> Any:
    _check_arrays(x, offsets, out)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        x_array, column_array, offset_array, out_array = (
            context.make_array(signature.args[i])(context, builder, arguments[i])
            for i in (0, 1, 2, 4)
        )
        vector = _VECTOR.as_pointer()
        columns = builder.bitcast(column_array.data, vector)
        offsets = builder.bitcast(offset_array.data, vector)
        out = builder.bitcast(out_array.data, vector)
        n_parts = N_COLUMNS // LANES
        totals = [cgutils.alloca_once(builder, _VECTOR) for _ in range(n_parts)]
        for total in totals:
            builder.store(ir.Constant(_VECTOR, None), total)
        with cgutils.for_range(builder, builder.extract_value(x_array.shape, 0)) as loop:
            value = _repeat(builder, builder.load(builder.gep(x_array.data, [loop.index])))
            first = builder.mul(loop.index, ir.Constant(loop.index.type, n_parts))
            for part, total in enumerate(totals):
                place = builder.add(first, ir.Constant(first.type, part))
                column = builder.load(builder.gep(columns, [place]), align=4)
                builder.store(_add_product(builder, value, column, builder.load(total)), total)
        limits, minus_two = _repeat(builder, arguments[3]), ir.Constant(_VECTOR, [-2.0] * LANES)
        mask = ir.Constant(_MASK, 0)
        for part, total in enumerate(totals):
            offset = builder.load(builder.gep(offsets, [_index(part)]), align=4)
            score = _add_product(builder, minus_two, builder.load(total), offset)
            builder.store(score, builder.gep(out, [_index(part)]), align=4)
            is_below = builder.fcmp_ordered("<", score, limits)
            bits = builder.zext(builder.bitcast(is_below, ir.IntType(LANES)), _MASK)
            mask = builder.or_(mask, builder.shl(bits, ir.Constant(_MASK, part * LANES)))
        return mask

    return types.uint64(x, columns, offsets, types.float32, out), generate


def _repeat(builder: Any, value: Any) -> Any:
    """Return a vector whose lanes all have one value."""
    lanes = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), value, _index(0))
    first = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(lanes, lanes, first)


def _index(value: int) -> Any:
    return ir.Constant(ir.IntType(32), value)


N_COLUMNS = 2 * LANES
"""Number of columns of ``lane_scores``."""

_MASK = ir.IntType(64)

lane_scores: Any = intrinsic(_declare_lane_scores)
"""lane_scores(x, columns, offsets, limit, out) sets out[t] = offsets[t] - 2 x · columns[:, t].

It returns a mask whose bit t says whether out[t] < limit, for ``N_COLUMNS`` columns.
"""
