"""Export: a trained generator becomes a bundle (the format is core.artifacts.bundle).

The ONNX file of a table's generator is written layer by layer. That of an image generator comes from PyTorch's exporter
and is then stripped of everything about the machine it ran on (stack traces with file names). Either way the same weights
give the same bytes everywhere.
"""

import logging
import warnings
from collections.abc import Mapping
from typing import Any

import safetensors.torch
import torch
from torch import nn

from core.artifacts.bundle import Bundle
from core.artifacts.counts import MOST_BYTES
from core.artifacts.manifest import ImageManifest, Manifest, TableManifest
from core.artifacts.packing import pack
from core.artifacts.readme import render_readme
from models.graphical.ancestral import AncestralNetwork
from models.graphical.ancestral_onnx import ancestral_onnx
from models.idpgan.generator import Generator
from models.idpgan.generator_onnx import generator_onnx
from models.idpgan.mixture import Mixture
from models.idpgan.mixture_onnx import mixture_onnx
from models.synthesizer import TrainedGenerator, TrainedImageGenerator

AnyGenerator = TrainedGenerator | TrainedImageGenerator

# The exporter's own default, pinned so that a new PyTorch does not silently change what old runtimes can read.
ONNX_OPSET = 20


def write_bundle(
    *, generator: AnyGenerator, domain: Mapping[str, Any], certificate: Mapping[str, Any]
) -> bytes:
    """Return the ZIP of a release.

    Args:
        generator: What training returned.
        domain: The declared domain, as JSON.
        certificate: The certificate, as JSON.
    """
    manifest = manifest_of(generator)
    bundle = Bundle(
        manifest=manifest,
        network=export_onnx(generator),
        weights=weights_bytes(generator.network),
        domain=dict(domain),
        certificate=dict(certificate),
        counts=_counts(generator),
    )
    readme = render_readme(manifest, certificate=certificate, counted=bundle.counts is not None)
    return pack(bundle, readme=readme)


def manifest_of(generator: AnyGenerator) -> Manifest:
    """How to sample from a generator."""
    law, network = generator.label_probabilities, generator.network
    listed = None if law is None else tuple(float(p) for p in law)
    match generator:
        case TrainedGenerator():
            return TableManifest(
                latent_dimension=generator.latent_dimension,
                cardinalities=generator.cardinalities,
                label_index=generator.label_index,
                label_probabilities=listed,
                groups=network.group_counts if isinstance(network, Mixture) and network.by_group else None,
            )
        case TrainedImageGenerator():
            channels, height, width = generator.shape
            return ImageManifest(
                latent_dimension=generator.latent_dimension,
                height=height,
                width=width,
                channels=channels,
                label_probabilities=listed,
            )


def export_onnx(generator: AnyGenerator) -> bytes:
    """Return the network as a serialised ONNX model: ``latent`` and ``label`` in, ``logits`` or ``images`` out.

    The number of rows is free; everything else is fixed.
    """
    if isinstance(generator.network, Generator):
        return generator_onnx(
            generator.network.float().cpu(), latent_dimension=generator.latent_dimension, opset=ONNX_OPSET
        )
    if isinstance(generator.network, Mixture):
        return mixture_onnx(generator.network.float().cpu(), opset=ONNX_OPSET)
    if isinstance(generator.network, AncestralNetwork):
        return ancestral_onnx(generator.network.float().cpu(), opset=ONNX_OPSET)
    classes = 0 if generator.label_probabilities is None else len(generator.label_probabilities)
    # Two rows: with one the exporter would fix the batch size to one.
    example = (torch.zeros(2, generator.latent_dimension), torch.zeros(2, classes))
    return traced_onnx(
        generator.network, example, inputs=["latent", "label"], outputs=[manifest_of(generator).OUTPUT]
    )


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
    rows = torch.export.Dim("rows")
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
                opset_version=ONNX_OPSET,
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


def _counts(generator: AnyGenerator) -> bytes | None:
    if isinstance(generator, TrainedImageGenerator) or generator.counts is None:
        return None
    packed = generator.counts.to_bytes()
    return packed if len(packed) <= MOST_BYTES else None


def weights_bytes(network: nn.Module) -> bytes:
    """Return the weights and buffers of a network as a safetensors file."""
    # One metadata key only: with several, safetensors does not promise an order of bytes.
    tensors = {name: tensor.detach().contiguous().cpu() for name, tensor in network.state_dict().items()}
    return bytes(safetensors.torch.save(tensors, metadata={"format": "pt"}))
