"""The generator of a table as an ONNX model, written layer by layer.

The network has few kinds of layers, and the graph merges some so that rows are drawn fast: no activation stands between the layer that
enters and the first of the first block, so one product of their weights replaces both; and the last layer writes the given label's block too.
"""

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper, numpy_helper
from torch import nn

from models.idpgan.generator import SLOPE, Generator, ResidualBlock
from models.idpgan.grouped_logits import EXCLUDED, GIVEN
from models.onnx_graph import rows_of, serialised

Matrix = npt.NDArray[np.float64]


class _Graph:
    """Nodes and weights in the order in which they are computed."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []

    def constant(self, name: str, values: Matrix) -> str:
        self.weights.append(numpy_helper.from_array(values.astype(np.float32), name))
        return name

    def apply(self, operator: str, inputs: list[str], output: str, **attributes: float) -> str:
        self.nodes.append(helper.make_node(operator, inputs, [output], name=output, **attributes))
        return output

    def linear(self, name: str, weight: Matrix, bias: Matrix, source: str) -> str:
        inputs = [source, self.constant(f"{name}.weight", weight), self.constant(f"{name}.bias", bias)]
        return self.apply("Gemm", inputs, name, transB=1)

    def leaky(self, source: str) -> str:
        return self.apply("LeakyRelu", [source], f"{source}.leaky", alpha=SLOPE)


def generator_onnx(network: Generator, *, latent_dimension: int) -> bytes:
    """Return the serialised model: `latent` and `label` in, `logits` out; the number of rows is free.

    Args:
        network: on the CPU, float32.
        latent_dimension: columns of `latent`.
    """
    graph, given = _Graph(), network.classes > 0
    source = graph.apply("Concat", ["latent", "label"], "inputs", axis=1) if given else "latent"
    enter = _weights(network.enter)
    hidden = graph.linear("enter", *enter, source)
    for number, block in enumerate(network.blocks):
        assert isinstance(block, ResidualBlock), "a generator has residual blocks"
        first, into = _weights(block.first), hidden
        if number == 0 and network.enter.in_features < network.enter.out_features:
            first, into = _one_after_the_other(enter, first), source
        branch = graph.leaky(graph.linear(f"blocks.{number}.first", *first, into))
        branch = graph.linear(f"blocks.{number}.second", *_weights(block.second), branch)
        hidden = graph.apply("Add", [hidden, branch], f"blocks.{number}")
    last = graph.leaky(hidden)
    if given:
        last = graph.apply("Concat", [last, "label"], "last", axis=1)
    groups = graph.linear("groups", *_leave(network), last)
    places = network.group_of_code.numpy()
    graph.weights.append(numpy_helper.from_array(places, "group_of_code"))
    spread = graph.apply("Gather", [groups, "group_of_code"], "spread", axis=1)
    graph.apply(
        "Add", [spread, graph.constant("within_group", network.within_group.double().numpy())], "logits"
    )
    return serialised(
        "generator",
        graph.nodes,
        inputs=[rows_of("latent", latent_dimension), rows_of("label", network.classes)],
        outputs=[rows_of("logits", len(places))],
        constants=graph.weights,
    )


def _weights(layer: nn.Linear) -> tuple[Matrix, Matrix]:
    """Weights and biases in float64."""
    return layer.weight.detach().double().numpy(), layer.bias.detach().double().numpy()


def _one_after_the_other(
    first: tuple[Matrix, Matrix], second: tuple[Matrix, Matrix]
) -> tuple[Matrix, Matrix]:
    """The layer that computes what a second one does on the output of a first."""
    both = np.column_stack(first)
    product = np.zeros((len(second[0]), both.shape[1]))
    # In a fixed order, so that the same weights give the same bytes on every machine; a library's product may not.
    for column, row in zip(second[0].T, both, strict=True):
        product += np.outer(column, row)
    return product[:, :-1], product[:, -1] + second[1]


def _leave(network: Generator) -> tuple[Matrix, Matrix]:
    """The last layer on hidden units and label: every column's logits, with those of the label's block in their place."""
    weight, bias = _weights(network.leave)
    classes, start = network.classes, network.label_start
    own = np.zeros((classes, weight.shape[1] + classes))
    own[:, weight.shape[1] :] = (GIVEN - EXCLUDED) * np.eye(classes)
    wide = np.pad(weight, ((0, 0), (0, classes)))
    return (
        np.concatenate([wide[:start], own, wide[start:]]),
        np.concatenate([bias[:start], np.full(classes, EXCLUDED), bias[start:]]),
    )
