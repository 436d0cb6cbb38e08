"""Federated averaging with DP-SGD at every owner (McMahan and others 2017), from the rows of several owners to one network.

A round, with owner k of N_k declared units among N:

    copy      every owner begins with the weights and the optimizer's state of the round before
    steps     E private steps on its own rows: every unit by its own coin of rate q, noise of its own, divided by q N_k
    average   weights and optimizer's state, owner k with the public weight N_k / N

A unit moves the sums of its own owner alone, and each of them by the clipping norm at most: its ledger is charged
Repeated(PoissonSampled(q, Gaussian(sigma)), rounds x E). What other owners do follows from averages, which are post-processing.
Weights of the average, divisors and rates come from declared sizes, because true sizes are private.

Where the owners train in services of their own (`core.plan.several_owners.federation`), every service makes the steps of its own owner, the noisy
states are exchanged through a board, and each service averages them itself, in the same order. What is exchanged has the noise that the
ledger was charged for, so the guarantee holds whatever the board and the other owners answer.

The average of E = 1 is the step on the sum over all owners, under the root of their number times its noise.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import safetensors.torch
import torch
from torch import Tensor

from core.plan.private_models.plan import ModelPlan
from core.plan.several_owners.federation import Federation
from models.checkpoint import inside, pack, under, unpack
from models.classifier.features import Batch, FeatureSource, PrivateRecords, features_of, labels_of
from models.classifier.private_training import (
    MARK_INTERVAL,
    PrivateClassifier,
    TrainedClassifier,
    initial_network,
)
from models.dp.errors import CheckpointLost, StateRefused
from models.dp.flat_adam import SQUARE
from models.dp.poisson import UnitSampler
from models.exchange import StateBoard, public_streams, round_streams, state_of
from models.randomness import KeyedStreams
from models.synthesizer import TrainingHost

_STATE, _OWN = "average", "own"
"""Prefixes of a checkpoint's tensors: the state that a round begins with, and the own state that is handed in at its end."""
_LARGEST = 1e30
"""No training reaches a number as large: its weights, momentum and moments are sums of clipped gradients and their noise."""
State = dict[str, Tensor]


class Averaging(Protocol):
    """Makes one state of the copies that the owners in this service have moved."""

    def average(self, number: int, copies: Sequence[State]) -> State:
        """Return the state with which every owner begins the next round."""
        ...


@dataclass(frozen=True, slots=True)
class AveragedHere:
    """All owners' rows lie in this service.

    Args:
        weights: of the owners' copies.
    """

    weights: Sequence[float]

    def average(self, number: int, copies: Sequence[State]) -> State:  # noqa: ARG002 - the protocol's signature
        """See `Averaging`."""
        return averaged(copies, self.weights)


@dataclass(frozen=True, slots=True)
class AveragedThroughBoard:
    """The other owners' copies come from their services, and are checked: they may be anything."""

    federation: Federation
    board: StateBoard

    def average(self, number: int, copies: Sequence[State]) -> State:
        """See `Averaging`.

        Raises:
            StateRefused: another member's state is not one of this training.
        """
        (own,) = copies
        if not _can_be_trained(own):
            raise StateRefused(
                "The averages of earlier rounds have led to a state that cannot be trained on.",
                remedy="Ask all members what they handed in, and begin a new federation.",
            )
        answers = self.board.exchange(number, packed_state(own))
        states = []
        for place, answer in enumerate(answers):
            with state_of(self.federation, place):
                states.append(own if place == self.federation.place else opened_state(answer, like=own))
        return averaged(states, self.federation.weights)


def packed_state(state: State) -> bytes:
    """Return a state as safetensors: the same bytes for the same numbers."""
    packed: bytes = safetensors.torch.save({name: value.contiguous() for name, value in state.items()})
    return packed


def opened_state(content: bytes, *, like: State) -> State:
    """Read another member's state, which nobody vouches for.

    Args:
        content: as `packed_state` makes it.
        like: the own state of the same round.

    Raises:
        StateRefused: it has other names, shapes or types than the own one, another count of steps, or a number that no training
            reaches: from it the others' next states would not be finite, and they would refuse each other.
    """
    try:
        state: State = safetensors.torch.load(content)
    except Exception:  # noqa: BLE001 - the library raises errors of several kinds for malformed bytes
        raise StateRefused from None
    if state.keys() != like.keys():
        raise StateRefused
    for name, own in like.items():
        value = state[name]
        if (value.shape, value.dtype) != (own.shape, own.dtype):
            raise StateRefused
        if not (value.is_floating_point() or bool((value == own).all())):
            raise StateRefused
    if not _can_be_trained(state):
        raise StateRefused
    return state


