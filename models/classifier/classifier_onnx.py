"""A classifier as an ONNX model, written layer by layer: `images` or `codes` in, `logits` out; the number of rows is free.

Features are part of the model: scaling, scattering, principal components. A registered module is traced by PyTorch's exporter.
"""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn

from models.bundle import ONNX_OPSET, traced_onnx
from models.classifier.networks import DenseClassifier, ImageClassifier
from models.classifier.scattering import GROUPS, REDUCTION, TINY, ScatteringTransform
from models.critic.network import LeakyReLU
from models.encoding import block_starts
from models.idpgan.generator_onnx import IR_VERSION, ROWS

Floats = npt.NDArray[np.float32]


class _Graph:
    """Nodes and constants in the order in which they are computed."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def constant(self, values: npt.ArrayLike, dtype: npt.DTypeLike = np.float32) -> str:
        name = f"constant.{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(values, dtype=dtype), name))
        return name

    def apply(self, operator: str, *inputs: str, **attributes: object) -> str:
        name = f"{operator.lower()}.{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [name], name=name, **attributes))
        return name

    def shaped(self, source: str, *shape: int) -> str:
        return self.apply("Reshape", source, self.constant(shape, np.int64))


def image_model(
    network: nn.Module, *, shape: tuple[int, int, int], classes: int, transform: ScatteringTransform | None
) -> bytes:
    """Return the model of images (rows, height, width, channels), uint8.

    Args:
        network: reads features in the order channel, height, width, or scattering coefficients.
        shape: height, width and channels.
        transform: of scattering features; None for plain pixels.
    """
    height, width, channels = shape
    if not isinstance(network, DenseClassifier | ImageClassifier):
        return traced_onnx(
            _FromImages(network).eval(),
            (torch.zeros(2, *shape, dtype=torch.uint8),),
            inputs=["images"],
            outputs=["logits"],
        )
    graph = _Graph()
    pixels = graph.apply("Cast", "images", to=TensorProto.FLOAT)
    pixels = graph.apply("Transpose", pixels, perm=[0, 3, 1, 2])
    pixels = graph.apply("Div", pixels, graph.constant(255.0))
    if isinstance(network, ImageClassifier):
        _convolutions(graph, network, pixels)
    else:
        rows = graph.shaped(pixels, -1, height * width * channels)
        features = rows if transform is None else _scattering(graph, transform, pixels, shape)
        _layers(graph, network, _projected(graph, network, features))
    images = helper.make_tensor_value_info("images", TensorProto.UINT8, [ROWS, height, width, channels])
    return _serialised(graph, images, classes)


def table_model(network: nn.Module, *, cardinalities: Sequence[int], classes: int) -> bytes:
    """Return the model of codes (rows, columns), int64, of a table's columns but the target.

    Args:
        network: reads one-hot cells, each one over the root of the number of columns.
        cardinalities: codes of every column.
    """
    cells, value = sum(cardinalities), len(cardinalities) ** -0.5
    if not isinstance(network, DenseClassifier):
        return traced_onnx(
            _FromCodes(network, cardinalities).eval(),
            (torch.zeros(2, len(cardinalities), dtype=torch.int64),),
            inputs=["codes"],
            outputs=["logits"],
        )
    graph = _Graph()
    places = graph.apply("Add", "codes", graph.constant(block_starts(tuple(cardinalities))[:-1], np.int64))
    hot = graph.apply(
        "OneHot", places, graph.constant(cells, np.int64), graph.constant([0.0, value]), axis=-1
    )
    features = graph.apply("ReduceSum", hot, graph.constant([1], np.int64), keepdims=0)
    _layers(graph, network, _projected(graph, network, features))
    codes = helper.make_tensor_value_info("codes", TensorProto.INT64, [ROWS, len(cardinalities)])
    return _serialised(graph, codes, classes)


class _FromImages(nn.Module):
    """A module of flat pixels as one of images."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        pixels = images.to(torch.float32).permute(0, 3, 1, 2) / 255.0
        return torch.as_tensor(self.network(pixels.flatten(1)))


class _FromCodes(nn.Module):
    """A module of one-hot cells as one of codes."""

    def __init__(self, network: nn.Module, cardinalities: Sequence[int]) -> None:
        super().__init__()
        self.network = network
        self.cardinalities = tuple(cardinalities)

    def forward(self, codes: torch.Tensor) -> torch.Tensor:
        blocks = [
            (codes[:, [place]] == torch.arange(count)).to(torch.float32)
            for place, count in enumerate(self.cardinalities)
        ]
        return torch.as_tensor(self.network(torch.cat(blocks, dim=1) * len(blocks) ** -0.5))


def _projected(graph: _Graph, network: DenseClassifier, rows: str) -> str:
    if network.components is None:
        return rows
    lengths = graph.apply("ReduceL2", rows, graph.constant([1], np.int64), keepdims=1)
    shortened = graph.apply("Div", rows, graph.apply("Max", lengths, graph.constant(1.0)))
    return graph.apply("MatMul", shortened, graph.constant(network.components.numpy()))


def _layers(graph: _Graph, network: DenseClassifier, values: str) -> None:
    *hidden, last = network.linear_layers()
    for layer in hidden:
        values = graph.apply("Relu", _gemm(graph, layer, values))
    graph.apply("Identity", _gemm(graph, last, values))


