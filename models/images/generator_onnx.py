"""A generator of images as an ONNX model with inputs `latent` and `label` and output `images`; the number of rows is free.

The operations correspond one to one to those of the modules' `forward` (`models.images.generator`, `chosen`, `answered`).
"""

import math

import numpy as np
import torch
from onnx import TensorProto
from torch import nn

from models.critic.label_network_onnx import label_logits
from models.images.generator import SLOPE, ImageGenerator
from models.images.label_rejection import AnsweredImages
from models.images.likelihood_rejection import DRAWS, ChosenImages
from models.images.moves import MOVES
from models.images.texture import TEXTURE_DRAWS
from models.onnx_graph import OnnxGraph, rows_of

_NEVER = float(np.finfo(np.float32).max)
"""A threshold above every latent number."""


def image_generator_onnx(network: nn.Module, *, classes: int) -> bytes:
    """Return the serialised model.

    Args:
        classes: number of columns of `label`; 0 for images without labels.

    Raises:
        TypeError: the network, or a module in it, has no ONNX form here.
    """
    graph = OnnxGraph()
    match network:
        case ChosenImages():
            generator = _image_generator(network.generator)
            _chosen(graph, network, generator, classes)
        case AnsweredImages():
            generator = _image_generator(network.generator)
            _answered(graph, network, generator, classes)
        case _:
            network = generator = _image_generator(network)
            _generated(graph, generator, "latent", "label" if classes else _ones(graph))
    inputs = [rows_of("latent", network.latent_dimension), rows_of("label", classes)]
    shape = (generator.channels, generator.height, generator.width)
    return graph.serialised("generator", inputs=inputs, output="images", shape=shape)


def _image_generator(module: nn.Module) -> ImageGenerator:
    if not isinstance(module, ImageGenerator):
        raise TypeError(f"no ONNX form of a generator of images by {type(module).__name__}")
    return module


def _ones(graph: OnnxGraph) -> str:
    """The single class of images without labels, (rows, 1)."""
    rows = graph.apply("Shape", "latent", start=0, end=1)
    shape = graph.apply("Concat", rows, graph.constant([1], np.int64), axis=0)
    return graph.apply("Expand", graph.constant([[1.0]]), shape)


def _generated(graph: OnnxGraph, made: ImageGenerator, latent: str, label: str) -> str:
    """`ImageGenerator.forward`, for labels with at least one class."""
    start = _anchor(graph, made, latent, label)
    residual = _residual(graph, made, latent, label, start)
    images = _clamped(graph, graph.apply("Add", start, residual))
    if not made.textured:
        return images
    draws = _columns(graph, latent, made.texture_start, made.texture_start + TEXTURE_DRAWS)
    waves = graph.apply("Sin", graph.apply("MatMul", draws, _tensor(graph, made.phases)))
    waves = graph.shaped(waves, -1, made.channels, made.height, made.width)
    across = graph.apply(
        "MatMul", graph.apply("Mul", _tensor(graph, made.grain), waves), _tensor(graph, made.right)
    )
    texture = graph.apply("MatMul", _tensor(graph, made.down), across)
    return _clamped(graph, graph.apply("Add", images, texture))


def _anchor(graph: OnnxGraph, made: ImageGenerator, latent: str, label: str) -> str:
    """`ImageGenerator.anchor`."""
    inside, moves_start = 1 + made.dimensions, made.moves_start
    first = _columns(graph, latent, 0, 1)
    cell = _passed(graph, first, graph.apply("MatMul", label, _thresholds(graph, made.thresholds)))
    of_class = graph.apply("ArgMax", label, axis=1, keepdims=0)
    index = graph.apply("Add", graph.apply("Mul", of_class, graph.constant(made.cells, np.int64)), cell)
    place = graph.apply(
        "Add",
        graph.apply("Gather", _tensor(graph, made.centres), index, axis=0),
        _products(graph, made.factors, index, _columns(graph, latent, 1, inside)),
    )
    if moves_start > inside:
        place = graph.apply("Concat", place, _columns(graph, latent, inside, moves_start), axis=1)
    flat = graph.apply(
        "Add",
        graph.apply("MatMul", label, _tensor(graph, made.means)),
        graph.apply("MatMul", place, _tensor(graph, made.basis)),
    )
    picture = graph.shaped(_clamped(graph, flat), -1, made.channels, made.height, made.width)
    given = _columns(graph, latent, moves_start, moves_start + MOVES)
    return _moved(graph, made, picture, _products(graph, made.moves, index, given))


