"""The training loop of IDPGAN on one page: measure, pre-train, train, export.

"measure" and "train" touch private rows and are charged; "pretrain" and "export" are post-processing. All
randomness is addressed by (purpose, step), so a training resumed from any checkpoint gives the same bytes.
"""

from typing import Any, Final

from torch import Tensor

from core.synthesis.plan import Plan
from models.critic.network import Critic
from models.dp.poisson import UnitSampler
from models.dp.private_step import PrivateCritic
from models.encoding import PrivateTable, cells_of
from models.idpgan.checkpoint import inside, pack, under, unpack
from models.idpgan.generator import Generator, make_generator
from models.idpgan.measurement import Measurement, make_anchor, measure
from models.idpgan.pace import Pace
from models.idpgan.refinement import Refinement
from models.randomness import KeyedStreams
from models.synthesizer import TrainedGenerator, TrainingHost

MARK_INTERVAL: Final = 25
"""Steps that one durable mark covers."""


class Training:
    """One job of one plan.

    Args:
        table: private rows.
        plan: what to do.
        streams: all randomness of the job.
        host: durable progress and checkpoints.
    """

    def __init__(self, table: PrivateTable, plan: Plan, streams: KeyedStreams, host: TrainingHost) -> None:
        self._table, self._plan, self._streams, self._host = table, plan, streams, host
        self._options = plan.options
        self._pace = Pace(self._options.critic_steps)
        self._critic: PrivateCritic | None = None
        if plan.steps:
            widths = (self._options.critic_width,) * self._options.critic_layers
            network = Critic(inputs=table.cells, widths=widths).initialise(streams)
            self._network = network
            self._critic = PrivateCritic(network, plan, streams)
        self._sampler = UnitSampler(
            table.unit_of_record, sampling_rate=plan.sampling_rate, max_sampled_batch=plan.max_sampled_batch
        )

    def run(self) -> TrainedGenerator:
        """Run the plan from the latest checkpoint, or from the start."""
        state = self._host.load_checkpoint()
        tensors, facts = unpack(state) if state is not None else ({}, {"pretrained": 0, "trained": 0})
        if tensors:
            self._measured = Measurement.restore(inside("measured", tensors))
        else:
            self._host.advance(stage="measure", step=1, total=1)
            self._measured = measure(self._table, self._plan, self._streams)
        self._prepare()
        if tensors:
            self._restore(tensors, facts)
        self._pretrain(int(facts["pretrained"]))
        self._train(int(facts["trained"]))
        self._host.advance(stage="export", step=1, total=1)
        return TrainedGenerator(
            network=self._refinement.average.eval().requires_grad_(requires_grad=False),
            latent_dimension=self._options.latent_dimension,
            label_index=self._table.target_index,
            label_probabilities=self._law,
            cardinalities=self._table.cardinalities,
        )

    def _prepare(self) -> None:
        generator: Generator = make_generator(self._table, self._options)
        anchor = None
        if self._measured.moments is not None:
            anchor = make_anchor(self._measured.moments, self._table, self._plan)
        generator.initialise(self._streams, shares=None if anchor is None else anchor.shares)
        self._law = self._measured.law if anchor is None else anchor.law
        self._refinement = Refinement(
            generator=generator,
            options=self._options,
            streams=self._streams,
            cardinalities=self._table.cardinalities,
            law=self._law,
            moment_loss=None if anchor is None else anchor.loss,
        )

    def _pretrain(self, first: int) -> None:
        total = self._options.pretraining_steps if self._measured.moments is not None else 0
        for step in range(first, total):
            if step == first or step % MARK_INTERVAL == 0:
                self._host.advance(stage="pretrain", step=_next_mark(step, total), total=total)
            self._refinement.pretrain(step)
            self._keep(pretrained=step + 1, trained=0)

    def _train(self, first: int) -> None:
        total = self._plan.steps
        for step in range(first, total):
            if step == first or step % MARK_INTERVAL == 0:
                self._host.advance(stage="train", step=_next_mark(step, total), total=total)
            self._private_step(step)
            if self._pace.tick():
                self._pace.observe(self._refinement.refine(step, self._network, progress=step / total))
            self._keep(pretrained=self._options.pretraining_steps, trained=step + 1)

    def _private_step(self, step: int) -> None:
        """The only lines of training that see private rows: a Poisson batch for one private critic step."""
        assert self._critic is not None, "a plan with steps has a critic"
        chosen = self._sampler.draw(self._streams, step)
        real = cells_of(self._table.codes[chosen], self._table.cardinalities)
        self._critic.step(step, real, self._refinement.fakes(step, len(real)))

    def _keep(self, *, pretrained: int, trained: int) -> None:
        if not self._host.checkpoint_due():
            return
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
        self._host.save_checkpoint(pack(tensors, facts))

    def _restore(self, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
        self._refinement.restore(inside("refinement", tensors), updates=int(facts["updates"]))
        self._pace.restore(tensors["pace"])
        if self._critic is not None:
            self._critic.load_state_dict(inside("critic", tensors))


def _next_mark(step: int, total: int) -> int:
    return min(total, (step // MARK_INTERVAL + 1) * MARK_INTERVAL)
