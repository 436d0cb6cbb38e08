"""The ancestral network as an ONNX model, column by column."""

import math

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from models.graphical.ancestral import ALMOST_ONE, EXCLUDED, AncestralNetwork
from models.onnx_graph import rows_of, serialised


class _Graph:
    """Nodes and constants in the order in which they are computed."""

    def __init__(self, network: AncestralNetwork) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self._network = network
        self._codes: dict[int, str] = {}

    def constant(self, name: str, values: object, dtype: type[np.generic]) -> str:
        self.constants.append(numpy_helper.from_array(np.asarray(values, dtype=dtype), name))
        return name

    def apply(self, operator: str, inputs: list[str], output: str, **attributes: float) -> str:
        self.nodes.append(helper.make_node(operator, inputs, [output], name=output, **attributes))
        return output

    def start(self) -> None:
        """Nodes shared by all columns: uniforms, the first row of a distribution, and the two logits of a drawn code."""
        scaled = self.apply(
            "Mul", ["latent", self.constant("half.root", math.sqrt(0.5), np.float32)], "scaled"
        )
        half = self.constant("half", 0.5, np.float32)
        raised = self.apply("Mul", [self.apply("Erf", [scaled], "erf"), half], "raised")
        most = self.constant("almost.one", ALMOST_ONE, np.float32)
        self.apply("Min", [self.apply("Add", [raised, half], "whole"), most], "uniforms")
        self.constant("first", [0], np.int64)
        self.constant("axis", [1], np.int64)
        nothing = self.apply(
            "Mul", [self._numbered("uniforms", 0, "any"), self.constant("no", 0, np.float32)], "none"
        )
        self.apply("Cast", [nothing], "row.first", to=TensorProto.INT64)
        self.constant("logits.drawn", [EXCLUDED, 0.0], np.float32)

    def _numbered(self, source: str, column: int, output: str) -> str:
        """One column of a matrix as a vector."""
        return self.apply(
            "Gather", [source, self.constant(f"{output}.place", column, np.int64)], output, axis=1
        )

    def given(self, column: int, classes: int) -> str:
        """The target: its code, and logits of the given label."""
        self._codes[column] = self.apply("ArgMax", ["label"], "label.code", axis=1, keepdims=0)
        scaled = self.apply(
            "Mul", ["label", self.constant("label.range", -EXCLUDED, np.float32)], "label.raised"
        )
        assert classes, "a target has codes"
        return self.apply(
            "Add", [scaled, self.constant("label.least", EXCLUDED, np.float32)], f"logits.{column}"
        )

    def column(self, column: int) -> str:
        """Any other column: its distribution by its parents' codes, and a draw where others depend on it."""
        network, name = self._network, f"column_{column}"
        row = "row.first"
        for parent, stride in network.strides(column):
            step = self.apply(
                "Mul",
                [self._codes[parent], self.constant(f"{name}.{parent}.stride", stride, np.int64)],
                f"{name}.{parent}",
            )
            row = self.apply("Add", [row, step], f"{name}.{parent}.row")
        stored = self.constant(name, network.get_buffer(name).numpy(), np.float32)
        if column not in network.inner:
            return self.apply("Gather", [stored, row], f"logits.{column}", axis=0)
        sums = self.apply("Gather", [stored, row], f"{name}.sums", axis=0)
        uniform = self._numbered("uniforms", network.inner.index(column), f"{name}.uniform")
        beside = self.apply("Unsqueeze", [uniform, "axis"], f"{name}.beside")
        reached = self.apply("LessOrEqual", [sums, beside], f"{name}.reached")
        counted = self.apply("Cast", [reached], f"{name}.counted", to=TensorProto.INT64)
        code = self.apply("ReduceSum", [counted, "axis"], f"{name}.code", keepdims=0)
        self._codes[column] = code
        depth = self.constant(f"{name}.codes", network.cardinalities[column], np.int64)
        return self.apply("OneHot", [code, depth, "logits.drawn"], f"logits.{column}", axis=1)


def ancestral_onnx(network: AncestralNetwork) -> bytes:
    """Return the serialised model: `latent` and `label` in, `logits` out; the number of rows is free.

    Args:
        network: on the CPU, float32.
    """
    graph = _Graph(network)
    graph.start()
    made = {
        column: graph.given(column, network.classes)
        if column == network.target_index
        else graph.column(column)
        for column in network.order
    }
    graph.apply("Concat", [made[column] for column in range(len(network.cardinalities))], "logits", axis=1)
    return serialised(
        "generator",
        graph.nodes,
        inputs=[rows_of("latent", network.latent_dimension), rows_of("label", network.classes)],
        outputs=[rows_of("logits", sum(network.cardinalities))],
        constants=graph.constants,
    )