def _gemm(graph: _Graph, layer: nn.Linear, values: str) -> str:
    weight, bias = graph.constant(layer.weight.numpy()), graph.constant(layer.bias.numpy())
    return graph.apply("Gemm", values, weight, bias, transB=1)


def _convolutions(graph: _Graph, network: ImageClassifier, pixels: str) -> None:
    critic = network.critic
    *hidden, last = critic.linear_layers()
    assert isinstance(critic.activation, LeakyReLU), "the activation of a critic"
    values = graph.apply("Sub", graph.apply("Mul", pixels, graph.constant(2.0)), graph.constant(1.0))
    for geometry, layer in zip(critic.geometries, hidden, strict=True):
        stride, padding = geometry.convolution.stride, geometry.convolution.padding
        kernels = graph.constant(geometry.kernels(layer.weight).numpy())
        values = graph.apply(
            "Conv",
            values,
            kernels,
            graph.constant(layer.bias.numpy()),
            strides=[stride, stride],
            pads=[padding] * 4,
        )
        values = graph.apply("LeakyRelu", values, alpha=critic.activation.negative_slope)
    values = graph.apply("Transpose", values, perm=[0, 2, 3, 1])
    graph.apply("Identity", _gemm(graph, last, graph.shaped(values, -1, last.in_features)))


def _scattering(
    graph: _Graph, transform: ScatteringTransform, pixels: str, shape: tuple[int, int, int]
) -> str:
    """The operations of `ScatteringTransform.forward`, one for one."""
    height, width, channels = shape
    left, right, top, bottom = transform.edges
    padded = (height + top + bottom, width + left + right)
    halves = tuple((side - 1) // 2 + 1 for side in padded)
    planes = graph.shaped(pixels, -1, 1, height, width)
    pads = graph.constant([0, 0, top, left, 0, 0, bottom, right], np.int64)
    planes = graph.apply("Pad", planes, pads, mode="edge")
    fine = _modulus(graph, planes, transform.fine, stride=1)
    coarse = _modulus(graph, planes, transform.coarse, stride=2)
    angles = transform.fine.shape[0] // 2
    both = _modulus(graph, graph.shaped(fine, -1, 1, *padded), transform.coarse, stride=2)
    both = graph.shaped(both, -1, angles * angles, *halves)
    where = (transform.rows, transform.columns)
    orders = [
        _averaged(graph, planes, transform.average, REDUCTION, planes=1, before=padded, after=where),
        _averaged(graph, fine, transform.average, REDUCTION, planes=angles, before=padded, after=where),
        *(
            _averaged(
                graph,
                some,
                transform.average_of_halved,
                REDUCTION // 2,
                planes=count,
                before=halves,
                after=where,
            )
            for some, count in ((coarse, angles), (both, angles * angles))
        ),
    ]
    joined = graph.apply("Concat", *orders, axis=1)
    groups = graph.shaped(joined, -1, GROUPS, transform.features // channels // GROUPS)
    axis = graph.constant([2], np.int64)
    centred = graph.apply("Sub", groups, graph.apply("ReduceMean", groups, axis, keepdims=1))
    variance = graph.apply("ReduceMean", graph.apply("Mul", centred, centred), axis, keepdims=1)
    deviation = graph.apply("Sqrt", graph.apply("Add", variance, graph.constant(TINY)))
    scaled = graph.shaped(graph.apply("Div", centred, deviation), -1, transform.features)
    return graph.apply("Div", scaled, graph.constant(math.sqrt(transform.features)))


def _modulus(graph: _Graph, planes: str, kernels: torch.Tensor, *, stride: int) -> str:
    reach = kernels.shape[-1] // 2
    waves = graph.apply(
        "Conv", planes, graph.constant(kernels.numpy()), strides=[stride, stride], pads=[reach] * 4
    )
    squares = graph.apply("Mul", waves, waves)
    angles = kernels.shape[0] // 2
    axis = graph.constant([1], np.int64)
    real, imaginary = (
        graph.apply(
            "Slice",
            squares,
            graph.constant([first], np.int64),
            graph.constant([first + angles], np.int64),
            axis,
        )
        for first in (0, angles)
    )
    return graph.apply("Sqrt", graph.apply("Add", real, imaginary))


def _averaged(
    graph: _Graph,
    source: str,
    kernel: torch.Tensor,
    stride: int,
    *,
    planes: int,
    before: tuple[int, ...],
    after: tuple[int, int],
) -> str:
    alone = graph.shaped(source, -1, 1, *before)
    made = graph.apply("Conv", alone, graph.constant(kernel.numpy()), strides=[stride, stride])
    return graph.shaped(made, -1, planes, *after)


def _serialised(graph: _Graph, source: onnx.ValueInfoProto, classes: int) -> bytes:
    graph.nodes[-1].output[0] = "logits"
    made = helper.make_graph(
        graph.nodes,
        "classifier",
        [source],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [ROWS, classes])],
        graph.constants,
    )
    model = helper.make_model(
        made, opset_imports=[helper.make_opsetid("", ONNX_OPSET)], ir_version=IR_VERSION
    )
    onnx.checker.check_model(model, full_check=True)
    return bytes(model.SerializeToString(deterministic=True))
