"""Ask the processor to load memory before it is needed, which numba does not offer."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


def _prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """Load the cache line of ``array.flat[index]``; the index need not be valid."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array_type, _ = signature.args
        view = context.make_array(array_type)(context, builder, arguments[0])
        place = builder.gep(view.data, [arguments[1]])
        byte_pointer = ir.IntType(8).as_pointer()
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte_pointer, number, number, number])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        to_read, keep_in_all_caches, data = number(0), number(3), number(1)
        pointer = builder.bitcast(place, byte_pointer)
        builder.call(function, [pointer, to_read, keep_in_all_caches, data])
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


# Called with the array and the index alone, which the type of the decorator does not express.
prefetch: Any = intrinsic(_prefetch)
