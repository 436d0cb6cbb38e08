"""Members add noisy counts through a board that may lie: sums, their noise, what is handed in again, and what a unit moves."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any
from uuid import UUID

import numpy as np
import pytest
import torch

from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.plan.domain.table import TableDomain
from core.plan.errors import InvalidPlan, InvalidSpec
from core.plan.ordered_plan import local_size_of, ordered_plan_from_json
from core.plan.several_owners.federation import Federation, FederationMember, shared_digest
from core.plan.several_owners.member_plan import MemberPlan, largest_counts, make_member_plan
from core.plan.spec import SynthesisSpec
from core.plan.training_quote import expected_error_in
from models.counting.memory import MemoryCounter
from models.dp.count_noise import GRID
from models.dp.errors import CheckpointLost, StateRefused
from models.encoding import PrivateTable, codes_alone
from models.exchange import round_streams
from models.idpgan.synthesizer import IdpganSynthesizer
from models.randomness import KeyedStreams, Purpose
from models.release_recorder import CertificateRecorder
from models.releases import ReleaseRecorder
from models.synthesizer import NullHost, TrainedGenerator, TrainingHost
from models.tables.measurement import measure
from models.tables.measurement.count_rounds import MOST_COUNT, CountRounds, opened_counts, packed_counts
from tests.models.boards import Lie, MemberBoard, MemoryBoard
from tests.models.idpgan.jobs import Killed, StubbornHost, generator_bytes
from tests.privacy.seam import Recorder, Replayer, paid_distances

DOMAIN = TableDomain.from_json({
    "schema": "understudy.domain/1",
    "target": "sick",
    "privacy_unit": None,
    "columns": [
        {"name": "age", "kind": "numeric", "type": "integer", "lower": 0, "upper": 99, "bins": 40, "null": "category"},
        {"name": "ward", "kind": "categorical", "categories": ["a", "b", "c"]},
        {"name": "sick", "kind": "boolean"},
    ],
})  # fmt: skip
SIZES = {"north": 900, "south": 500, "west": 300}
KEYS = {name: bytes([place]) * 32 for place, name in enumerate(SIZES)}
MEMBERS = tuple(FederationMember(name=name, declared_size=size) for name, size in SIZES.items())


def plan_for(name: str, *, domain: TableDomain = DOMAIN, epsilon: float = 2.0, **options: Any) -> MemberPlan:
    return make_member_plan(
        spec=SynthesisSpec(synthesizer="idpgan", options={"pretraining_steps": 4} | options),
        guarantee=PrivacyGuarantee(epsilon=epsilon, delta=1e-6),
        declared_size=sum(SIZES.values()),
        domain=domain,
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
        federation=Federation(federation_id=str(UUID(int=7)), member=name, members=MEMBERS),
    )


def table(name: str, *, without_last: bool = False) -> PrivateTable:
    rng = np.random.default_rng(len(name) + SIZES[name])
    sizes = DOMAIN.cardinalities
    codes = np.stack([rng.integers(0, size, SIZES[name]) for size in sizes], axis=1).astype(np.int16)
    return coded(codes[:-1] if without_last else codes, DOMAIN)


def coded(codes: Any, domain: TableDomain) -> PrivateTable:
    return PrivateTable(
        codes=codes,
        unit_of_record=np.arange(len(codes), dtype=np.int64),
        cardinalities=domain.cardinalities,
        target_index=domain.target_index,
        ordered=domain.ordered,
        alone=codes_alone(domain),
    )


def trained(
    name: str,
    board: MemoryBoard,
    *,
    host: TrainingHost | None = None,
    mark: tuple[str | None, int] = (None, 0),
    releases: ReleaseRecorder | None = None,
    lie: Lie = lambda _, state: state,
    without_last: bool = False,
    plan: MemberPlan | None = None,
    records: PrivateTable | None = None,
) -> TrainedGenerator:
    plan, place = plan or plan_for(name), list(SIZES).index(name)
    rounds = CountRounds(
        host or NullHost(), MemberBoard(board, place, lie), plan.federation, rounds=plan.rounds, stage=mark[0], step=mark[1]
    )  # fmt: skip
    streams = KeyedStreams(KEYS[name], releases=releases)
    counter = MemoryCounter(records or table(name, without_last=without_last))
    return IdpganSynthesizer(exchange=rounds).fit(counter, plan, streams, rounds)


def together(board: MemoryBoard, **options: Any) -> dict[str, TrainedGenerator]:
    with ThreadPoolExecutor(len(SIZES)) as threads:
        made = threads.map(lambda name: trained(name, board, **options.get(name, {})), SIZES)
        return dict(zip(SIZES, made, strict=True))


@pytest.fixture(scope="module")
def played() -> tuple[MemoryBoard, dict[str, TrainedGenerator], dict[str, Recorder]]:
    board, recorders = MemoryBoard(len(MEMBERS)), {name: Recorder() for name in SIZES}
    made = together(board, **{name: {"releases": one} for name, one in recorders.items()})
    return board, made, recorders


def _integers(content: bytes) -> Any:
    return np.frombuffer(content, "<i8")


def test_all_members_hold_one_generator_of_sums_with_the_noise_of_each(played: Any) -> None:
    board, made, _ = played
    assert len({generator_bytes(one) for one in made.values()}) == 1
    assert len(board.states) == 2 * len(SIZES), "two rounds, and nothing else is handed in"
    cells = sum(DOMAIN.cardinalities)
    assert all(len(state) <= largest_counts(DOMAIN) for state in board.states.values())
    added = sum(_integers(board.states[0, place]) for place in range(len(SIZES))) * GRID
    exact = np.concatenate([
        sum(np.bincount(table(name).codes[:, column], minlength=codes) for name in SIZES)
        for column, codes in enumerate(DOMAIN.cardinalities)
    ])  # fmt: skip
    counts = made["north"].counts
    assert counts is not None
    stds = np.concatenate([
        np.full(codes, one.noise_std)
        for one, codes in zip(counts.tables, DOMAIN.cardinalities, strict=False)
    ])  # fmt: skip
    assert stds.shape == (cells,)
    scaled = (added - exact) / stds
    # Of 46 standard normal numbers: the bounds are exceeded once in ten thousand.
    assert abs(scaled.mean()) < 3.9 / np.sqrt(cells)
    assert 0.62 < scaled.std() < 1.45, "the stated noise is that of the sums"
    own = np.concatenate(
        [np.bincount(table("north").codes[:, c], minlength=k) for c, k in enumerate(DOMAIN.cardinalities)]
    )
    alone = (_integers(board.states[0, 0]) * GRID - own) / stds * np.sqrt(len(SIZES))
    assert 0.62 < alone.std() < 1.45, "each member has added the whole noise of its own charge"
    columns = np.concatenate([one.cells.ravel() for one in counts.tables if len(one.columns) == 1])[:cells]
    assert columns * counts.step == pytest.approx(added, abs=counts.step)


def test_a_unit_moves_its_own_members_counts_alone_and_by_what_was_charged(played: Any) -> None:
    board, made, recorders = played
    fresh = MemoryBoard(len(MEMBERS))
    fresh.states = dict(board.states)
    replayer = Replayer(recorders["north"])
    again = trained("north", fresh, releases=replayer, without_last=True)
    assert generator_bytes(again) == generator_bytes(made["north"]), "everything follows from noisy counts"
    paid = paid_distances(plan_for("north"))
    assert replayer.distances.keys() == paid.keys()
    for name, distance in replayer.distances.items():
        assert 0 < distance <= paid[name] * (1 + 1e-9)


@pytest.mark.parametrize("kill_at", [0, 1, 2, 3, 5])
def test_a_killed_member_hands_in_the_same_bytes_again(played: Any, kill_at: int) -> None:
    board, made, _ = played
    fresh, host = MemoryBoard(len(MEMBERS)), StubbornHost(kill_at=kill_at)
    fresh.states = {key: state for key, state in board.states.items() if key[1]}
    with pytest.raises(Killed):
        trained("north", fresh, host=host)
    # A round of the board that is complete twice over is forgotten: its sums are in the checkpoint.
    fresh.states = {key: state for key, state in fresh.states.items() if key[0] >= min(kill_at // 3, 1)}
    resumed = StubbornHost(host.state)
    last = [mark for mark in host.marks if mark[0] == "measure"][-1]
    again = trained("north", fresh, host=resumed, mark=last[:2])
    assert generator_bytes(again) == generator_bytes(made["north"])
    assert all(board.states[key] == state for key, state in fresh.states.items())
    marks = [step for stage, step, _ in host.marks + resumed.marks if stage == "measure"]
    assert marks == sorted(marks), "a mark never falls behind a round that has begun"


@pytest.mark.parametrize("number", [0, 1])
def test_a_member_resumed_on_another_machine_hands_in_the_counts_it_had_made(
    played: Any, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another machine may round the sums of a round to other groups: other counts of the same rows would have the same noise."""
    board, made, _ = played
    fresh, host = MemoryBoard(len(MEMBERS)), StubbornHost()
    fresh.states = {key: state for key, state in board.states.items() if key[1]}

    class Cut(MemberBoard):
        def exchange(self, round_number: int, state: bytes) -> Sequence[bytes]:
            if round_number < number:
                return super().exchange(round_number, state)
            fresh.put(0, round_number, state)
            raise Killed

    rounds = CountRounds(host, Cut(fresh, 0), plan_for("north").federation, rounds=plan_for("north").rounds)
    with pytest.raises(Killed):
        IdpganSynthesizer(exchange=rounds).fit(
            MemoryCounter(table("north")), plan_for("north"), KeyedStreams(KEYS["north"]), rounds
        )
    counted, grouped = measure.noisy_columns, measure.noisy_moments
    if number == 0:
        monkeypatch.setattr(measure, "noisy_columns", lambda *of: [one + 1.0 for one in counted(*of)])
    else:

        def otherwise(*of: Any, groups: Any) -> Any:
            return grouped(*of, groups=(groups[0][::-1], *groups[1:]))

        monkeypatch.setattr(measure, "noisy_moments", otherwise)
    recorder = Recorder()
    # The board of the tests refuses other bytes for a round that was handed in; a dishonest one takes them.
    again = trained(
        "north", fresh, host=StubbornHost(host.state), mark=("measure", number + 1), releases=recorder
    )
    assert generator_bytes(again) == generator_bytes(made["north"])
    assert len(recorder.heard) == 1 - number, "what was handed in is not counted again"


