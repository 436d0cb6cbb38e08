"""An ONNX model, written operation by operation: PyTorch's exporter takes any network, and seconds to import and trace.

The same operations with the same constants give the same bytes on every machine.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper
from torch import nn

OPSET: Final = 20
"""Version of ONNX's own operators; pinned, so that old runtimes read new bundles."""
IR_VERSION: Final = 10
"""Version of the file format; the same in every bundle."""
ROWS: Final = "rows"
"""Name of the free number of rows."""


class OnnxGraph:
    """Nodes and constants in the order in which they are computed."""

    def __init__(self) -> None:
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []

    def constant(self, values: npt.ArrayLike, dtype: npt.DTypeLike = np.float32) -> str:
        """Add a constant; its name."""
        name = f"constant.{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(np.asarray(values, dtype=dtype), name))
        return name

    def apply(self, operator: str, *inputs: str, **attributes: object) -> str:
        """Add a node with one output; the output's name."""
        name = f"{operator.lower()}.{len(self._nodes)}"
        self._nodes.append(helper.make_node(operator, list(inputs), [name], name=name, **attributes))
        return name

    def shaped(self, source: str, *shape: int) -> str:
        """The same numbers in another shape; one size may be -1."""
        return self.apply("Reshape", source, self.constant(shape, np.int64))

    def summed(self, source: str, axis: int) -> str:
        """Sums over an axis, which the result lacks."""
        return self.apply("ReduceSum", source, self.constant([axis], np.int64), keepdims=0)

    def linear(self, layer: nn.Linear, source: str) -> str:
        """A linear layer on rows."""
        weight, bias = (self.constant(each.detach().numpy()) for each in (layer.weight, layer.bias))
        return self.apply("Gemm", source, weight, bias, transB=1)

    def serialised(
        self, name: str, *, inputs: Sequence[onnx.ValueInfoProto], output: str, shape: Sequence[int]
    ) -> bytes:
        """The model whose output, float32 rows of this shape, is that of the last node; see `serialised`."""
        self._nodes[-1].output[0] = output
        return serialised(
            name, self._nodes, inputs=inputs, outputs=[rows_of(output, *shape)], constants=self._constants
        )


def serialised(
    name: str,
    nodes: Sequence[onnx.NodeProto],
    *,
    inputs: Sequence[onnx.ValueInfoProto],
    outputs: Sequence[onnx.ValueInfoProto],
    constants: Sequence[onnx.TensorProto],
) -> bytes:
    """The model of some nodes, checked; for inputs and outputs see `rows_of`."""
    graph = helper.make_graph(nodes, name, inputs, outputs, constants)
    opset = helper.make_opsetid("", OPSET)
    model = helper.make_model(graph, opset_imports=[opset], ir_version=IR_VERSION)
    onnx.checker.check_model(model, full_check=True)
    return bytes(model.SerializeToString(deterministic=True))


def rows_of(name: str, *shape: int, dtype: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    """An input or output of a free number of rows, each of this shape."""
    return helper.make_tensor_value_info(name, dtype, [ROWS, *shape])
