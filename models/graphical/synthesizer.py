"""The synthesizers "aim" and "mst": measure columns, choose marginals by noisy scores, measure them, fit a graphical model.

McKenna, Miklau and Sheldon 2021 (MST, arXiv 2108.04978) and McKenna, Mullins, Sheldon and Miklau 2022 (AIM, arXiv 2201.12677),
with Gaussian noise on scores instead of the exponential mechanism, and several marginals a round. Rounds and noise are fixed
before a row is read. The estimator is mbi's, on JAX; it sees noisy counts alone.
"""

import numpy as np
from torch import Tensor

from core.artifacts.counts import CountTable, ReleasedCounts, in_steps, step_for
from core.plan.errors import InvalidSpec
from core.plan.graphical import Clique, GraphicalOptions, MarginalsPlan, marginal_shape
from core.plan.plan import Plan
from models.checkpoint import pack, unpack
from models.counting.question import Counter
from models.devices.placement import HOST, Placement
from models.encoding import PrivateImages, PrivateTable
from models.graphical.ancestral import AncestralNetwork
from models.graphical.choosing import affordable_pairs, best_affordable, gains, spanning_forest
from models.graphical.estimate import (
    Combined,
    Flags,
    Floats,
    Model,
    combined,
    fitted_model,
    independent_counts,
)
from models.graphical.measuring import Marginals, Measuring
from models.idpgan.variety import DRAWS, OPEN, SURE
from models.randomness import KeyedStreams
from models.synthesizer import (
    NoisyVariety,
    Synthesizer,
    TrainedGenerator,
    TrainedImageGenerator,
    TrainingHost,
)


class GraphicalSynthesizer(Synthesizer):
    """Private graphical models of tables.

    Args:
        placement: ignored; a graphical model is always fitted on the CPU.
    """

    def __init__(self, placement: Placement = HOST) -> None:
        del placement

    def _fit_table(
        self, records: PrivateTable | Counter, plan: Plan, streams: KeyedStreams, host: TrainingHost
    ) -> TrainedGenerator:
        assert isinstance(records, PrivateTable), "scores need the rows in memory"
        return _Job(records, plan, streams, host).run()

    def _fit_images(
        self, records: PrivateImages, plan: Plan, streams: KeyedStreams, host: TrainingHost
    ) -> TrainedImageGenerator:
        del records, plan, streams, host
        raise InvalidSpec("this synthesizer makes tables only", remedy="choose idpgan for images")


