"""IDPGAN on tables: the parts of the training loop (`models.idpgan.loop`) that depend on the kind of records."""

from collections.abc import Sequence

import numpy as np
from torch import Tensor, nn

from core.artifacts.counts import ReleasedCounts
from core.plan.plan import Plan
from core.plan.several_owners.member_plan import MemberPlan
from models.counting.question import Counter
from models.critic.network import Critic
from models.devices.placement import HOST, Placement
from models.encoding import PrivateTable, cells_of
from models.exchange import CountExchange, public_streams
from models.idpgan.generator import make_generator
from models.idpgan.loop import Loop
from models.idpgan.mixture import Mixture, MixtureFit, components_wanted
from models.idpgan.mixture_refinement import MixtureRefinement
from models.idpgan.prepared_counts import Anchor, make_anchor
from models.idpgan.refinement import Refinement
from models.randomness import KeyedStreams
from models.synthesizer import TrainedGenerator, TrainingHost
from models.tables.measurement.counts import released_counts
from models.tables.measurement.measure import Measurement, measure


class Training(Loop[Measurement, TrainedGenerator]):
    """One job of one plan.

    Args:
        table: private rows; a counter of them is enough where the plan has no critic.
    """

    _refinement: Refinement | MixtureFit

    def __init__(
        self,
        table: PrivateTable | Counter,
        plan: Plan,
        streams: KeyedStreams,
        host: TrainingHost,
        *,
        placement: Placement = HOST,
        earlier: Sequence[ReleasedCounts] = (),
        exchange: CountExchange | None = None,
    ) -> None:
        network: Critic | None = None
        units = np.zeros(0, np.int64)
        if plan.steps:
            assert isinstance(table, PrivateTable), "a critic reads rows"
            units = table.unit_of_record
            widths = (plan.idpgan_options.critic_width,) * plan.idpgan_options.critic_layers
            network = Critic(inputs=table.cells, widths=widths).initialise(streams)
        super().__init__(units, network, plan, streams, host, placement)
        self._table, self._earlier, self._exchange = table, earlier, exchange

    def _measure(self) -> Measurement:
        return measure(self._table, self._plan, self._streams, earlier=self._earlier, exchange=self._exchange)

    def _restored(self, tensors: dict[str, Tensor]) -> Measurement:
        return Measurement.restore(tensors, self._table)

    def _prepare(self) -> Refinement | MixtureFit:
        anchor = None
        if self._measured.counted is not None:
            anchor = make_anchor(self._measured.counted, self._table, self._plan)
        self._distribution = self._measured.distribution if anchor is None else anchor.distribution
        self._variety = None if anchor is None else anchor.variety
        # The members of a federation make one generator of one set of sums.
        plan, streams = self._plan, self._streams
        drawn = public_streams(plan.federation) if isinstance(plan, MemberPlan) else streams
        if self._options.generator == "mixture":
            return self._mixture(anchor, drawn)
        generator = make_generator(self._table, self._options, None if anchor is None else anchor.groups)
        generator.initialise(drawn, columns=None if anchor is None else anchor.targets.columns)
        return Refinement(
            generator=generator,
            options=self._options,
            streams=drawn,
            cardinalities=self._table.cardinalities,
            distribution=self._distribution,
            anchor=anchor,
        )

    def _mixture(self, anchor: Anchor | None, drawn: KeyedStreams) -> MixtureFit | MixtureRefinement:
        """Return a mixture that is fitted to the counts, and trained against the critic where there is one."""
        table = self._table
        groups = [np.arange(codes) for codes in table.cardinalities] if anchor is None else anchor.groups
        mixture = Mixture(
            groups=groups,
            target_index=table.target_index,
            components=components_wanted(
                groups,
                declared_size=self._plan.declared_size,
                combinations=anchor is not None and anchor.layout.combinations,
            ),
        )
        if anchor is None:
            columns = [np.full(codes, 1.0 / codes) for codes in table.cardinalities]
            if self._distribution is not None and table.target_index is not None:
                columns[table.target_index] = self._distribution
            mixture.initialise(drawn, columns)
        elif anchor.targets.combinations is None:
            mixture.initialise(drawn, anchor.targets.columns)
        else:
            mixture.represent(anchor.targets.combinations)
        if self._plan.steps:
            return MixtureRefinement(
                mixture=mixture,
                options=self._options,
                streams=drawn,
                cardinalities=table.cardinalities,
                target_index=table.target_index,
                distribution=self._distribution,
                anchor=anchor,
            )
        assert anchor is not None, "without a critic a mixture is fitted to counts"
        return MixtureFit(mixture=mixture, options=self._options, anchor=anchor)

    def _private_step(self, step: int) -> None:
        assert self._critic is not None, "a plan with steps has a critic"
        assert isinstance(self._refinement, Refinement), "a critic is given what a generator draws"
        assert isinstance(self._table, PrivateTable), "a critic reads rows"
        chosen = self._sampler.draw(self._streams, step)
        real = cells_of(self._table.codes[chosen], self._table.cardinalities)
        self._critic.step(step, real, self._refinement.fakes(step, len(real)))

    def _made(self, network: nn.Module) -> TrainedGenerator:
        return TrainedGenerator(
            network=network,
            latent_dimension=self._refinement.latent_dimension,
            label_index=self._table.target_index,
            label_probabilities=self._distribution,
            cardinalities=self._table.cardinalities,
            variety=self._variety,
            counts=released_counts(self._measured, self._table, self._plan),
        )