@pytest.mark.parametrize("mark", [("measure", 2), ("pretrain", 1), ("export", 1)])
def test_a_second_round_is_not_begun_again_without_its_checkpoint(played: Any, mark: Any) -> None:
    board = MemoryBoard(len(MEMBERS))
    board.states = dict(played[0].states)
    with pytest.raises(CheckpointLost):
        trained("north", board, mark=mark)
    trained("north", board, mark=("measure", 1))


def test_no_noise_is_drawn_twice_of_different_questions(played: Any) -> None:
    board = played[0]

    def second_of_north(lie: Lie) -> bytes:
        fresh = MemoryBoard(len(MEMBERS))
        fresh.states = {key: state for key, state in board.states.items() if key[1]}
        trained("north", fresh, lie=lie)
        return fresh.states[1, 0]

    def doubled(number: int, state: bytes) -> bytes:
        return (_integers(state) + (number == 0)).astype("<i8").tobytes()

    assert second_of_north(lambda _, state: state) == board.states[1, 0]
    # The counts differ by a millionth of a record, so the same groups are counted; the noise is another one.
    moved = (_integers(second_of_north(doubled)) - _integers(board.states[1, 0])) * GRID
    assert np.abs(moved).mean() > 1.0
    streams = KeyedStreams(KEYS["north"])
    drawn = {round_streams(streams, number, begun).bytes(Purpose.ANCHOR_NOISE, 0, 32)
             for number in range(2) for begun in (b"", b"x")}  # fmt: skip
    assert len(drawn) == 4