class _Job:
    """One job of one plan."""

    def __init__(self, table: PrivateTable, plan: Plan, streams: KeyedStreams, host: TrainingHost) -> None:
        assert isinstance(plan.anchor, MarginalsPlan), "a plan of a graphical model"
        assert isinstance(plan.options, GraphicalOptions), "with its options"
        self._plan, self._anchor, self._options, self._host = plan, plan.anchor, plan.options, host
        self._cardinalities, self._target = table.cardinalities, table.target_index
        self._is_tree = plan.synthesizer == "mst"
        self._candidates = marginal_shape(
            "mst" if self._is_tree else "aim", self._cardinalities, self._target
        ).candidates
        self._forbidden: dict[Clique, Flags] = dict(table.forbidden().items())
        state = host.load_checkpoint()
        kept, facts = unpack(state) if state is not None else ({}, {})
        self._chosen: list[list[Clique]] = [
            [tuple(clique) for clique in one] for one in facts.get("chosen", [])
        ]
        self._measuring = Measuring(table, plan.anchor, streams, _addressed(kept))

    def run(self) -> TrainedGenerator:
        """Run the plan. Releases of an earlier attempt are not made again; fits are repeated with the same result."""
        measured = [self._measured_columns()]
        model: Model | None = None
        for number in range(self._anchor.rounds):
            if number or self._forbidden:
                model = self._fitted(measured, model)
            chosen = self._choice(number, self._expected(combined(measured), model))
            self._begin(2 + 2 * number)
            measured.append(self._measuring.marginals(number, chosen))
            self._keep()
        model = self._fitted(measured, model, last=True)
        self._host.advance(stage="export", step=1, total=1)
        return self._made(combined(measured), model, measured[0])

    def _measured_columns(self) -> Marginals:
        self._begin(0)
        one_way = self._measuring.one_way()
        self._keep()
        return one_way

    def _choice(self, number: int, expected: dict[Clique, Floats]) -> list[Clique]:
        """The marginals of a round, from noisy scores or from an earlier attempt's checkpoint."""
        if number < len(self._chosen):
            return self._chosen[number]
        self._begin(1 + 2 * number)
        scores = self._measuring.scores(number, expected)
        std = self._anchor.marginals_noise_multiplier * self._anchor.marginals_sensitivity
        gained = gains(scores, self._candidates, self._cardinalities, noise_std=std)
        if self._is_tree:
            chosen = spanning_forest(gained)
        else:
            before = [clique for one in self._chosen for clique in one]
            chosen = best_affordable(
                gained,
                [*before, *self._kept_rules(before)],
                self._cardinalities,
                most=self._anchor.marginals_per_round,
                largest_model=self._options.largest_model,
            )
        self._chosen.append(chosen)
        self._keep()
        return chosen

    def _expected(self, measured: Combined, model: Model | None) -> dict[Clique, Floats]:
        if model is None:
            return independent_counts(measured, self._candidates)
        return model.counts(self._candidates)

    def _fitted(self, measured: list[Marginals], before: Model | None, *, last: bool = False) -> Model:
        tables = combined(measured)
        return fitted_model(
            tables,
            self._cardinalities,
            forbidden={pair: self._forbidden[pair] for pair in self._kept_rules(list(tables.tables))},
            before=before,
            last=last,
        )

    def _kept_rules(self, measured: list[Clique]) -> list[Clique]:
        """The pairs whose structural zeros the model keeps."""
        return affordable_pairs(
            self._forbidden, measured, self._cardinalities, largest_model=self._options.largest_model
        )

    def _begin(self, release: int) -> None:
        """Mark durably that private rows are about to be read for the plan's release of this index."""
        self._host.advance(stage="measure", step=release + 1, total=len(self._anchor.parts))

    def _keep(self) -> None:
        if self._host.checkpoint_due():
            tensors = {
                f"{purpose}.{number}": kept for (purpose, number), kept in self._measuring.released.items()
            }
            self._host.save_checkpoint(pack(tensors, {"chosen": self._chosen}))

    def _made(self, measured: Combined, model: Model, one_way: Marginals) -> TrainedGenerator:
        distributions = model.distributions(self._cardinalities, self._target)
        network = AncestralNetwork(distributions, self._cardinalities, self._target)
        target = next((one.distribution[0] for one in distributions if one.column == self._target), None)
        return TrainedGenerator(
            network=network.eval(),
            latent_dimension=network.latent_dimension,
            label_index=self._target,
            label_probabilities=None if target is None else np.asarray(target, dtype=np.float64),
            cardinalities=self._cardinalities,
            variety=noisy_variety(one_way, self._cardinalities),
            counts=released_counts(measured, self._cardinalities, declared_size=self._plan.declared_size),
        )


def _addressed(kept: dict[str, Tensor]) -> dict[tuple[int, int], Tensor]:
    """Releases by purpose and round, from their names in a checkpoint."""
    addressed = {}
    for name, tensor in kept.items():
        purpose, number = name.split(".")
        addressed[int(purpose), int(number)] = tensor
    return addressed


def released_counts(
    measured: Combined, cardinalities: tuple[int, ...], *, declared_size: int
) -> ReleasedCounts:
    """All measurements, one entry a marginal, as tables of counts, unbiased."""
    tables = sorted(measured.tables.items(), key=lambda entry: (entry[1][1], len(entry[0]), entry[0]))
    step = step_for(smallest_std=min(std for _, (_, std) in tables), declared_size=declared_size)
    return ReleasedCounts(
        cardinalities=cardinalities,
        step=step,
        tables=tuple(
            CountTable(columns=columns, noise_std=std, cells=in_steps(counts, step))
            for columns, (counts, std) in tables
        ),
        groups=tuple(np.arange(codes) for codes in cardinalities),
    )


def noisy_variety(one_way: Marginals, cardinalities: tuple[int, ...]) -> NoisyVariety:
    """The variety that the one-way counts are sure of."""
    columns = len(cardinalities)
    spread, is_open, different = np.zeros(columns), np.zeros(columns, dtype=np.bool_), np.zeros(columns)
    for (column,), counts in one_way.tables.items():
        total = max(float(counts.sum()), 1.0)
        std = one_way.noise_std / total
        shares = counts / total
        spread[column] = max(0.0, 1.0 - float(shares.max()) - SURE * std)
        is_open[column] = std >= OPEN
        sure = np.where(shares > SURE * std, shares, 0.0)
        different[column] = -np.expm1(-DRAWS * sure).sum()
    return NoisyVariety(
        spread=spread, is_open=is_open, spread_within=None, combinations=float(different.max())
    )
