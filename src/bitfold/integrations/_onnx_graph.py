"""A thin layer over onnx.helper: operators are calls, results are names."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

OPSET = 17
"""Version of the operators; every runtime since 2022 has it."""

IR_VERSION = 8
"""Version of the file format that belongs to it."""


class GraphBuilder:
    """Collects the nodes and constants of a graph.

    Parameters
    ----------
    prefix
        Begins the names of all results, so that the body of a loop has names of its own.
    """

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def call(self, operator: str, *inputs: Any, n_outputs: int = 1, **attributes: Any) -> Any:
        """Add an operator; return the name of its result, or a list of names.

        Inputs are names of results, or arrays and numbers, which become constants.
        """
        names = [each if isinstance(each, str) else self.constant(each) for each in inputs]
        number = len(self._nodes)
        outputs = [f"{self._prefix}{operator}_{number}_{i}" for i in range(n_outputs)]
        self._nodes.append(helper.make_node(operator, names, outputs, **attributes))
        return outputs[0] if n_outputs == 1 else outputs

    def constant(self, value: Any) -> str:
        """Add a constant; return its name."""
        name = f"{self._prefix}constant_{len(self._constants)}"
        array = np.ascontiguousarray(value) if np.ndim(value) else np.asarray(value)
        self._constants.append(numpy_helper.from_array(array, name))
        return name

    def cast(self, name: Any, kind: Any) -> str:
        """Convert a result to another type, given as a type of numpy."""
        to = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
        return str(self.call("Cast", name, to=to))

    def to_double(self, value: Any) -> str:
        """Convert a result or an array of float32 to float64, in the graph."""
        return self.cast(value, np.float64)

    def product(self, values: str, directions: Any) -> str:
        """Return the inner products of rows and directions, in float64."""
        return str(self.call("MatMul", self.to_double(values), self.to_double(directions.T)))

    def sq_distances(self, values: str, points: Any) -> str:
        """Return the squared distances of rows and points, in float64 and at least 0."""
        rows = self.to_double(values)
        squares = self.call("ReduceSumSquare", rows, axes=[1], keepdims=1)
        norms = np.square(points, dtype=np.float64).sum(axis=1)
        doubled = self.call("Mul", self.product(values, points), np.float64(2))
        return str(self.call("Max", self.call("Sub", self.sum(squares, norms), doubled), 0.0))

    def sum(self, *terms: Any) -> str:
        """Return a sum."""
        result = terms[0]
        for term in terms[1:]:
            result = self.call("Add", result, term)
        return str(result)

    def is_positive(self, values: str, kind: Any = np.float64) -> str:
        """Return which values are positive."""
        return str(self.call("Greater", values, kind(0)))

    def finish(self, name: str, inputs: list[Any], outputs: list[Any]) -> Any:
        """Return the graph."""
        return helper.make_graph(self._nodes, name, inputs, outputs, self._constants)

    def name_output(self, result: str, name: str) -> None:
        """Give a result the name of an output."""
        self._nodes.append(helper.make_node("Identity", [result], [name]))


def describe_tensor(name: str, kind: Any, shape: tuple[Any, ...] | None) -> Any:
    """Return the description of an input or output."""
    return helper.make_tensor_value_info(
        name, helper.np_dtype_to_tensor_dtype(np.dtype(kind)), shape
    )


def make_model(graph: Any, properties: dict[str, str]) -> onnx.ModelProto:
    """Return a model with a graph, checked."""
    operators = [helper.make_opsetid("", OPSET)]
    model = helper.make_model(
        graph, opset_imports=operators, ir_version=IR_VERSION, producer_name="bitfold"
    )
    helper.set_model_props(model, properties)
    return model