def _moved(graph: OnnxGraph, made: ImageGenerator, picture: str, moves: str) -> str:
    """Pictures resampled at positions moved by small linear maps and shifts."""
    linear = graph.shaped(_columns(graph, moves, 0, 4), -1, 2, 2)
    shift = graph.shaped(_columns(graph, moves, 4, MOVES), -1, 2, 1)
    change = graph.apply("Transpose", graph.apply("Concat", linear, shift, axis=2), perm=[0, 2, 1])
    moved = graph.apply("MatMul", _tensor(graph, made.grid), change)
    places = graph.apply("Add", _tensor(graph, made.grid[:, :2]), moved)
    places = graph.shaped(places, -1, made.height, made.width, 2)
    return graph.apply("GridSample", picture, places, mode="linear", padding_mode="border", align_corners=0)


def _residual(graph: OnnxGraph, made: ImageGenerator, latent: str, label: str, start: str) -> str:
    """The decoder's addition to the anchor's images."""
    hidden = graph.linear(made.enter, graph.apply("Concat", latent, label, axis=1))
    hidden = graph.shaped(_leaky(graph, hidden), -1, made.first.in_channels, *made.quarter_size)
    hidden = enlarged(graph, hidden, *made.half_size)
    hidden = _leaky(graph, _convolved(graph, made.first, hidden))
    hidden = enlarged(graph, hidden, made.height, made.width)
    hidden = graph.apply("Concat", hidden, start, axis=1)
    hidden = _leaky(graph, _convolved(graph, made.second, hidden))
    return _convolved(graph, made.leave, hidden)


def _chosen(graph: OnnxGraph, network: ChosenImages, made: ImageGenerator, classes: int) -> None:
    """`ChosenImages.forward`."""
    draws = graph.shaped("latent", -1, network.draw_dimension)
    given = graph.shaped(_for_each_draw(graph), -1, classes)
    pictures = _generated(graph, made, draws, given)
    after, before = (
        graph.summed(
            graph.apply(
                "Mul", graph.apply("LogSoftmax", label_logits(graph, critic, pictures), axis=1), given
            ),
            axis=1,
        )
        for critic in (network.critic, network.before)
    )
    quotient = graph.shaped(graph.apply("Sub", after, before), -1, DRAWS)
    coin = graph.apply("Mul", _coins(graph, network, draws), graph.constant(math.sqrt(0.5)))
    half = graph.constant(0.5)
    uniform = graph.apply("Add", half, graph.apply("Mul", half, graph.apply("Erf", coin)))
    uniform = graph.shaped(uniform, -1, DRAWS)
    passes = graph.apply("GreaterOrEqual", graph.apply("Exp", quotient), uniform)
    _taken(graph, graph.apply("Sigmoid", quotient), passes, network.lead, pictures, made)


def _answered(graph: OnnxGraph, network: AnsweredImages, made: ImageGenerator, classes: int) -> None:
    """`AnsweredImages.forward`."""
    draws = graph.shaped("latent", -1, network.draw_dimension)
    wanted = graph.shaped(_for_each_draw(graph), -1, DRAWS, classes)
    code = _passed(graph, _coins(graph, network, draws), _thresholds(graph, network.thresholds))
    drawn = graph.shaped(_one_hot(graph, code, classes), -1, DRAWS, classes)
    given = graph.apply(
        "Add",
        graph.apply("Mul", _tensor(graph, network.own), wanted),
        graph.apply("Mul", _tensor(graph, 1.0 - network.own), drawn),
    )
    pictures = _generated(graph, made, draws, graph.shaped(given, -1, classes))
    shares = graph.apply("Softmax", label_logits(graph, network.critic, pictures), axis=1)
    shares = graph.shaped(shares, -1, DRAWS, classes)
    share = graph.summed(graph.apply("Mul", shares, wanted), axis=2)
    most = graph.apply("ReduceMax", shares, graph.constant([2], np.int64), keepdims=0)
    passes = graph.apply("GreaterOrEqual", share, most)
    _taken(graph, share, passes, network.lead, pictures, made)


