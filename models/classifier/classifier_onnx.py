"""A classifier as an ONNX model, written layer by layer: `images` or `codes` in, `logits` out; the number of rows is free.

Features are part of the model: scaling, scattering, principal components. A registered module is traced by PyTorch's exporter.
"""

import logging
import math
import warnings
from collections.abc import Sequence

import numpy as np
import torch
from onnx import TensorProto
from torch import nn

from models.classifier.networks import DenseClassifier, ImageClassifier
from models.classifier.scattering import GROUPS, REDUCTION, TINY, ScatteringTransform
from models.critic.label_network_onnx import label_logits
from models.encoding import block_starts
from models.onnx_graph import OPSET, ROWS, OnnxGraph, rows_of


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
    graph = OnnxGraph()
    pixels = graph.apply("Cast", "images", to=TensorProto.FLOAT)
    pixels = graph.apply("Transpose", pixels, perm=[0, 3, 1, 2])
    pixels = graph.apply("Div", pixels, graph.constant(255.0))
    if isinstance(network, ImageClassifier):
        graph.apply("Identity", label_logits(graph, network.critic, pixels))
    else:
        rows = graph.shaped(pixels, -1, height * width * channels)
        features = rows if transform is None else _scattering(graph, transform, pixels, shape)
        _layers(graph, network, _projected(graph, network, features))
    images = rows_of("images", height, width, channels, dtype=TensorProto.UINT8)
    return graph.serialised("classifier", inputs=[images], output="logits", shape=[classes])


def table_model(network: nn.Module, *, cardinalities: Sequence[int], classes: int) -> bytes:
    """Return the model of codes (rows, columns), int64, of a table's columns but the target.

    Args:
        network: reads one-hot cells, each one over the root of the number of columns.
    """
    cells, value = sum(cardinalities), len(cardinalities) ** -0.5
    if not isinstance(network, DenseClassifier):
        return traced_onnx(
            _FromCodes(network, cardinalities).eval(),
            (torch.zeros(2, len(cardinalities), dtype=torch.int64),),
            inputs=["codes"],
            outputs=["logits"],
        )
    graph = OnnxGraph()
    places = graph.apply("Add", "codes", graph.constant(block_starts(tuple(cardinalities))[:-1], np.int64))
    hot = graph.apply(
        "OneHot", places, graph.constant(cells, np.int64), graph.constant([0.0, value]), axis=-1
    )
    features = graph.apply("ReduceSum", hot, graph.constant([1], np.int64), keepdims=0)
    _layers(graph, network, _projected(graph, network, features))
    given = rows_of("codes", len(cardinalities), dtype=TensorProto.INT64)
    return graph.serialised("classifier", inputs=[given], output="logits", shape=[classes])


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


def _projected(graph: OnnxGraph, network: DenseClassifier, rows: str) -> str:
    if network.components is None:
        return rows
    lengths = graph.apply("ReduceL2", rows, graph.constant([1], np.int64), keepdims=1)
    shortened = graph.apply("Div", rows, graph.apply("Max", lengths, graph.constant(1.0)))
    return graph.apply("MatMul", shortened, graph.constant(network.components.numpy()))


def _layers(graph: OnnxGraph, network: DenseClassifier, values: str) -> None:
    *hidden, last = network.linear_layers()
    for layer in hidden:
        values = graph.apply("Relu", graph.linear(layer, values))
    graph.apply("Identity", graph.linear(last, values))


def _scattering(
    graph: OnnxGraph, transform: ScatteringTransform, pixels: str, shape: tuple[int, int, int]
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


def _modulus(graph: OnnxGraph, planes: str, kernels: torch.Tensor, *, stride: int) -> str:
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
    graph: OnnxGraph,
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


def traced_onnx(
    network: nn.Module, example: tuple[torch.Tensor, ...], *, inputs: list[str], outputs: list[str]
) -> bytes:
    """Return a registered module as a serialised ONNX model, by PyTorch's exporter: only it can read unknown modules.

    The exporter imports a compiler and takes seconds. Stack traces with file names are removed from its model, so the same
    weights give the same bytes on every machine.

    Args:
        network: in evaluation or training mode; it is set to evaluation, float32 and the CPU.
        example: two rows of every input.
        inputs: names of the inputs; their number of rows is free.
        outputs: names of the outputs.
    """
    rows = torch.export.Dim(ROWS)
    network = network.eval().float().cpu()
    exporter_log = logging.getLogger("torch.onnx")
    level = exporter_log.level
    exporter_log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            # Deprecations inside the exporter; no reader of the logs can act on them.
            warnings.simplefilter("ignore")
            program = torch.onnx.export(
                network,
                example,
                dynamo=True,
                verbose=False,
                opset_version=OPSET,
                input_names=inputs,
                output_names=outputs,
                dynamic_shapes=tuple({0: rows} for _ in inputs),
            )
    finally:
        exporter_log.setLevel(level)
    assert program is not None, "the dynamo exporter returns a program"
    model = program.model_proto
    graph = model.graph
    named = (*graph.input, *graph.output, *graph.value_info, *graph.initializer)
    for part in (model, graph, *graph.node, *named):
        del part.metadata_props[:]
        part.ClearField("doc_string")
    return bytes(model.SerializeToString(deterministic=True))
