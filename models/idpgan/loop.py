"""The training loop of IDPGAN for tables and images, on one page: measure, pre-train, train, export.

"measure" and "train" touch private records and are charged; "pretrain" and "export" are post-processing. All
randomness is addressed by (purpose, step), so a training resumed from any checkpoint gives the same bytes.
"""

from abc import ABC, abstractmethod
from typing import Any, Final, Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
from torch import Tensor, nn

from core.plan.plan import Plan
from models.checkpoint import inside, pack, under, unpack
from models.critic.conv_network import ConvCritic
from models.critic.network import Critic
from models.devices.errors import OtherDevice
from models.devices.placement import HOST, Placement
from models.dp.poisson import UnitSampler
from models.idpgan.learner import Learner, Refiner
from models.idpgan.pace import Pace
from models.private_step import PrivateCritic
from models.randomness import KeyedStreams
from models.synthesizer import TrainingHost

_DEVICE: Final = "device"
MARK_INTERVAL: Final = 25
"""Steps that one durable mark covers."""


class Measured(Protocol):
    """The noisy releases made before training; all of it may leave."""

    @property
    def anchored(self) -> bool:
        """Whether there are moments to pre-train on."""
        ...

    def tensors(self) -> dict[str, Tensor]:
        """For a checkpoint."""
        ...


CriticNetwork = Critic | ConvCritic
"""The critics that a plan may have."""

Released = TypeVar("Released", bound=Measured)
Made = TypeVar("Made")


class Loop(ABC, Generic[Released, Made]):
    """One job of one plan.

    Args:
        unit_of_record: (records,) the privacy unit of every record; private.
        network: the critic, initialised, or None where the plan has no steps.
        placement: where it runs; a critic without a form for devices runs on the CPU.
    """

    _refinement: Learner
    _measured: Released

    def __init__(
        self,
        unit_of_record: npt.NDArray[np.int64],
        network: CriticNetwork | None,
        plan: Plan,
        streams: KeyedStreams,
        host: TrainingHost,
        placement: Placement = HOST,
    ) -> None:
        self._plan, self._streams, self._host = plan, streams, host
        self._options = plan.idpgan_options
        self._pace = Pace(self._options.critic_steps)
        self._network = network
        self._critic = None if network is None else PrivateCritic(network, plan, streams, placement=placement)
        self._placement = placement if self._critic is None else self._critic.placement
        self._sampler = UnitSampler(
            unit_of_record, sampling_rate=plan.sampling_rate, max_sampled_batch=plan.max_sampled_batch
        )

    @abstractmethod
    def _measure(self) -> Released:
        """Make the plan's releases on all records: one of the two places that read private records."""

    @abstractmethod
    def _private_step(self, step: int) -> None:
        """Draw a Poisson batch and take one private critic step: the other place that reads private records."""

    @abstractmethod
    def _restored(self, tensors: dict[str, Tensor]) -> Released:
        """Read the result of `Measured.tensors`."""

    @abstractmethod
    def _prepare(self) -> Learner:
        """Build the generator from what was released."""

    def _move(self, step: int, *, progress: float) -> None:
        """Take a generator step against the critic, after a private step."""
        assert self._network is not None, "a plan with steps has a critic"
        assert isinstance(self._refinement, Refiner), "a plan with steps has a generator for it"
        self._pace.observe(self._refinement.refine(step, self._network, progress=progress))

    @abstractmethod
    def _made(self, network: nn.Module) -> Made:
        """The released result of the training."""

    def run(self) -> Made:
        """Run the plan from the latest checkpoint, or from the start."""
        state = self._host.load_checkpoint()
        tensors, facts = unpack(state) if state is not None else ({}, {"pretrained": 0, "trained": 0})
        if tensors and facts.get(_DEVICE, "") != self._device_kind:
            raise OtherDevice
        if tensors:
            self._measured = self._restored(inside("measured", tensors))
        else:
            self._host.advance(stage="measure", step=1, total=1)
            self._measured = self._measure()
        self._refinement = self._prepare()
        self._refinement.move(self._placement.main)
        if tensors:
            self._restore(tensors, facts)
        self._pretrain(int(facts["pretrained"]))
        self._train(int(facts["trained"]))
        self._host.advance(stage="export", step=1, total=1)
        return self._made(self._refinement.average.cpu().eval().requires_grad_(requires_grad=False))

    def _pretrain(self, first: int) -> None:
        total = self._options.pretraining_steps if self._measured.anchored else 0
        for step in range(first, total):
            if step == first or step % MARK_INTERVAL == 0:
                self._host.advance(stage="pretrain", step=_next_mark(step, total), total=total)
            self._refinement.pretrain(step)
            self._keep(pretrained=step + 1, trained=0)

    def _train(self, first: int) -> None:
        total = self._plan.steps
        if self._placement.data_parallel and first == 0 and total:
            # The kind of device is stored before the first private step on it: all steps must be taken on the same kind.
            self._save(pretrained=self._options.pretraining_steps, trained=0)
        for step in range(first, total):
            if step == first or step % MARK_INTERVAL == 0:
                self._host.advance(stage="train", step=_next_mark(step, total), total=total)
            self._private_step(step)
            if self._pace.tick():
                self._move(step, progress=step / total)
            self._keep(pretrained=self._options.pretraining_steps, trained=step + 1)

    def _keep(self, *, pretrained: int, trained: int) -> None:
        if self._host.checkpoint_due():
            self._save(pretrained=pretrained, trained=trained)

    def _save(self, *, pretrained: int, trained: int) -> None:
        tensors: dict[str, Tensor] = {
            **under("measured", self._measured.tensors()),
            **under("refinement", self._refinement.tensors()),
            "pace": self._pace.state(),
        }
        if self._critic is not None:
            tensors |= under("critic", self._critic.state_dict())
        facts: dict[str, Any] = {
            "pretrained": pretrained,
            "trained": trained,
            "updates": self._refinement.updates,
        }
        if self._placement.data_parallel:
            facts[_DEVICE] = self._device_kind
        self._host.save_checkpoint(pack(tensors, facts))

    @property
    def _device_kind(self) -> str:
        """Everything that decides how sums round; empty on the CPU."""
        size = 0 if self._critic is None else self._critic.microbatch_size
        # "units" is the word in checkpoints written so far.
        return self._placement.kind + (f", units of {size}" if size else "")

    def _restore(self, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
        self._refinement.restore(inside("refinement", tensors), updates=int(facts["updates"]))
        self._pace.restore(tensors["pace"])
        if self._critic is not None:
            self._critic.load_state_dict(inside("critic", tensors))


def _next_mark(step: int, total: int) -> int:
    return min(total, (step // MARK_INTERVAL + 1) * MARK_INTERVAL)
