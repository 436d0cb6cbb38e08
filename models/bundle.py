"""Export: a trained generator becomes a bundle (the format is core.artifacts.bundle).

The ONNX file of a generator is written operation by operation (`models.onnx_graph`): the same weights give the same bytes
everywhere, and nothing in them is of the machine that wrote them.
"""

from collections.abc import Mapping
from typing import Any

import safetensors.torch
from torch import nn

from core.artifacts.bundle import Bundle
from core.artifacts.counts import MOST_BYTES
from core.artifacts.manifest import ImageManifest, Manifest, TableManifest
from core.artifacts.packing import pack
from core.artifacts.readme import render_readme
from models.graphical.ancestral import AncestralNetwork
from models.idpgan.generator import Generator
from models.idpgan.mixture import Mixture
from models.synthesizer import TrainedGenerator, TrainedImageGenerator

AnyGenerator = TrainedGenerator | TrainedImageGenerator


def write_bundle(
    *, generator: AnyGenerator, domain: Mapping[str, Any], certificate: Mapping[str, Any]
) -> bytes:
    """Return the ZIP of a release."""
    manifest = manifest_of(generator)
    bundle = Bundle(
        manifest=manifest,
        network=export_onnx(generator),
        weights=weights_bytes(generator.network),
        domain=dict(domain),
        certificate=dict(certificate),
        counts=_counts(generator),
    )
    readme = render_readme(manifest, certificate=certificate, counts=bundle.counts)
    return pack(bundle, readme=readme)


def manifest_of(generator: AnyGenerator) -> Manifest:
    """How to sample from a generator."""
    distribution, network = generator.label_probabilities, generator.network
    listed = None if distribution is None else tuple(float(p) for p in distribution)
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

    Raises:
        TypeError: the network is none of a generator of this product.
    """
    # They import onnx, which only a training that ends needs.
    from models.graphical.ancestral_onnx import ancestral_onnx
    from models.idpgan.generator_onnx import generator_onnx
    from models.idpgan.mixture_onnx import mixture_onnx
    from models.images.generator_onnx import image_generator_onnx

    network = generator.network.eval().float().cpu()
    if isinstance(generator, TrainedImageGenerator):
        distribution = generator.label_probabilities
        return image_generator_onnx(network, classes=0 if distribution is None else len(distribution))
    match network:
        case Generator():
            return generator_onnx(network, latent_dimension=generator.latent_dimension)
        case Mixture():
            return mixture_onnx(network)
        case AncestralNetwork():
            return ancestral_onnx(network)
        case _:
            raise TypeError(f"no ONNX form of a generator of a table by {type(network).__name__}")


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
