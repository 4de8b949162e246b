"""Plain data out of a Python 2 pickle, without running it.

A pickle is a program for a stack machine that may call anything. The original batches of CIFAR-10
are such programs, but need very little: dictionaries, lists, strings, small integers and arrays of
bytes. This reader knows the operations for these and no others. The few functions a batch names
are recognized by their names and stand for themselves; nothing is ever imported or called.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bitfold._types import UInt8Array
from bitfold.io.formats.errors import read_as

_WRONG = (ValueError, KeyError, IndexError, TypeError, AttributeError, struct.error)


def read_plain(content: bytes, path: Path) -> Any:
    """Return the plain data of a pickle; anything that is not plain data is refused."""
    machine = _Machine(content)
    with read_as("a pickle of plain data", path, *_WRONG, but="something else, which was not run"):
        while True:
            operation = machine.take(1)
            if operation == b".":
                return machine.pop()
            _OPERATIONS[operation](machine)


class _Named(NamedTuple):
    """A function or class that was named."""

    name: str


class _Dtype(NamedTuple):
    text: str


class _Array:
    """An array that is still to be filled."""

    values: UInt8Array | None = None

    def fill(self, state: Any) -> None:
        _, shape, dtype, by_columns, content = state
        if dtype != _Dtype("u1") or by_columns or not isinstance(content, bytes):
            raise ValueError("not an array of bytes, row by row")
        self.values = np.frombuffer(content, np.uint8).reshape(shape)


_KNOWN = {
    (module, name)
    for name, modules in {
        "_reconstruct": ("numpy.core.multiarray", "numpy._core.multiarray"),
        "ndarray": ("numpy",),
        "dtype": ("numpy",),
        "encode": ("_codecs",),
    }.items()
    for module in modules
}
_MARK = object()


class _Machine:
    """Stack, memory and what is left to read."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0
        self._stack: list[Any] = []
        self.memory: dict[int, Any] = {}

    def take(self, size: int) -> bytes:
        """Read so many bytes; where there are less, there is no next operation."""
        part = self._content[self._at : self._at + size]
        self._at += size
        return part

    def number(self, layout: str) -> int:
        """Read a number."""
        return int(struct.unpack(layout, self.take(struct.calcsize(layout)))[0])

    def line(self) -> str:
        """Read up to the end of the line."""
        end = self._content.index(b"\n", self._at)
        return self.take(end + 1 - self._at)[:-1].decode("ascii")

    def push(self, value: Any) -> None:
        """Put on the stack."""
        self._stack.append(value)

    def pop(self) -> Any:
        """Take from the stack; an array that was filled meanwhile is one now."""
        value = self._stack.pop()
        if isinstance(value, _Array) and value.values is not None:
            return value.values
        return value

    def top(self) -> Any:
        """Look at the top of the stack."""
        return self._stack[-1]

    def pop_to_mark(self) -> list[Any]:
        """Take everything above the last mark, lowest first."""
        values = []
        while (value := self.pop()) is not _MARK:
            values.append(value)
        return values[::-1]


def _name(machine: _Machine) -> None:
    module, name = machine.line(), machine.line()
    if (module, name) not in _KNOWN:
        raise ValueError("a function that plain data does not need")
    machine.push(_Named(name))


def _apply(machine: _Machine) -> None:
    """Make what the named function would make of its arguments."""
    arguments, function = machine.pop(), machine.pop()
    if function == _Named("_reconstruct"):
        machine.push(_Array())
    elif function == _Named("dtype"):
        machine.push(_Dtype(_text(arguments[0])))
    elif function == _Named("encode") and arguments[1] == "latin1":
        machine.push(arguments[0].encode("latin1"))
    else:
        raise ValueError("not a function")


def _build(machine: _Machine) -> None:
    """Fill an array; what a type of bytes is told besides changes nothing."""
    state, target = machine.pop(), machine.top()
    if isinstance(target, _Array):
        target.fill(state)
    elif not isinstance(target, _Dtype):
        raise ValueError("an object with a state")


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("latin1")
    if not isinstance(value, str):
        raise ValueError("no text")
    return value


def _set_items(machine: _Machine, items: list[Any]) -> None:
    target = machine.top()
    if not isinstance(target, dict):
        raise ValueError("no dictionary")
    for key, value in zip(items[::2], items[1::2], strict=True):
        target[_text(key)] = value


def _append(machine: _Machine, items: list[Any]) -> None:
    target = machine.top()
    if not isinstance(target, list):
        raise ValueError("no list")
    target.extend(items)


def _pair(machine: _Machine) -> list[Any]:
    value, key = machine.pop(), machine.pop()
    return [key, value]


def _tuple(size: int) -> Callable[[_Machine], None]:
    def make(machine: _Machine) -> None:
        machine.push(tuple([machine.pop() for _ in range(size)][::-1]))

    return make


def _keep(layout: str) -> Callable[[_Machine], None]:
    def keep(machine: _Machine) -> None:
        machine.memory[machine.number(layout)] = machine.top()

    return keep


def _recall(layout: str) -> Callable[[_Machine], None]:
    return lambda machine: machine.push(machine.memory[machine.number(layout)])


def _constant(make: Callable[[], Any]) -> Callable[[_Machine], None]:
    return lambda machine: machine.push(make())


def _integer(layout: str) -> Callable[[_Machine], None]:
    return lambda machine: machine.push(machine.number(layout))


def _bytes(layout: str) -> Callable[[_Machine], None]:
    return lambda machine: machine.push(machine.take(machine.number(layout)))


def _unicode(machine: _Machine) -> None:
    machine.push(machine.take(machine.number("<I")).decode("utf-8", "surrogatepass"))


def _protocol(machine: _Machine) -> None:
    # Of no importance: the operations say all.
    machine.take(1)


_OPERATIONS: dict[bytes, Callable[[_Machine], None]] = {
    b"\x80": _protocol,
    b"\x85": _tuple(1),
    b"\x86": _tuple(2),
    b"\x87": _tuple(3),
    b"\x88": _constant(lambda: True),
    b"\x89": _constant(lambda: False),
    b"(": _constant(lambda: _MARK),
    b")": _constant(tuple),
    b"B": _bytes("<I"),
    b"C": _bytes("<B"),
    b"J": _integer("<i"),
    b"K": _integer("<B"),
    b"M": _integer("<H"),
    b"N": _constant(lambda: None),
    b"R": _apply,
    b"T": _bytes("<I"),
    b"U": _bytes("<B"),
    b"X": _unicode,
    b"]": _constant(list),
    b"a": lambda machine: _append(machine, [machine.pop()]),
    b"b": _build,
    b"c": _name,
    b"e": lambda machine: _append(machine, machine.pop_to_mark()),
    b"h": _recall("<B"),
    b"j": _recall("<I"),
    b"q": _keep("<B"),
    b"r": _keep("<I"),
    b"s": lambda machine: _set_items(machine, _pair(machine)),
    b"t": lambda machine: machine.push(tuple(machine.pop_to_mark())),
    b"u": lambda machine: _set_items(machine, machine.pop_to_mark()),
    b"}": _constant(dict),
}
