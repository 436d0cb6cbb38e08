"""A bundle whose distribution is known: a one-layer network with given weights, so that samples can be checked exactly."""

from dataclasses import replace
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from core.artifacts.bundle import Bundle
from core.artifacts.manifest import TableManifest

DOMAIN = {
    "schema": "understudy.domain/1",
    "target": "sick",
    "privacy_unit": None,
    "columns": [
        {"name": "ward", "kind": "categorical", "categories": ["A", 'B, or "C"', "Ü"]},
        {"name": "age", "kind": "numeric", "type": "integer", "lower": 0, "upper": 99, "edges": [0, 50, 99]},
        {"name": "sick", "kind": "boolean", "true": "yes", "false": "no"},
        {"name": "seen", "kind": "date", "lower": "2020-01-01", "upper": "2020-01-10", "resolution": "day"},
    ],
}
WARD_DISTRIBUTION = {0: (0.7, 0.2, 0.1), 1: (0.1, 0.2, 0.7)}
LABEL_DISTRIBUTION = (0.25, 0.75)


def cardinalities() -> tuple[int, ...]:
    from core.plan.domain.table import TableDomain

    return tuple(TableDomain.from_json(DOMAIN).cardinalities)


def network(*, latent: int = 2) -> bytes:
    """Logits of the ward depend on the label as WARD_DISTRIBUTION says; every other block is uniform."""
    cells = sum(cardinalities())
    weights = np.zeros((latent + 2, cells), dtype=np.float32)
    for label, distribution in WARD_DISTRIBUTION.items():
        weights[latent + label, :3] = np.log(distribution)
    graph = helper.make_graph(
        [
            helper.make_node("Concat", ["latent", "label"], ["both"], axis=1),
            helper.make_node("MatMul", ["both", "weights"], ["logits"]),
        ],
        "stand-in",
        [
            helper.make_tensor_value_info("latent", TensorProto.FLOAT, ["rows", latent]),
            helper.make_tensor_value_info("label", TensorProto.FLOAT, ["rows", 2]),
        ],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["rows", cells])],
        [numpy_helper.from_array(weights, "weights")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])
    model.ir_version = 10
    onnx.checker.check_model(model)
    return model.SerializeToString()


def network_of(cells: tuple[int, ...], *, latent: int = 2, labels: int = 2) -> bytes:
    """A network for other columns: every block is uniform."""
    width = sum(cells)
    graph = helper.make_graph(
        [
            helper.make_node("Concat", ["latent", "label"], ["both"], axis=1),
            helper.make_node("MatMul", ["both", "weights"], ["logits"]),
        ],
        "stand-in",
        [
            helper.make_tensor_value_info("latent", TensorProto.FLOAT, ["rows", latent]),
            helper.make_tensor_value_info("label", TensorProto.FLOAT, ["rows", labels]),
        ],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["rows", width])],
        [numpy_helper.from_array(np.zeros((latent + labels, width), dtype=np.float32), "weights")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])
    model.ir_version = 10
    return model.SerializeToString()


def bundle(**changes: object) -> Bundle:
    whole = Bundle(
        manifest=TableManifest(
            latent_dimension=2,
            cardinalities=cardinalities(),
            label_index=2,
            label_probabilities=LABEL_DISTRIBUTION,
        ),
        network=network(),
        weights=b"weights",
        domain=DOMAIN,
        certificate={"guarantee": {"epsilon": 1.0, "delta": 1e-6}, "privacy_unit": {"column": None}},
    )
    return replace(whole, **changes)


def even_bundle(document: dict[str, Any]) -> Bundle:
    """A generator whose columns are all even and independent, of a domain with two labels in its second column."""
    from core.plan.domain.table import TableDomain

    cells = TableDomain.from_json(document).cardinalities
    manifest = TableManifest(
        latent_dimension=2, cardinalities=cells, label_index=1, label_probabilities=(0.5, 0.5)
    )
    return bundle(manifest=manifest, network=network_of(cells, labels=2), domain=document)