WIDE = TableDomain.from_json({
    "schema": "understudy.domain/1", "target": None, "privacy_unit": None,
    "columns": [{"name": f"column {place}", "kind": "boolean"} for place in range(7)],
})  # fmt: skip


def test_members_screen_pairs_by_the_sum_of_their_distances() -> None:
    board, records, options = (
        MemoryBoard(len(MEMBERS)),
        {name: CertificateRecorder(_screened(name)) for name in SIZES},
        {},
    )
    for name, size in SIZES.items():
        codes = np.random.default_rng(size).integers(0, 2, (size, 7)).astype(np.int16)
        codes[:, 1] = codes[:, 0] ^ (codes[:, 2] & codes[:, 3] & codes[:, 4])
        options[name] = {
            "plan": _screened(name), "records": coded(codes, WIDE), "releases": records[name]
        }  # fmt: skip
    made = together(board, **options)
    assert len({generator_bytes(one) for one in made.values()}) == 1
    assert len(board.states) == 3 * len(SIZES), "columns, distances, pairs"
    assert {str(one.executed().to_json()["anchor"]) for one in records.values()} == {"[[0, 1, 3]]"}
    distances = [_integers(board.states[1, place]) * GRID for place in range(len(SIZES))]
    assert all(len(one) == 21 and int(one.argmax()) == 0 for one in distances), "one number for each pair"
    counts = made["north"].counts
    assert counts is not None
    pairs = [one.columns for one in counts.tables if len(one.columns) == 2]
    assert (0, 1) in pairs
    assert len(pairs) < 21, "independent columns are not counted together"
    host = StubbornHost(kill_at=1)
    with pytest.raises(Killed):
        trained("north", board, host=host, **_again(options["north"]))
    with pytest.raises(CheckpointLost):
        trained("north", board, host=host, mark=("measure", 3), **_again(options["north"]))
    resumed = trained(
        "north", board, host=StubbornHost(host.state), mark=("measure", 2), **_again(options["north"])
    )
    assert generator_bytes(resumed) == generator_bytes(made["north"])


