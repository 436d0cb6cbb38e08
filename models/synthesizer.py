"""The interface of a synthesizer, of the host that runs its training, and of the generator that it returns."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Protocol, overload

import numpy as np
import numpy.typing as npt
from torch import nn

from core.artifacts.counts import ReleasedCounts
from core.plan.plan import Plan
from models.counting.question import Counter
from models.encoding import PrivateImages, PrivateTable
from models.randomness import KeyedStreams


class TrainingHost(Protocol):
    """Runs a training: stores its durable progress and its checkpoints."""

    def advance(self, *, stage: str, step: int, total: int) -> None:
        """Mark durably that private rows are about to be touched for all steps below `step`; may raise to abort."""
        ...

    def load_checkpoint(self) -> bytes | None:
        """The latest checkpoint of this job, if there is one."""
        ...

    def checkpoint_due(self) -> bool:
        """Whether it is time to save one."""
        ...

    def save_checkpoint(self, state: bytes) -> None:
        """Keep a checkpoint, sealed."""
        ...


class NullHost:
    """A host that keeps nothing: for tests and benchmarks."""

    def advance(self, *, stage: str, step: int, total: int) -> None:
        """Nothing is marked."""

    def load_checkpoint(self) -> bytes | None:
        """There is never a checkpoint."""
        return None

    def checkpoint_due(self) -> bool:
        """Never."""
        return False

    def save_checkpoint(self, state: bytes) -> None:
        """Nothing is kept."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NoisyVariety:
    """Variation that records must have, as far as the anchor's noisy counts are sure of it.

    Args:
        spread: (columns,) least share of records that do not have their column's most common value.
        is_open: (columns,) whether the noise leaves that share open altogether.
        spread_within: (classes, columns) `spread` among the records of each label; None without a target.
        combinations: combinations of two columns that are certain to occur among the draws of the check.
    """

    spread: npt.NDArray[np.float64]
    is_open: npt.NDArray[np.bool_]
    spread_within: npt.NDArray[np.float64] | None
    combinations: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TrainedGenerator:
    """Everything that leaves a training; all of it is differentially private.

    Args:
        network: (latent (rows, latent_dimension), label one-hot (rows, classes)) to logits (rows, cells); the
            target's block repeats the given label as logits 0 and -30. Without a target, classes is 0.
        latent_dimension: standard normal inputs.
        label_index: the target's column, or None.
        label_probabilities: (classes,) noisy distribution of the target, or None.
        variety: what the anchor knows of the variety, or None without an anchor.
        counts: the anchor's noisy counts, or None without an anchor.
    """

    network: nn.Module
    latent_dimension: int
    label_index: int | None
    label_probabilities: npt.NDArray[np.float64] | None
    cardinalities: tuple[int, ...]
    variety: NoisyVariety | None = None
    counts: ReleasedCounts | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TrainedImageGenerator:
    """Everything that leaves a training on images; all of it is differentially private.

    Args:
        network: (latent (rows, latent_dimension), label one-hot (rows, classes)) to images (rows, channels, height,
            width), float32 in [0, 1]. Without labels, classes is 0.
        latent_dimension: standard normal inputs.
        shape: (channels, height, width) of every image.
        label_probabilities: (classes,) distribution of the declared labels: the noisy one, or the uniform one where none was
            measured; None where images have no labels.
        spread_within: (classes,) root mean squared distance of the images of each label from their mean, in [0, 1], as
            the anchor's noisy moments describe it; None without an anchor.
    """

    network: nn.Module
    latent_dimension: int
    shape: tuple[int, int, int]
    label_probabilities: npt.NDArray[np.float64] | None
    spread_within: npt.NDArray[np.float64] | None = None


class Synthesizer(ABC):
    """A way to learn a generator from private records within a plan."""

    @overload
    def fit(
        self, records: PrivateTable | Counter, plan: Plan, streams: KeyedStreams, host: TrainingHost
    ) -> TrainedGenerator: ...

    @overload
    def fit(
        self, records: PrivateImages, plan: Plan, streams: KeyedStreams, host: TrainingHost
    ) -> TrainedImageGenerator: ...

    def fit(
        self,
        records: PrivateTable | Counter | PrivateImages,
        plan: Plan,
        streams: KeyedStreams,
        host: TrainingHost,
    ) -> TrainedGenerator | TrainedImageGenerator:
        """Run the plan, resuming from the host's checkpoint with byte-identical results.

        Raises:
            InvalidSpec: the records are images and this synthesizer makes tables only.
        """
        if isinstance(records, PrivateImages):
            return self._fit_images(records, plan, streams, host)
        return self._fit_table(records, plan, streams, host)

    @abstractmethod
    def _fit_table(
        self, records: PrivateTable | Counter, plan: Plan, streams: KeyedStreams, host: TrainingHost
    ) -> TrainedGenerator: ...

    @abstractmethod
    def _fit_images(
        self, records: PrivateImages, plan: Plan, streams: KeyedStreams, host: TrainingHost
    ) -> TrainedImageGenerator: ...
