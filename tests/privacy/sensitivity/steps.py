"""One real private step, listened to: what it would release before noise, in units of its noise, and what it pays for."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from core.dp.gaussian import joint_noise_multiplier
from core.plan.plan import Plan
from models.critic.conv_network import ConvCritic
from models.critic.convolution import Convolution
from models.critic.network import Critic
from models.dp.clipping import Partition
from models.dp.noise import noise_plan
from models.private_step import PrivateCritic
from models.randomness import KeyedStreams, Purpose, Shape
from tests.models.critic.reference import Reference
from tests.models.dp.plans import small_plan

KEY = bytes(range(32))
CELLS, WIDTHS = 12, (8, 8)
REFRESH, ORDINARY = 9, 10
"""Steps: thresholds are refreshed every three."""
OPTIONS: dict[str, dict[str, Any]] = {
    "flat": {},
    "layers": {"grouping": "layers"},
    "rows": {"grouping": "rows"},
    "falling noise": {"grouping": "layers", "schedule": "exponential", "schedule_period": 4},
    "large norm": {"clipping_norm": 1e6},
    "tiny norm": {"clipping_norm": 1e-9, "grouping": "rows"},
    "flat, ACTS": {"acts": True, "grouping": "flat"},
    "layers, ACTS": {"acts": True, "grouping": "layers"},
    "rows, ACTS": {"acts": True, "grouping": "rows"},
    "rows, ACTS and WC": {"acts": True, "weight_clusters": True, "cluster_min_blocks": 2},
    "no penalty": {"gp_weight": 1e-9, "grouping": "layers"},
}
"""Every grouping, and every option that changes what a step releases or how much of it."""


@dataclass(frozen=True)
class Batch:
    """Records with what they are compared with; (n, 12) vectors or (n, 3) cells, (n, 12), (n,)."""

    real: Tensor
    fake: Tensor
    mix: Tensor

    def __len__(self) -> int:
        return len(self.real)

    def with_one_more(self, one: "Batch", place: int) -> "Batch":
        """The neighbour with `one` record inserted."""

        def inserted(mine: Tensor, new: Tensor) -> Tensor:
            return torch.cat([mine[:place], new, mine[place:]])

        return Batch(
            inserted(self.real, one.real), inserted(self.fake, one.fake), inserted(self.mix, one.mix)
        )


class Listener:
    """Keeps the exact values of one step, whitened, and what the step states about them.

    Puts one public release in place of the noisy histograms, so that thresholds and groups must not differ after it.
    """

    def __init__(self) -> None:
        self.exact_sum: list[Tensor] = []
        self.whitened: list[Tensor] = []
        self.stated: list[float] = []

    def exact(
        self, purpose: int, step: int, parts: Iterable[tuple[Tensor, float]], *, sensitivity: float
    ) -> None:
        del step
        self.stated.append(sensitivity)
        for values, std in parts:
            self.whitened.append(values.double().flatten() / std)
            if purpose == Purpose.GRADIENT_NOISE:
                self.exact_sum.append(values.double().clone())

    def noisy(self, purpose: int, step: int, *released: Tensor) -> None:
        del step
        if purpose == Purpose.ACTS_NOISE:
            for histograms in released:
                blocks, bins = histograms.shape
                histograms.zero_()[range(blocks), [7 * block % bins for block in range(blocks)]] = 1.0


class StagedStreams(KeyedStreams):
    """Streams whose interpolation weights are told, so that a record keeps its own wherever it stands."""

    mix = torch.zeros(0)

    def torch_uniforms(self, purpose: Purpose, step: int, shape: Shape) -> Tensor:
        if purpose != Purpose.INTERPOLATION:
            return super().torch_uniforms(purpose, step, shape)
        assert self.mix.shape == (shape,)
        return self.mix


class Stage:
    """A private critic that takes the same step again and again.

    Args:
        options: of the plan.
        dtype: the critic's precision.
        reference: by materialised gradients instead of the closed form.
    """

    def __init__(
        self, options: dict[str, Any], *, dtype: torch.dtype = torch.float32, reference: bool = False
    ) -> None:
        self._streams = StagedStreams(KEY)
        self.plan: Plan = self._planned(replace(small_plan(**options), max_sampled_batch=64))
        self.dtype = dtype
        network = self._network().to(dtype)
        self.private = PrivateCritic(network, self.plan, self._streams)
        if reference:
            # private: the reference takes the place of the form that the step chose
            self.private._form = Reference(  # type: ignore[assignment]
                network, self.private.layout, gp_weight=self.plan.options.gp_weight, max_batch=64
            )
        self._state = {name: value.clone() for name, value in self.private.state_dict().items()}
        self._after: dict[int, Partition] = {}

    @property
    def blocks(self) -> int:
        return self.private.layout.blocks

    def put(
        self,
        *,
        parameters: Tensor | None = None,
        thresholds: Tensor | None = None,
        groups: tuple[int, ...] | None = None,
    ) -> None:
        """Begin every step from these weights, thresholds of the blocks, groups of the blocks."""
        if parameters is not None:
            self._state["parameters"] = parameters.to(self._state["parameters"].dtype)
        if thresholds is not None:
            self._state["thresholds"] = thresholds.double()
        if groups is not None:
            self._state["group_of_block"] = torch.tensor(groups)
        self._after.clear()
        self.private.load_state_dict(self._state)

    def shaped(self) -> Tensor:
        """A copy of the weights that every step begins from."""
        return self._state["parameters"].clone()

    def norms(self, batch: Batch) -> Tensor:
        """(n, blocks) norms of the records' gradients, as clipping sees them."""
        self.private.load_state_dict(self._state)
        # private: the form itself, whose norms a step does not hand out
        form = self.private._form
        real, fake, labels = self._records(batch)
        return form.sum_and_squares(real, fake, batch.mix, self.private.partition, labels=labels)[1].sqrt()

    def whitened(self, step: int, batch: Batch) -> tuple[Tensor, Tensor]:
        """What the step releases of a batch, all releases together, before noise and in units of it.

        Args:
            step: of the plan.
            batch: at most 64 records.

        Returns:
            As it is, and with the sum rounded to the noise's grid.
        """
        listener = Listener()
        self._streams.releases = listener
        self._streams.mix = batch.mix
        self.private.load_state_dict(self._state)
        noise = noise_plan(
            self.private.partition,
            noise_multiplier=self.plan.noise_multiplier_at(step),
            max_batch=self.plan.max_sampled_batch,
        )
        real, fake, labels = self._records(batch)
        self.private.step(step, real, fake, labels)
        met = self._after.setdefault(step, self.private.partition)
        assert self.private.partition == met, "thresholds and groups follow released histograms alone"
        assert math.hypot(*listener.stated) <= self.paid(step) * (1.0 + 1e-13), "the step states what is paid"
        whitened, total = torch.cat(listener.whitened), torch.cat(listener.exact_sum)
        sizes = torch.tensor(self.private.layout.sizes)
        grids, stds = (
            torch.repeat_interleave(torch.tensor(numbers, dtype=torch.float64), sizes)
            for numbers in (noise.grids, noise.stds)
        )
        rounded = whitened.clone()
        rounded[: len(total)] = (total / grids).round() * grids / stds
        return whitened, rounded

    def paid(self, step: int) -> float:
        """1 / sigma_eff, as the plan's mechanism has it."""
        sigma = self.plan.noise_multiplier_at(step)
        if not self.plan.is_refresh(step):
            return 1.0 / sigma
        acts = self.plan.acts
        assert acts is not None
        return 1.0 / joint_noise_multiplier(
            sigma, histograms=acts.groups, histogram_noise_multiplier=acts.noise_multiplier
        )

    def _network(self) -> Any:
        return Critic(inputs=CELLS, widths=WIDTHS).initialise(self._streams)

    def _planned(self, plan: Plan) -> Plan:
        return plan

    def _records(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor | None]:
        """What the step takes of a batch: real, fake, labels."""
        return batch.real, batch.fake, None


class ImageStage(Stage):
    """A stage with a critic of images: the 12 numbers of a record as 4 by 3 pixels, its label told by its mix.

    Its first layer is summed by materialised gradients, its second by products of factors.
    """

    CLASSES = 3

    def _network(self) -> Any:
        return ConvCritic(
            image=(1, 4, 3),
            widths=(16, 32),
            classes=self.CLASSES,
            convolution=Convolution(kernel=3, stride=2, padding=1),
        ).initialise(self._streams)

    def _planned(self, plan: Plan) -> Plan:
        """The plan with as many histograms as this critic has groups."""
        if plan.acts is None:
            return plan
        return replace(plan, acts=replace(plan.acts, groups=self._network().public_groups(plan.options)))

    def _records(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor | None]:
        labels = (batch.mix * 64.0).long() % self.CLASSES
        return batch.real.view(-1, 1, 4, 3), batch.fake.view(-1, 1, 4, 3), labels