def _for_each_draw(graph: OnnxGraph) -> str:
    """The label, repeated for each draw, (rows, draws times classes)."""
    return graph.apply("Tile", "label", graph.constant([1, DRAWS], np.int64))


def _coins(graph: OnnxGraph, network: ChosenImages | AnsweredImages, draws: str) -> str:
    return _columns(graph, draws, network.draw_dimension - 1, network.draw_dimension)


def _taken(
    graph: OnnxGraph, score: str, passes: str, lead: torch.Tensor, pictures: str, made: ImageGenerator
) -> None:
    """The first draw of a row that passes, or else the one with the highest score."""
    counted = graph.apply("Cast", passes, to=TensorProto.FLOAT)
    merit = graph.apply("Add", score, graph.apply("Mul", counted, _tensor(graph, 1.0 + lead)))
    best = graph.apply("ArgMax", merit, axis=1, keepdims=0)
    taken = graph.shaped(_one_hot(graph, best, DRAWS), -1, DRAWS, 1, 1, 1)
    drawn = graph.shaped(pictures, -1, DRAWS, made.channels, made.height, made.width)
    graph.summed(graph.apply("Mul", taken, drawn), axis=1)


def _tensor(graph: OnnxGraph, values: torch.Tensor) -> str:
    return graph.constant(values.detach().numpy())


def _thresholds(graph: OnnxGraph, values: torch.Tensor) -> str:
    """Thresholds along the last axis; a threshold above every number if there are none, because an axis cannot be empty."""
    if values.shape[-1] == 0:
        values = torch.full((*values.shape[:-1], 1), _NEVER)
    return _tensor(graph, values)


def _passed(graph: OnnxGraph, number: str, thresholds: str) -> str:
    """The number of thresholds in its row that a number exceeds, (rows,) int64."""
    exceeded = graph.apply("Greater", number, thresholds)
    return graph.summed(graph.apply("Cast", exceeded, to=TensorProto.INT64), axis=1)


def _columns(graph: OnnxGraph, source: str, start: int, stop: int) -> str:
    places = (graph.constant([place], np.int64) for place in (start, stop, 1))
    return graph.apply("Slice", source, *places)


def _products(graph: OnnxGraph, matrices: torch.Tensor, index: str, vectors: str) -> str:
    """The product of each row's matrix, given by its index, and its vector."""
    size = matrices.shape[-1]
    chosen = graph.apply("Gather", _tensor(graph, matrices), index, axis=0)
    return graph.shaped(graph.apply("MatMul", chosen, graph.shaped(vectors, -1, size, 1)), -1, size)


def _one_hot(graph: OnnxGraph, codes: str, classes: int) -> str:
    return graph.apply(
        "OneHot", codes, graph.constant(classes, np.int64), graph.constant([0.0, 1.0]), axis=-1
    )


def _clamped(graph: OnnxGraph, values: str) -> str:
    return graph.apply("Clip", values, graph.constant(0.0), graph.constant(1.0))


def _leaky(graph: OnnxGraph, values: str) -> str:
    return graph.apply("LeakyRelu", values, alpha=SLOPE)


def enlarged(graph: OnnxGraph, images: str, height: int, width: int) -> str:
    """Images in this size, by nearest-neighbour interpolation as in torch."""
    return graph.apply(
        "Resize",
        images,
        "",
        "",
        graph.constant([height, width], np.int64),
        axes=[2, 3],
        mode="nearest",
        coordinate_transformation_mode="asymmetric",
        nearest_mode="floor",
    )


def _convolved(graph: OnnxGraph, layer: nn.Conv2d, images: str) -> str:
    assert layer.bias is not None, "every layer has a bias"
    padding = int(layer.padding[0])
    return graph.apply(
        "Conv", images, _tensor(graph, layer.weight), _tensor(graph, layer.bias), pads=[padding] * 4
    )