def _can_be_trained(state: State) -> bool:
    numbers = [value for value in state.values() if value.is_floating_point()]
    # NaN is not at most anything.
    moderate = all(bool((value.abs() <= _LARGEST).all()) for value in numbers)
    return moderate and (SQUARE not in state or bool((state[SQUARE] >= 0.0).all()))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LocalRows:
    """The rows of one owner, ready for its steps; private.

    Args:
        place: among the owners whose rows lie in this service.
        weight: of its copy in the average, by declared sizes.
        divisor: its public expected batch.
    """

    place: int
    weight: float
    divisor: float
    features: FeatureSource
    labels: Tensor
    sampler: UnitSampler

    @classmethod
    def of(cls, place: int, records: PrivateRecords, declared_size: int, plan: ModelPlan) -> "LocalRows":
        """Make the features of an owner's records."""
        return cls(
            place=place,
            weight=declared_size / plan.declared_size,
            divisor=plan.sampling_rate * declared_size,
            features=features_of(records, plan),
            labels=labels_of(records),
            sampler=UnitSampler(
                records.unit_of_record,
                sampling_rate=plan.sampling_rate,
                max_sampled_batch=plan.max_sampled_batch,
            ),
        )


def train_averaged(
    parts: Sequence[PrivateRecords],
    plan: ModelPlan,
    streams: KeyedStreams,
    host: TrainingHost,
    board: StateBoard | None = None,
    *,
    steps_begun: int = 0,
) -> TrainedClassifier:
    """Run a plan with averaging rounds, from the latest checkpoint if there is one.

    Args:
        parts: the private records of every owner in this service, in the plan's order.
        board: exchanges states with the other members of the plan's federation; None without one.
        steps_begun: highest durable mark of earlier attempts.

    Raises:
        CheckpointLost: an earlier attempt had begun a later round than the newest checkpoint leads to.
        StateRefused: another member's state is not one of this training.
        BatchOverCap: a Poisson batch exceeds the plan's public cap.
        UnevenRounding: this machine rounds a record differently by its place among others.
        InvalidSpec: the plan names a module that is not registered here.
    """
    saved = host.load_checkpoint()
    tensors, facts = unpack(saved) if saved is not None else ({}, {"rounds": 0})
    rounds = _rounds(plan)
    each = plan.steps // rounds
    sizes = [owner.declared_size for owner in plan.owners or ()] or [plan.local_size]
    owners = [
        LocalRows.of(place, records, size, plan)
        for place, (records, size) in enumerate(zip(parts, sizes, strict=True))
    ]
    averaging: Averaging = AveragedHere([rows.weight for rows in owners])
    start = streams
    if plan.federation is not None:
        assert board is not None, "a plan of a federation has a board"
        averaging = AveragedThroughBoard(plan.federation, board)
        start = public_streams(plan.federation)
    network = initial_network(parts[0], plan, owners[0].features, None, start)
    private = PrivateClassifier(plan, network, width=owners[0].features.width)
    state = inside(_STATE, tensors) if tensors else private.state_dict()
    # In a federation a round waits for others: every one has a mark of its own and ends with a checkpoint, without which
    # the board would have to keep the states of all rounds. Its own state is durable before it leaves: another machine
    # might round a sum otherwise, under the same noise, and the later steps of the round would start from other weights.
    alone = board is None
    marked = max(1, MARK_INTERVAL // each) if alone else 1
    first = int(facts["rounds"])
    if not alone and steps_begun > (first + 1) * each:
        raise CheckpointLost
    for number in range(first, rounds):
        if number == first or number % marked == 0:
            mark = min(rounds, (number // marked + 1) * marked)
            host.advance(stage="train", step=mark * each, total=plan.steps)
        handed_in = inside(_OWN, tensors) if number == first else {}
        copies = [handed_in]
        if not handed_in:
            drawn = streams if alone else round_streams(streams, number, packed_state(state))
            copies = [local_steps(private, state, rows, number, plan, drawn) for rows in owners]
            if not alone:
                kept = under(_STATE, state) | under(_OWN, copies[0])
                host.save_checkpoint(pack(kept, {"rounds": number}))
        state = averaging.average(number, copies)
        if host.checkpoint_due() or not alone:
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
        address = step + each * (number * (plan.copies - 1) + rows.place)
        batch = Batch(rows.features, rows.labels, rows.sampler.draw(streams, address))
        private.step(step, batch, streams, address=address, divisor=rows.divisor)
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
