"""The generator of a table as an ONNX model, written layer by layer.

PyTorch's exporter takes any network, and seconds to import and trace. This network has few kinds of layers, so its graph is
written here. Its weights keep their names.
"""

from typing import Final

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from torch import nn

from models.idpgan.generator import EXCLUDED, GIVEN, SLOPE, Generator, ResidualBlock

IR_VERSION: Final = 10
"""Of the file format; what PyTorch's exporter writes."""
ROWS: Final = "rows"


class _Graph:
    """Nodes and weights in the order in which they are computed."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []

    def constant(self, name: str, values: object, dtype: type[np.generic]) -> str:
        self.weights.append(numpy_helper.from_array(np.asarray(values, dtype=dtype), name))
        return name

    def apply(self, operator: str, inputs: list[str], output: str, **attributes: float) -> str:
        self.nodes.append(helper.make_node(operator, inputs, [output], name=output, **attributes))
        return output

    def linear(self, name: str, layer: nn.Linear, source: str) -> str:
        weight = self.constant(f"{name}.weight", layer.weight.detach().numpy(), np.float32)
        bias = self.constant(f"{name}.bias", layer.bias.detach().numpy(), np.float32)
        return self.apply("Gemm", [source, weight, bias], name, transB=1)

    def leaky(self, source: str) -> str:
        return self.apply("LeakyRelu", [source], f"{source}.leaky", alpha=SLOPE)

    def columns(self, source: str, start: int, stop: int, output: str) -> str:
        bounds = [
            self.constant(f"{output}.{name}", [value], np.int64)
            for name, value in (("start", start), ("stop", stop), ("axis", 1))
        ]
        return self.apply("Slice", [source, *bounds], output)


def generator_onnx(network: Generator, *, latent_dimension: int, opset: int) -> bytes:
    """Return the serialised model: `latent` and `label` in, `logits` out; the number of rows is free.

    Args:
        network: on the CPU, float32.
        latent_dimension: columns of `latent`.
        opset: of ONNX's own operators.
    """
    graph, given = _Graph(), network.classes > 0
    source = graph.apply("Concat", ["latent", "label"], "inputs", axis=1) if given else "latent"
    hidden = graph.linear("enter", network.enter, source)
    for number, block in enumerate(network.blocks):
        assert isinstance(block, ResidualBlock), "a generator has residual blocks"
        branch = graph.leaky(graph.linear(f"blocks.{number}.first", block.first, hidden))
        branch = graph.linear(f"blocks.{number}.second", block.second, branch)
        hidden = graph.apply("Add", [hidden, branch], f"blocks.{number}")
    leave = graph.linear("leave", network.leave, graph.leaky(hidden))
    if given:
        raised = graph.apply(
            "Mul", ["label", graph.constant("label.range", GIVEN - EXCLUDED, np.float32)], "raised"
        )
        label = graph.apply("Add", [raised, graph.constant("label.least", EXCLUDED, np.float32)], "given")
        before = graph.columns(leave, 0, network.label_start, "before")
        after = graph.columns(leave, network.label_start, network.leave.out_features, "after")
        leave = graph.apply("Concat", [before, label, after], "grouped", axis=1)
    places = graph.constant("group_of_code", network.group_of_code.numpy(), np.int64)
    raised = graph.apply("Gather", [leave, places], "spread", axis=1)
    graph.apply(
        "Add", [raised, graph.constant("within_group", network.within_group.numpy(), np.float32)], "logits"
    )
    cells = len(network.group_of_code)
    widths = {"latent": latent_dimension, "label": network.classes}
    made = helper.make_graph(
        graph.nodes,
        "generator",
        [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, [ROWS, width])
            for name, width in widths.items()
        ],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [ROWS, cells])],
        graph.weights,
    )
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", opset)], ir_version=IR_VERSION)
    onnx.checker.check_model(model, full_check=True)
    return bytes(model.SerializeToString(deterministic=True))
