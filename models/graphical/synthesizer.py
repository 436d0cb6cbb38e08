"""The synthesizers "aim" and "mst" on one page: measure columns, choose marginals by noisy scores, measure them, fit a model.

McKenna, Miklau and Sheldon 2021 (MST, arXiv 2108.04978) and McKenna, Mullins, Sheldon and Miklau 2022 (AIM, arXiv 2201.12677),
with Gaussian noise on scores instead of the exponential mechanism, and several marginals a round. Rounds and noise are fixed
before a row is read. The estimator is mbi's, on JAX; it sees noisy counts alone.
"""

from typing import overload

import numpy as np
from torch import Tensor

from core.synthesis.errors import InvalidSpec
from core.synthesis.marginals import Clique, GraphicalOptions, MarginalsPlan, marginal_shape
from core.synthesis.plan import Plan
from models.counting.question import Counter
from models.devices.placement import HOST, Placement
from models.encoding import PrivateImages, PrivateTable
from models.graphical.ancestral import AncestralNetwork
from models.graphical.choosing import best_affordable, gains, spanning_forest
from models.graphical.estimate import Combined, Floats, Model, combined, fitted_model, independent_counts
from models.graphical.leaving import noisy_variety, released_counts
from models.graphical.measuring import Marginals, Measuring
from models.idpgan.checkpoint import pack, unpack
from models.randomness import KeyedStreams
from models.synthesizer import TrainedGenerator, TrainedImageGenerator, TrainingHost


class GraphicalSynthesizer:
    """See `models.synthesizer.Synthesizer`.

    Args:
        placement: where a training would run; a graphical model is fitted on the CPU whatever it says.
    """

    def __init__(self, placement: Placement = HOST) -> None:
        del placement

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
        """Run the plan on the records; resumes from the host's checkpoint.

        Raises:
            InvalidSpec: the records are images.
        """
        if isinstance(records, PrivateImages):
            raise InvalidSpec("this synthesizer makes tables only", remedy="choose idpgan for images")
        assert isinstance(records, PrivateTable), "scores are of rows in memory"
        return _Job(records, plan, streams, host).run()


class _Job:
    """One job of one plan.

    Args:
        table: private rows.
        plan: what to do.
        streams: all randomness of the job.
        host: durable progress and checkpoints.
    """

    def __init__(self, table: PrivateTable, plan: Plan, streams: KeyedStreams, host: TrainingHost) -> None:
        assert isinstance(plan.anchor, MarginalsPlan), "a plan of a graphical model"
        assert isinstance(plan.options, GraphicalOptions), "with its options"
        self._plan, self._anchor, self._options, self._host = plan, plan.anchor, plan.options, host
        self._cardinalities, self._target = table.cardinalities, table.target_index
        self._is_tree = plan.synthesizer == "mst"
        self._candidates = marginal_shape(
            "mst" if self._is_tree else "aim", self._cardinalities, self._target
        ).candidates
        state = host.load_checkpoint()
        kept, facts = unpack(state) if state is not None else ({}, {})
        self._chosen: list[list[Clique]] = [
            [tuple(clique) for clique in one] for one in facts.get("chosen", [])
        ]
        self._measuring = Measuring(table, plan.anchor, streams, _addressed(kept))

    def run(self) -> TrainedGenerator:
        """Run the plan. What an earlier attempt released is not released again; fits are repeated, and end the same."""
        measured = [self._measured_columns()]
        model: Model | None = None
        for number in range(self._anchor.rounds):
            if number:
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
        """The marginals of a round: from noisy scores, or as an earlier attempt chose."""
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
                before,
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
        return fitted_model(combined(measured), self._cardinalities, before=before, last=last)

    def _begin(self, release: int) -> None:
        """Mark durably that private rows are about to be touched for a release of the plan, by its place."""
        self._host.advance(stage="measure", step=release + 1, total=len(self._anchor.parts))

    def _keep(self) -> None:
        if self._host.checkpoint_due():
            tensors = {
                f"{purpose}.{number}": kept for (purpose, number), kept in self._measuring.released.items()
            }
            self._host.save_checkpoint(pack(tensors, {"chosen": self._chosen}))

    def _made(self, measured: Combined, model: Model, one_way: Marginals) -> TrainedGenerator:
        laws = model.laws(self._cardinalities, self._target)
        network = AncestralNetwork(laws, self._cardinalities, self._target)
        target = next((one.law[0] for one in laws if one.column == self._target), None)
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