def _again(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name != "releases"}


def _screened(name: str) -> MemberPlan:
    return plan_for(name, domain=WIDE, epsilon=8.0, anchor_screening_share=0.25)


def test_codes_are_merged_until_the_counts_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = len(_alone_at_the_board().states[1, 0])
    monkeypatch.setattr("models.tables.measurement.second_round.MOST_COUNT_BYTES", usual // 2)
    assert 0 < len(_alone_at_the_board().states[1, 0]) <= usual // 2


def _alone_at_the_board() -> MemoryBoard:
    board = MemoryBoard(len(MEMBERS))
    together(board)
    return board


LIES: dict[str, Lie] = {
    "cut off": lambda _, state: state[:-8],
    "longer": lambda _, state: state + bytes(8),
    "empty": lambda *_: b"",
    "enormous": lambda _, state: np.full(len(state) // 8, MOST_COUNT + 1).astype("<i8").tobytes(),
    "below everything": lambda _, state: np.full(len(state) // 8, -(2**63)).astype("<i8").tobytes(),
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
def test_what_are_no_counts_of_the_round_is_refused(lie: Lie) -> None:
    own = packed_counts(np.arange(6.0))
    assert _integers(own)[5] == 5 * 2**20
    assert [*opened_counts(own, length=len(own))] == [*_integers(own)]
    with pytest.raises(StateRefused):
        opened_counts(lie(0, own), length=len(own))


def test_the_member_whose_counts_are_refused_is_named(played: Any) -> None:
    board = MemoryBoard(len(MEMBERS))
    board.states = {key: state for key, state in played[0].states.items() if key[1]}
    board.states[0, 2] = b""
    with pytest.raises(StateRefused) as refused:
        trained("north", board)
    assert refused.value.facts == {"member": MEMBERS[2].name}


def test_other_members_may_hand_in_anything_of_that_length(played: Any) -> None:
    board = MemoryBoard(len(MEMBERS))
    board.states = {key: state for key, state in played[0].states.items() if key[1]}
    record = CertificateRecorder(plan_for("north"))
    trained("north", board, releases=record, lie=lambda _, state: bytes(len(state)))
    assert record.executed().to_json()["anchor"] == [[0, 1, 2]], "one owner's counts, each once"


@pytest.mark.parametrize(
    "extremes", [[MOST_COUNT, 0], [-MOST_COUNT, 0], [-MOST_COUNT, MOST_COUNT, 1 << 40, -1, 0]]
)
@pytest.mark.filterwarnings("error")
def test_others_counts_however_large_end_no_training(extremes: list[int]) -> None:
    rng = np.random.default_rng(5)

    def lie(_: int, state: bytes) -> bytes:
        return rng.choice(np.array(extremes, "<i8"), len(state) // 8).astype("<i8").tobytes()

    board = MemoryBoard(len(MEMBERS))
    board.all_of = lambda number: [board.states[number, 0]] * len(MEMBERS)  # type: ignore[method-assign]
    made = trained("north", board, lie=lie)
    assert all(torch.isfinite(values).all() for values in made.network.state_dict().values())


def test_the_plans_of_all_members_differ_in_their_name_alone() -> None:
    north, south = plan_for("north"), plan_for("south")
    assert north.digest() != south.digest()
    assert shared_digest(north.to_json()) == shared_digest(south.to_json())
    assert ordered_plan_from_json(north.to_json()) == north
    assert (north.declared_size, local_size_of(north), local_size_of(south)) == (1700, 900, 500)
    assert north.summed.noise_std == pytest.approx(3**0.5 * north.counts.noise_std)
    assert north.known == north.summed
    more = replace(north, federation=replace(north.federation, members=(*MEMBERS[:2], replace(MEMBERS[2], declared_size=299), FederationMember(name="east", declared_size=1))))  # fmt: skip
    assert more.mechanism == north.mechanism, "what a ledger is charged does not depend on the others"
    few, many = (expected_error_in(plan, DOMAIN) for plan in (north, more))
    assert not isinstance(few, str) and not isinstance(many, str)  # noqa: PT018 - one fact
    assert few.two_way < many.two_way, "a quote states the error under the noise of all members"
    with pytest.raises(InvalidPlan):
        replace(north, declared_size=1701)
    for options in ({"critic": True}, {"anchor": False}):
        with pytest.raises(InvalidSpec):
            plan_for("north", **options)
