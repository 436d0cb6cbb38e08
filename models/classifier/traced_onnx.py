"""A registered module as an ONNX model, by PyTorch's exporter: only it can read a module that this product does not know.

The exporter imports a compiler and takes seconds. Its model is stripped of everything about the machine it ran on (stack
traces with file names), so the same weights give the same bytes everywhere.
"""

import logging
import warnings

import torch
from torch import nn

from models.onnx_graph import OPSET, ROWS


def traced_onnx(
    network: nn.Module, example: tuple[torch.Tensor, ...], *, inputs: list[str], outputs: list[str]
) -> bytes:
    """Return a network as a serialised ONNX model, by PyTorch's exporter.

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
