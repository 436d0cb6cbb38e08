"""The logits of a critic of labels as operations of an ONNX model."""

from models.critic.label_network import LabelCritic
from models.critic.network import LeakyReLU
from models.onnx_graph import OnnxGraph


def label_logits(graph: OnnxGraph, critic: LabelCritic, pixels: str) -> str:
    """Write `LabelCritic.logits`, one operation for each of its own.

    Args:
        critic: on the CPU, float32.
        pixels: images (rows, channels, height, width) in [0, 1].

    Returns:
        Name of the logits (rows, classes).

    Raises:
        TypeError: the critic's activation is not LeakyReLU.
    """
    if not isinstance(critic.activation, LeakyReLU):
        raise TypeError(f"no ONNX form of a critic with {type(critic.activation).__name__}")
    *hidden, last = critic.linear_layers()
    values = graph.apply("Sub", graph.apply("Mul", pixels, graph.constant(2.0)), graph.constant(1.0))
    for geometry, layer in zip(critic.geometries, hidden, strict=True):
        stride, padding = geometry.convolution.stride, geometry.convolution.padding
        kernels = graph.constant(geometry.kernels(layer.weight).detach().numpy())
        bias = graph.constant(layer.bias.detach().numpy())
        values = graph.apply("Conv", values, kernels, bias, strides=[stride, stride], pads=[padding] * 4)
        values = graph.apply("LeakyRelu", values, alpha=critic.activation.negative_slope)
    values = graph.apply("Transpose", values, perm=[0, 2, 3, 1])
    return graph.linear(last, graph.shaped(values, -1, last.in_features))
