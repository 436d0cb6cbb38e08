"""A federation: members agree through a board that may lie, and the guarantee of each holds whatever it is handed."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
import safetensors.torch
import torch

from core.artifacts.errors import ExecutionDiffers
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.plan.errors import InvalidPlan, InvalidSpec
from core.plan.private_models.plan import ModelPlan
from core.plan.private_models.planning import ModelSpec, largest_state, make_model_plan
from core.plan.several_owners.federation import Federation, FederationMember, shared_digest
from models.classifier.averaging import (
    AveragedThroughBoard,
    opened_state,
    packed_state,
    train_averaged,
)
from models.classifier.dense_form import DenseForm
from models.classifier.features import Batch, features_of, labels_of
from models.classifier.private_training import PrivateClassifier, TrainedClassifier, initial_network
from models.classifier.recorder import ModelRecorder
from models.dp.errors import CheckpointLost, StateRefused
from models.randomness import KeyedStreams, Purpose
from models.releases import ReleaseRecorder
from models.synthesizer import NullHost, TrainingHost
from tests.models.boards import Lie, MemberBoard, MemoryBoard
from tests.models.classifier.small import IMAGES, TABLE, bits, table, without_last
from tests.models.idpgan.jobs import Killed, StubbornHost
from tests.privacy.seam import Recorder, Replayer

MEMBERS = (
    FederationMember(name="north", declared_size=160),
    FederationMember(name="south", declared_size=110),
)
SIZES = {"north": 150, "south": 100}
KEYS = {"north": bytes(range(32)), "south": bytes(range(32, 64))}


def plan_for(name: str, **options: Any) -> ModelPlan:
    return make_model_plan(
        model=ModelSpec(options={"steps": 6, "averaging_rounds": 3} | options),
        guarantee=PrivacyGuarantee(epsilon=8.0, delta=1e-4),
        declared_size=270,
        domain=TABLE,
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
        federation=Federation(federation_id=str(UUID(int=7)), member=name, members=MEMBERS),
    )


def trained(
    name: str,
    board: MemoryBoard,
    *,
    host: TrainingHost | None = None,
    releases: ReleaseRecorder | None = None,
    lie: Lie = lambda _, state: state,
    last: bool = True,
    steps_begun: int = 0,
    **options: Any,
) -> TrainedClassifier:
    records = table(SIZES[name], seed=len(name))
    return train_averaged(
        [records if last else without_last(records)],
        plan_for(name, **options),
        KeyedStreams(KEYS[name], releases=releases),
        host or NullHost(),
        MemberBoard(board, [one.name for one in MEMBERS].index(name), lie),
        steps_begun=steps_begun,
    )


def both(board: MemoryBoard, **options: Any) -> list[TrainedClassifier]:
    with ThreadPoolExecutor(2) as threads:
        return list(threads.map(lambda name: trained(name, board, **options), SIZES))


def test_all_members_hold_one_network_and_record_their_own_sums_alone() -> None:
    board = MemoryBoard(len(MEMBERS))
    recorder = ModelRecorder(plan_for("north"))
    with ThreadPoolExecutor(2) as threads:
        north = threads.submit(trained, "north", board, releases=recorder)
        south = threads.submit(trained, "south", board)
    assert bits(north.result().network) == bits(south.result().network)
    assert recorder.executed().to_json()["gradients"] == [[0, 1, 6]], "one owner's steps"
    assert len(board.states) == 6
    limit = largest_state(plan_for("north"), TABLE)
    assert all(len(state) <= limit for state in board.states.values())
    assert bits(north.result().network) != bits(both(MemoryBoard(len(MEMBERS)), learning_rate=3.0)[0].network)


@pytest.mark.parametrize("options", [{}, {"network": "mlp", "hidden": 4}])
def test_a_killed_member_hands_in_the_same_bytes_again(options: dict[str, Any]) -> None:
    board, host = MemoryBoard(len(MEMBERS)), StubbornHost(kill_at=1)
    with ThreadPoolExecutor(2) as threads:
        south = threads.submit(trained, "south", board, **options)
        with pytest.raises(Killed):
            trained("north", board, host=host, **options)
        # The board refuses other bytes for a round that was handed in.
        first_attempt = dict(board.states)
        resumed = trained("north", board, host=StubbornHost(host.state), steps_begun=4, **options)
    assert bits(resumed.network) == bits(south.result().network)
    assert first_attempt.items() <= board.states.items()
    whole = both(MemoryBoard(len(MEMBERS)), **options)
    assert bits(whole[0].network) == bits(resumed.network)


def test_a_member_resumed_on_another_machine_hands_in_what_it_had_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Another machine may round a sum otherwise, and every later step of the round would start from other weights under the same noise."""
    board, host = MemoryBoard(len(MEMBERS)), StubbornHost()

    class Cut(MemberBoard):
        def exchange(self, number: int, state: bytes) -> Sequence[bytes]:
            board.put(0, number, state)
            raise Killed

    with pytest.raises(Killed):
        train_averaged(
            [table(SIZES["north"], seed=len("north"))],
            plan_for("north"),
            KeyedStreams(KEYS["north"]),
            host,
            Cut(board, 0),
        )
    summed = DenseForm.clipped_sum
    monkeypatch.setattr(DenseForm, "clipped_sum", lambda form, batch: summed(form, batch) + 1e-3)
    recorder = Recorder()
    with ThreadPoolExecutor(2) as threads:
        threads.submit(trained, "south", board)
        # The board refuses other bytes for a round that was handed in.
        trained("north", board, host=StubbornHost(host.state), releases=recorder, steps_begun=2)
    assert len(recorder.heard) == 4, "the steps of the first round are not made again"


