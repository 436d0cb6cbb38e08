"""A mixture of product distributions as an ONNX model: the latent number chooses a component, whose logits are looked up."""

from typing import Final

import numpy as np
import numpy.typing as npt
import torch
from onnx import TensorProto, helper, numpy_helper

from core.artifacts.manifest import MIXTURE_OUTPUTS
from models.idpgan.grouped_logits import EXCLUDED, GIVEN
from models.idpgan.mixture import LATENT_DIMENSION, Mixture
from models.onnx_graph import rows_of, serialised

_TABLES: Final = dict(
    zip(
        MIXTURE_OUTPUTS,
        [
            ("sums", ("labels", "components")),
            ("components", ("components", "groups")),
            ("group_of_code", ("codes",)),
            ("within_group", ("codes",)),
        ],
        strict=True,
    )
)
"""Outputs from which rows are drawn without the network: the constant that each repeats, and names of its axes. How many groups
there are is left to the constant, for it follows from noisy counts."""


def mixture_onnx(mixture: Mixture) -> bytes:
    """Return the serialised model: `latent` and `label` in, `logits` as the mixture gives them out; the number of rows is free.

    Further outputs, the same for any input, are the tables behind it (`core.artifacts.sampling.mixture_rows`).

    Args:
        mixture: on the CPU, float32.
    """
    start, stop = mixture.label_start, mixture.label_start + mixture.classes
    with torch.no_grad():
        sums, logits = mixture.component_sums().numpy(), mixture.logits.detach().numpy()
    constants: dict[str, npt.NDArray[np.generic]] = {
        "root_half": np.array(np.sqrt(0.5), np.float32), "one": np.array(1, np.float32), "half": np.array(0.5, np.float32),
        "sums": sums, "last": np.array(len(logits) - 1), "axis": np.array([1], np.int64),
        "components": np.delete(logits, np.arange(start, stop), axis=1),
        "group_of_code": mixture.group_of_code.numpy(), "within_group": mixture.within_group.numpy(),
    }  # fmt: skip
    node = helper.make_node
    nodes = [
        node("Mul", ["latent", "root_half"], ["scaled"]),
        node("Erf", ["scaled"], ["erf"]),
        node("Add", ["erf", "one"], ["raised"]),
        node("Mul", ["raised", "half"], ["uniform"]),
        *([node("MatMul", ["label", "sums"], ["below"])] if mixture.classes else []),
        node("Less", ["below" if mixture.classes else "sums", "uniform"], ["passed"]),
        node("Cast", ["passed"], ["counted"], to=TensorProto.INT64),
        node("ReduceSum", ["counted", "axis"], ["component"], keepdims=0),
        node("Min", ["component", "last"], ["chosen"]),
        node("Gather", ["components", "chosen"], ["looked_up"], axis=0),
    ]
    grouped = "looked_up"
    if mixture.classes:
        constants |= {
            "range": np.array(GIVEN - EXCLUDED, np.float32), "least": np.array(EXCLUDED, np.float32), "zero": np.array([0], np.int64),
            "start": np.array([start], np.int64), "end": np.array([logits.shape[1]], np.int64),
        }  # fmt: skip
        nodes += [
            node("Slice", ["looked_up", "zero", "start", "axis"], ["before"]),
            node("Slice", ["looked_up", "start", "end", "axis"], ["after"]),
            node("Mul", ["label", "range"], ["stretched"]),
            node("Add", ["stretched", "least"], ["given"]),
            node("Concat", ["before", "given", "after"], ["grouped"], axis=1),
        ]
        grouped = "grouped"
    nodes += (
        [node("Identity", [grouped], ["logits"])]
        if mixture.by_group
        else [
            node("Gather", [grouped, "group_of_code"], ["spread"], axis=1),
            node("Add", ["spread", "within_group"], ["logits"]),
        ]
    )
    nodes += [node("Identity", [constant], [name]) for name, (constant, _axes) in _TABLES.items()]
    width = logits.shape[1] if mixture.by_group else len(mixture.group_of_code)
    tables = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(constants[constant].dtype), axes)
        for name, (constant, axes) in _TABLES.items()
    ]
    return serialised(
        "generator",
        nodes,
        inputs=[rows_of("latent", LATENT_DIMENSION), rows_of("label", mixture.classes)],
        outputs=[rows_of("logits", width), *tables],
        constants=[numpy_helper.from_array(values, name) for name, values in constants.items()],
    )
