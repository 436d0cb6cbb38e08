"""Federated averaging with DP-SGD at every owner (McMahan and others 2017), from the rows of several owners to one network.

A round, with owner k of N_k declared units among N:

    copy      every owner begins with the weights and the optimizer's state of the round before
    steps     E private steps on its own rows: every unit by its own coin of rate q, noise of its own, divided by q N_k
    average   weights and optimizer's state, owner k with the public weight N_k / N

A unit moves the sums of its own owner alone, and each of them by the clipping norm at most: its ledger is charged
Repeated(PoissonSampled(q, Gaussian(sigma)), rounds x E). What other owners do follows from averages, which are post-processing.
Weights of the average, divisors and rates come from declared sizes, because true sizes are private.

The average of E = 1 is the step on the sum over all owners, under the root of their number times its noise.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor

from core.plan.model_plan import ModelPlan
from core.plan.owners import DataOwner
from models.classifier.features import Batch, FeatureSource, PrivateRecords, features_of, labels_of
from models.classifier.private_training import (
    MARK_INTERVAL,
    PrivateClassifier,
    TrainedClassifier,
    initial_network,
)
from models.dp.poisson import UnitSampler
from models.idpgan.checkpoint import inside, pack, under, unpack
from models.randomness import KeyedStreams
from models.synthesizer import TrainingHost

_STATE: Final = "average"
State = dict[str, Tensor]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LocalRows:
    """The rows of one owner, ready for its steps; private.

    Args:
        place: of the owner in the plan.
        weight: of its copy in the average, by declared sizes.
        divisor: its public expected batch.
        sampler: of its units.
    """

    place: int
    weight: float
    divisor: float
    features: FeatureSource
    labels: Tensor
    sampler: UnitSampler

    @classmethod
    def of(cls, place: int, records: PrivateRecords, owner: DataOwner, plan: ModelPlan) -> "LocalRows":
        """Make the features of an owner's records."""
        return cls(
            place=place,
            weight=owner.declared_size / plan.declared_size,
            divisor=plan.sampling_rate * owner.declared_size,
            features=features_of(records, plan),
            labels=labels_of(records),
            sampler=UnitSampler(
                records.unit_of_record,
                sampling_rate=plan.sampling_rate,
                max_sampled_batch=plan.max_sampled_batch,
            ),
        )


def train_averaged(
    parts: Sequence[PrivateRecords], plan: ModelPlan, streams: KeyedStreams, host: TrainingHost
) -> TrainedClassifier:
    """Run a plan with averaging rounds, from the latest checkpoint if there is one.

    Args:
        parts: the private records of every owner, in the plan's order.
        plan: what every ledger was charged.
        streams: all randomness.
        host: durable progress and checkpoints.

    Raises:
        BatchOverCap: a Poisson batch exceeds the plan's public cap.
        UnevenRounding: this machine rounds a record differently by its place among others.
        InvalidSpec: the plan names a module that is not registered here.
    """
    saved = host.load_checkpoint()
    tensors, facts = unpack(saved) if saved is not None else ({}, {"rounds": 0})
    rounds = _rounds(plan)
    each = plan.steps // rounds
    owners = [
        LocalRows.of(place, records, owner, plan)
        for place, (records, owner) in enumerate(zip(parts, plan.owners or (), strict=True))
    ]
    network = initial_network(parts[0], plan, owners[0].features, None, streams)
    private = PrivateClassifier(plan, network, width=owners[0].features.width, streams=streams)
    state = inside(_STATE, tensors) if tensors else private.state_dict()
    marked = max(1, MARK_INTERVAL // each)
    first = int(facts["rounds"])
    for number in range(first, rounds):
        if number == first or number % marked == 0:
            mark = min(rounds, (number // marked + 1) * marked)
            host.advance(stage="train", step=mark * each, total=plan.steps)
        copies = [local_steps(private, state, rows, number, plan, streams) for rows in owners]
        state = averaged(copies, [rows.weight for rows in owners])
        if host.checkpoint_due():
            host.save_checkpoint(pack(under(_STATE, state), {"rounds": number + 1}))
    private.load_state_dict(state)
    host.advance(stage="export", step=1, total=1)
    return TrainedClassifier(network=private.finished(), wrong=None)


def local_steps(
    private: PrivateClassifier,
    state: State,
    rows: LocalRows,
    number: int,
    plan: ModelPlan,
    streams: KeyedStreams,
) -> State:
    """Return the state after one owner's steps of a round, from the average of the round before.

    Args:
        number: of the round, from 0.
    """
    each = plan.steps // _rounds(plan)
    private.load_state_dict(state)
    for step in range(number * each, (number + 1) * each):
        # Every step of every owner has coins and noise of its own.
        address = step + each * (number * (len(plan.owners or ()) - 1) + rows.place)
        batch = Batch(rows.features, rows.labels, rows.sampler.draw(streams, address))
        private.step(step, batch, address=address, divisor=rows.divisor)
    return private.state_dict()


def averaged(copies: Sequence[State], weights: Sequence[float]) -> State:
    """Return the weighted sum of every number of the owners' states; counts of steps, equal in all, stay."""
    return {
        name: torch.stack([w * copy[name].double() for copy, w in zip(copies, weights, strict=True)])
        .sum(dim=0)
        .to(value.dtype)
        if value.is_floating_point()
        else value
        for name, value in copies[0].items()
    }


def _rounds(plan: ModelPlan) -> int:
    assert plan.options.averaging_rounds is not None, "a plan with averaging_rounds"
    return plan.options.averaging_rounds
