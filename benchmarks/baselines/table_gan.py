"""The private networks that the paper compares itself with, as configurations of the product's training on tables.

The methods are those of `benchmarks.baselines.private_gan`: a fixed threshold or one from public rows, the product's critic or
one with an auxiliary classifier, which classifies the target.
"""

import torch
from torch import Tensor

from benchmarks.baselines.public_threshold import PUBLIC_STREAM, PublicRows, PublicThreshold
from benchmarks.baselines.table_auxiliary import TableAuxiliaryCritic
from core.plan.plan import Plan
from models.encoding import PrivateTable, cells_of
from models.idpgan.refinement import Refinement
from models.idpgan.training import Training
from models.private_step import PrivateCritic
from models.randomness import KeyedStreams
from models.synthesizer import TrainingHost


class TableGan(Training):
    """One training of a baseline. It is not resumed half-way: nothing but the benchmarks runs it.

    Args:
        table: private, with a target where the critic is to classify it.
        plan: what to do, with steps, without an anchor and without ACTS, of a generator that is a network.
        streams: all randomness of the job.
        host: durable progress.
        auxiliary: whether the critic is a classifier of the target too.
        public: rows that set the threshold, or None for the plan's.
    """

    def __init__(
        self,
        table: PrivateTable,
        plan: Plan,
        streams: KeyedStreams,
        host: TrainingHost,
        *,
        auxiliary: bool = False,
        public: PublicRows | None = None,
    ) -> None:
        options = plan.idpgan_options
        assert plan.steps and not options.anchor, "a baseline has a critic and no anchor"  # noqa: PT018
        assert options.generator == "network", "a mixture asks a critic of another shape"
        assert plan.acts is None, "its threshold is fixed or public"
        super().__init__(table, plan, streams, host)
        if auxiliary:
            assert table.target_index is not None, "a classifier needs a target"
            self._network = TableAuxiliaryCritic(
                cardinalities=table.cardinalities,
                target_index=table.target_index,
                widths=(options.critic_width,) * options.critic_layers,
            ).initialise(streams)
            # In place of the plan's critic. Random numbers are addressed by purpose, so making that one took none.
            self._critic = PrivateCritic(self._network, plan, streams)
        self.thresholds: list[tuple[float, ...]] = []
        self._public = public
        if public is not None:
            assert self._network is not None and self._critic is not None, "a plan with steps has a critic"  # noqa: PT018
            self._threshold = PublicThreshold(
                self._network, self._critic.layout, plan, streams, count=len(public.codes)
            )

    def _private_step(self, step: int) -> None:
        if self._public is not None and step % self._public.interval == 0:
            self._look(step, cells_of(self._public.codes, self._table.cardinalities))
        super()._private_step(step)

    def _look(self, step: int, real: Tensor) -> None:
        """Set the threshold from the public rows: the private ones are not touched here."""
        assert self._critic is not None, "a plan with steps has a critic"
        assert isinstance(self._refinement, Refinement), "a critic is given what a generator draws"
        with torch.no_grad():
            fakes = self._refinement.fakes(PUBLIC_STREAM + step, len(real))
        self.thresholds.append(self._threshold.adopt(self._critic, step, real, fakes))