def test_a_training_whose_last_round_is_lost_is_not_begun_again() -> None:
    with pytest.raises(CheckpointLost):
        trained("north", MemoryBoard(len(MEMBERS)), steps_begun=4)


def test_a_unit_moves_the_own_sums_alone_and_by_at_most_the_norm() -> None:
    board, recorder = MemoryBoard(len(MEMBERS)), Recorder()
    with ThreadPoolExecutor(2) as threads:
        threads.submit(trained, "south", board)
        before = trained("north", board, releases=recorder)
    replayer = Replayer(recorder)
    after = trained("north", board, releases=replayer, last=False)
    assert bits(after.network) == bits(before.network)
    # What left the service is a function of the noisy sums: the board accepted the neighbour's states as the same bytes.
    assert set(replayer.distances) == {(int(Purpose.GRADIENT_NOISE), step) for step in range(6)}
    assert 0 < max(replayer.distances.values()) <= 1 / plan_for("north").noise_multiplier * (1 + 1e-12)


def test_what_leaves_depends_on_the_members_own_key(monkeypatch: pytest.MonkeyPatch) -> None:
    once, again = MemoryBoard(len(MEMBERS)), MemoryBoard(len(MEMBERS))
    both(once)
    monkeypatch.setitem(KEYS, "north", bytes(32))
    both(again)
    assert once.states[0, 0] != again.states[0, 0], "other coins and noise"
    assert once.states[0, 1] == again.states[0, 1], "the first round begins with public weights"


@pytest.mark.parametrize("size", [1e30, 1e150, 1e300])
def test_a_record_moves_a_sum_by_at_most_the_norm_from_enormous_weights(size: float) -> None:
    plan = plan_for("north", network="mlp", hidden=4)
    records = table(40)
    features, labels, streams = features_of(records, plan), labels_of(records), KeyedStreams(KEYS["north"])
    network = initial_network(records, plan, features, None, streams)
    private = PrivateClassifier(plan, network, width=features.width)
    state = private.state_dict()
    signs = torch.where(torch.arange(state["parameters"].numel()) % 3 == 0, -1.0, 1.0)
    private.load_state_dict(state | {"parameters": size * signs.to(state["parameters"].dtype)})
    everyone = list(range(40))

    def total(chosen: list[int]) -> torch.Tensor:
        return private.form.clipped_sum(
            Batch(features, labels, torch.tensor(chosen, dtype=torch.int64).numpy())
        ).clone()

    whole = total(everyone)
    assert bool(whole.isfinite().all())
    for left_out in range(0, 40, 7):
        moved = whole - total([one for one in everyone if one != left_out])
        assert float(moved.norm()) <= plan.options.clipping_norm * (1 + 1e-9)


def _without(number: int, content: bytes) -> bytes:
    state = safetensors.torch.load(content)
    del state["averaged"]
    return safetensors.torch.save(state)


def _with(change: Callable[[dict[str, torch.Tensor]], None]) -> Lie:
    def lie(_: int, content: bytes) -> bytes:
        state = safetensors.torch.load(content)
        change(state)
        return safetensors.torch.save(state)

    return lie


