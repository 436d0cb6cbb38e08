"""A bundle of images whose pixels are known: the label decides them all, but for one that is random."""

from dataclasses import replace

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from core.artifacts.bundle import Bundle
from core.artifacts.manifest import ImageManifest

HEIGHT, WIDTH = 6, 5
LABELS = ("cat", 'dog, or "wolf"', "Ü")
LABEL_DISTRIBUTION = (0.5, 0.25, 0.25)
CERTIFICATE = {"guarantee": {"epsilon": 1.0, "delta": 1e-6}, "privacy_unit": {"column": None}}


def domain(*, labels: tuple[str, ...] = LABELS, channels: int = 3) -> dict[str, object]:
    return {
        "schema": "understudy.images/1",
        "height": HEIGHT,
        "width": WIDTH,
        "channels": channels,
        "labels": list(labels),
        "privacy_unit": None,
    }


def expected(label: int, *, channels: int = 3) -> NDArray[np.uint8]:
    """Pixels (height, width, channels) of every image of a label; the very first number is random instead."""
    places = np.arange(channels * HEIGHT * WIDTH).reshape(channels, HEIGHT, WIDTH)
    return ((places + 70 * label) % 256).astype(np.uint8).transpose(1, 2, 0)


def network(*, latent: int = 2, classes: int = len(LABELS), channels: int = 3) -> bytes:
    values = channels * HEIGHT * WIDTH
    weights = np.zeros((latent + classes, values), dtype=np.float32)
    weights[0, 0] = 0.2
    for label in range(classes):
        weights[latent + label] = expected(label, channels=channels).transpose(2, 0, 1).reshape(-1) / 255
        weights[latent + label, 0] = 0.5
    graph = helper.make_graph(
        [
            helper.make_node("Concat", ["latent", "label"], ["both"], axis=1),
            helper.make_node("MatMul", ["both", "weights"], ["flat"]),
            helper.make_node("Reshape", ["flat", "shape"], ["images"]),
        ],
        "stand-in",
        [
            helper.make_tensor_value_info("latent", TensorProto.FLOAT, ["rows", latent]),
            helper.make_tensor_value_info("label", TensorProto.FLOAT, ["rows", classes]),
        ],
        [helper.make_tensor_value_info("images", TensorProto.FLOAT, ["rows", channels, HEIGHT, WIDTH])],
        [
            numpy_helper.from_array(weights, "weights"),
            numpy_helper.from_array(np.array([0, channels, HEIGHT, WIDTH]), "shape"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])
    model.ir_version = 10
    onnx.checker.check_model(model)
    return model.SerializeToString()


def manifest(**changes: object) -> ImageManifest:
    whole = ImageManifest(
        latent_dimension=2, height=HEIGHT, width=WIDTH, channels=3, label_probabilities=LABEL_DISTRIBUTION
    )
    return replace(whole, **changes)


def bundle(**changes: object) -> Bundle:
    whole = Bundle(
        manifest=manifest(),
        network=network(),
        weights=b"weights",
        domain=domain(),
        certificate=CERTIFICATE,
    )
    return replace(whole, **changes)


def unlabelled(*, channels: int = 1) -> Bundle:
    """A bundle of images without labels."""
    return bundle(
        manifest=manifest(channels=channels, label_probabilities=None),
        network=network(classes=0, channels=channels),
        domain=domain(labels=(), channels=channels),
    )
