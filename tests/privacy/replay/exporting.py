"""What stands in for the product's writer of ONNX files: most jobs here end with a network of one product, which is run sooner.

Both are pure functions of the generator's weights, so a job that leaks into its weights leaks into either. That the real
writer is one is tested where bundles are (tests/models/test_bundle.py).
"""

from collections.abc import Callable

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from models.bundle import export_onnx
from models.synthesizer import TrainedGenerator
from tests.models.idpgan.jobs import generator_bytes
from tests.privacy.replay.evidence import digest

Exporter = Callable[[TrainedGenerator], bytes]
_EXPORTED: dict[str, bytes] = {}


def exported_once(generator: TrainedGenerator) -> bytes:
    """The real writer's answer for these very weights, asked for once."""
    name = f"{generator.network} {digest(generator_bytes(generator))}"
    if name not in _EXPORTED:
        _EXPORTED[name] = export_onnx(generator)
    return _EXPORTED[name]


def one_product(generator: TrainedGenerator) -> bytes:
    """A network whose one matrix is drawn from a digest of the weights; the same inputs and output as the real one."""
    seed = int(digest(generator_bytes(generator)), 16)
    latent, classes = generator.latent_dimension, 0
    if generator.label_probabilities is not None:
        classes = len(generator.label_probabilities)
    cells = sum(generator.cardinalities)
    weights = np.random.default_rng(seed).normal(size=(latent + classes, cells)).astype(np.float32)
    graph = helper.make_graph(
        [
            helper.make_node("Concat", ["latent", "label"], ["both"], axis=1),
            helper.make_node("MatMul", ["both", "weights"], ["logits"]),
        ],
        "one-product",
        [
            helper.make_tensor_value_info("latent", TensorProto.FLOAT, ["rows", latent]),
            helper.make_tensor_value_info("label", TensorProto.FLOAT, ["rows", classes]),
        ],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["rows", cells])],
        [numpy_helper.from_array(weights, "weights")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])
    model.ir_version = 10
    return bytes(model.SerializeToString())
