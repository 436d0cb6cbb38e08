"""Records drawn from a trained generator inside a job: post-processing, repeatable from the same streams."""

from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from typing_extensions import TypeIs

from core.artifacts.sampling.codes_in_groups import CodesInGroups
from models.encoding import block_starts
from models.idpgan.generator import draw, probabilities
from models.idpgan.mixture import Mixture
from models.labels import drawn_labels
from models.randomness import KeyedStreams, Purpose
from models.synthesizer import TrainedGenerator, TrainedImageGenerator

_AT_ONCE: Final = 500
Integers = npt.NDArray[np.int64]


def outputs(
    generator: TrainedGenerator | TrainedImageGenerator,
    streams: KeyedStreams,
    purpose: Purpose,
    *,
    rows: int,
) -> Iterator[tuple[Integers, Tensor]]:
    """Labels and the network's output for them, logits or images, some hundred rows at a time.

    Args:
        streams: of the job, or public ones.
        purpose: steps 0 and 1 of it give labels and latent vectors.
        rows: in all.
    """
    labels = drawn_labels(generator.label_probabilities, streams.uniforms(purpose, 0, rows))
    latent = streams.torch_normals(purpose, 1, (rows, generator.latent_dimension))
    with torch.no_grad():
        for z, y in zip(torch.split(latent, _AT_ONCE), torch.split(labels, _AT_ONCE), strict=True):
            classes = y.argmax(dim=1) if y.shape[1] else torch.zeros(len(y), dtype=torch.int64)
            yield classes.numpy(), generator.network(z, y)


def records_of(generator: TrainedGenerator, logits: Tensor, uniforms: Tensor) -> Integers:
    """Codes (rows, columns) drawn from a generator's logits.

    Args:
        generator: on the CPU.
        uniforms: (rows, `uniforms_wanted`) in [0, 1).
    """
    network, columns = generator.network, len(generator.cardinalities)
    if not _is_by_group(network):
        return codes(logits, uniforms, generator.cardinalities)
    drawn = codes(logits, uniforms[:, :columns], network.group_counts)
    in_groups = CodesInGroups(
        network.group_of_code.numpy(),
        network.within_group.numpy(),
        generator.cardinalities,
        network.group_counts,
    )
    return in_groups.draw(drawn, uniforms[:, columns:].double().numpy()).astype(np.int64)


def uniforms_wanted(generator: TrainedGenerator) -> int:
    """Uniform numbers for each record: one per column, and another for the code within its group."""
    return len(generator.cardinalities) * (2 if _is_by_group(generator.network) else 1)


def _is_by_group(network: nn.Module) -> TypeIs[Mixture]:
    return isinstance(network, Mixture) and network.by_group


def codes(logits: Tensor, uniforms: Tensor, cardinalities: tuple[int, ...]) -> Integers:
    """Codes (rows, columns) drawn from the softmax of every column's block."""
    cells = draw(probabilities(logits, cardinalities), uniforms, cardinalities).argwhere()[:, 1]
    made: Integers = cells.reshape(len(logits), -1).numpy() - block_starts(cardinalities)[:-1]
    return made
