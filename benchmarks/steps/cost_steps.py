"""The steps whose cost is compared: ordinary ones and private ones of one critic on one batch."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from benchmarks.datasets import HERE
from benchmarks.steps import conv_step, critic_step
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.plan.critic_groups import critic_channels
from core.plan.domain.images import ImageDomain
from core.plan.plan import Plan, make_plan
from core.plan.spec import SynthesisSpec
from models.critic.conv_network import ConvCritic
from models.critic.network import Critic
from models.private_step import PrivateCritic

COLUMNS = (42,) * 14
IMAGE, CLASSES = (1, 28, 28), 10
REFRESH_EVERY = 25
"""Steps between two refreshes, as the public rule has it."""
STREAMS = critic_step.STREAMS
Network = Literal["linear", "convolution"]
Step = Callable[[int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One critic, one batch, one grouping.

    Args:
        network: two hidden linear layers on 588 one-hot cells, or two convolutions on 28x28 with ten classes.
        width: units of a hidden layer, or channels of the first convolution; the second has twice as many.
        batch: expected, and here also realised.
        grouping: of the coordinates that are clipped together.
        row_blocks: most blocks of one layer, for "rows".
    """

    network: Network
    width: int
    batch: int
    grouping: str = "flat"
    row_blocks: int = 1


def table_of(case: Case) -> critic_step.Table:
    """The one-hot rows of a case of linear layers."""
    return critic_step.Table(COLUMNS, width=case.width, batch=case.batch, layers=2)


def plan_of(case: Case, strategies: dict[str, Any]) -> Plan:
    """A real plan of this case, with ACTS or weight clusters where they are among the options."""
    images = case.network == "convolution"
    options = {
        "anchor": False,
        "critic": True,
        "critic_width": case.width,
        "critic_layers": 2,
        "critic_learning_rate": critic_step.LEARNING_RATE,
        "expected_batch_size": case.batch,
        "grouping": case.grouping,
        "row_blocks": case.row_blocks,
        "gp_weight": critic_step.GP_WEIGHT,
        "steps": 2000,
    }
    domain = ImageDomain.from_json(json.loads((HERE / "domains" / "mnist.json").read_text()))
    return make_plan(
        spec=SynthesisSpec(synthesizer="idpgan", options=options | strategies),
        guarantee=PrivacyGuarantee(epsilon=4.0, delta=1e-6),
        declared_size=50 * case.batch,
        domain=domain if images else table_of(case),
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bench:
    """A case with its records.

    Args:
        case: what is compared.
        real: as the private step takes them: cells of one-hot rows, or images.
        vectors: as the ordinary step takes them.
        fake: one generated record for each.
        labels: (batch,) of images, None of rows.
    """

    case: Case
    real: Tensor
    vectors: Tensor
    fake: Tensor
    labels: Tensor | None

    def critic(self) -> Critic | ConvCritic:
        """A fresh critic."""
        if self.case.network == "linear":
            return critic_step.critic_of(table_of(self.case))
        channels = critic_channels(plan_of(self.case, {}).idpgan_options)
        return ConvCritic(image=IMAGE, widths=channels, classes=CLASSES).initialise(STREAMS)

    def ordinary(self) -> dict[str, Step]:
        """WGAN-GP by plain autograd; of convolutions in both layouts of memory, as neither is always the faster."""
        critic = self.critic()
        if isinstance(critic, Critic):
            return {"ordinary": critic_step.ordinary_step(critic, self.vectors, self.fake)}
        assert self.labels is not None, "images here have labels"
        batch = conv_step.Batch(self.vectors, self.fake, self.labels)
        layouts = {
            "ordinary": torch.contiguous_format,
            "ordinary, channels last": torch.channels_last,
        }
        return {name: conv_step.ordinary_step(critic, batch, layout) for name, layout in layouts.items()}

    def private(self, strategies: dict[str, Any] | None = None) -> "PrivateSteps":
        """The complete private step."""
        plan = plan_of(self.case, strategies or {})
        return PrivateSteps(PrivateCritic(self.critic(), plan, STREAMS), self)


class PrivateSteps:
    """A private critic on a bench's records.

    Args:
        critic: to be trained.
        bench: with the records.
    """

    def __init__(self, critic: PrivateCritic, bench: Bench) -> None:
        self.critic = critic
        self._bench = bench

    def plain(self, number: int) -> None:
        """A step that refreshes no threshold."""
        self._step(number * REFRESH_EVERY + 1)

    def refresh(self, number: int) -> None:
        """A step that does, where ACTS runs."""
        self._step(number * REFRESH_EVERY)

    def _step(self, step: int) -> None:
        bench = self._bench
        self.critic.step(step, bench.real, bench.fake, bench.labels)


def bench_of(case: Case) -> Bench:
    """Random records for a case."""
    if case.network == "linear":
        cells, real, fake = critic_step.batch_of(table_of(case))
        return Bench(case=case, real=cells, vectors=real, fake=fake, labels=None)
    batch = conv_step.batch_of(IMAGE, CLASSES, case.batch)
    return Bench(case=case, real=batch.real, vectors=batch.real, fake=batch.fake, labels=batch.labels)