LIES: dict[str, Lie] = {
    "no safetensors": lambda _, content: content[:40],
    "empty": lambda *_: b"",
    "a member missing": _without,
    "infinite": _with(lambda state: state["parameters"].fill_(float("inf")).shape),
    "not a number": _with(lambda state: state["momentum.velocity"].fill_(float("nan")).shape),
    "larger than any": _with(lambda state: state["momentum.velocity"].fill_(1.7e308).shape),
    "another shape": _with(lambda state: state.update(parameters=state["parameters"][:-1].clone())),
    "another type": _with(lambda state: state.update(parameters=state["parameters"].float())),
    "one more": _with(lambda state: state.update(more=torch.zeros(1))),
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
def test_what_is_no_state_of_the_training_is_refused(lie: Lie) -> None:
    own = {
        "parameters": torch.zeros(3, dtype=torch.float64),
        "averaged": torch.zeros(3, dtype=torch.float64),
        "momentum.velocity": torch.zeros(3, dtype=torch.float64),
    }
    assert opened_state(packed_state(own), like=own).keys() == own.keys()
    with pytest.raises(StateRefused):
        opened_state(lie(0, packed_state(own)), like=own)
    counted = own | {"adam.steps": torch.tensor(4)}
    with pytest.raises(StateRefused):
        opened_state(packed_state(counted | {"adam.steps": torch.tensor(5)}), like=counted)
    of_adam = own | {"adam.square": torch.zeros(3, dtype=torch.float64)}
    assert opened_state(packed_state(of_adam), like=of_adam).keys() == of_adam.keys()
    with pytest.raises(StateRefused):
        opened_state(packed_state(of_adam | {"adam.square": torch.full((3,), -1.0).double()}), like=of_adam)


def test_who_was_led_to_a_state_that_cannot_be_trained_accuses_nobody_and_hands_in_nothing() -> None:
    board = MemoryBoard(len(MEMBERS))
    own = {"parameters": torch.full((3,), 1e31, dtype=torch.float64)}
    averaging = AveragedThroughBoard(plan_for("north").federation, board)
    with pytest.raises(StateRefused, match="averages of earlier rounds") as refused:
        averaging.average(1, [own])
    assert refused.value.facts == {}
    assert board.states == {}


def test_the_member_whose_state_is_refused_is_named() -> None:
    board = MemoryBoard(len(MEMBERS))
    both(board)
    with pytest.raises(StateRefused) as refused:
        trained("north", board, lie=lambda _, state: state[:40])
    assert refused.value.facts == {"member": "south"}


def test_no_noise_is_drawn_twice_from_different_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    board = MemoryBoard(len(MEMBERS))
    both(board)

    def noise_of_north(lie: Lie) -> dict[int, bytes]:
        fresh, drawn = MemoryBoard(len(MEMBERS)), {}
        fresh.states = {key: state for key, state in board.states.items() if key[1] == 1}
        reader = KeyedStreams.reader

        def noted(streams: KeyedStreams, purpose: Purpose, step: int) -> Any:
            if purpose is Purpose.GRADIENT_NOISE:
                drawn[step] = streams.bytes(purpose, step, 64)
            return reader(streams, purpose, step)

        with monkeypatch.context() as patch:
            patch.setattr(KeyedStreams, "reader", noted)
            trained("north", fresh, lie=lie)
        return drawn

    def doubled(number: int, state: bytes) -> bytes:
        values = safetensors.torch.load(state)
        return packed_state(
            {
                name: 2 * value if number == 0 and value.is_floating_point() else value
                for name, value in values.items()
            }
        )

    honest, lied = noise_of_north(lambda _, state: state), noise_of_north(doubled)
    assert [honest[step] == lied[step] for step in range(6)] == [True, True, False, False, False, False]


def test_the_plans_of_all_members_differ_in_their_name_alone() -> None:
    north, south = plan_for("north"), plan_for("south")
    assert north.digest() != south.digest()
    assert shared_digest(north.to_json()) == shared_digest(south.to_json())
    assert north.mechanism == south.mechanism == make_alone(270).mechanism
    assert (north.declared_size, north.local_size, south.local_size) == (270, 160, 110)
    assert (north.noisy_sums, ModelPlan.from_json(north.to_json())) == (6, north)
    with pytest.raises(InvalidPlan):
        replace(north, declared_size=271)
    with pytest.raises(InvalidPlan):
        replace(make_alone(270), federation=north.federation)
    for members in (MEMBERS[:1], (MEMBERS[0], MEMBERS[0])):
        with pytest.raises(InvalidPlan):
            Federation(federation_id=str(UUID(int=7)), member="north", members=members)
    with pytest.raises(InvalidPlan):
        Federation(federation_id=str(UUID(int=7)), member="west", members=MEMBERS)
    for options in ({"averaging_rounds": None}, {"module": "elsewhere"}):
        with pytest.raises(InvalidSpec):
            plan_for("north", **options)


def make_alone(size: int) -> ModelPlan:
    return make_model_plan(
        model=ModelSpec(options={"steps": 6}),
        guarantee=PrivacyGuarantee(epsilon=8.0, delta=1e-4),
        declared_size=size,
        domain=TABLE,
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
    )


def test_a_state_of_images_is_within_the_boards_limit() -> None:
    plan = make_model_plan(
        model=ModelSpec(options={"steps": 6, "averaging_rounds": 3}),
        guarantee=PrivacyGuarantee(epsilon=8.0, delta=1e-4),
        declared_size=270,
        domain=IMAGES,
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
        federation=Federation(federation_id=str(UUID(int=7)), member="north", members=MEMBERS),
    )
    # 81 planes of 3 by 3 coefficients; weights, average and velocity of eight bytes each.
    weights = (81 * 9 + 1) * 3
    assert 24 * weights < largest_state(plan, IMAGES) == 32 * weights + 4096


def test_more_releases_than_one_owners_are_refused() -> None:
    recorder = ModelRecorder(plan_for("north"))
    with pytest.raises(ExecutionDiffers):
        recorder.exact(Purpose.GRADIENT_NOISE, 6, (), sensitivity=1.0)
