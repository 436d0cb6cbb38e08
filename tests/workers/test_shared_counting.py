"""Counting one table by several processes: whoever counts which shard, whoever dies, the counts are the same."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from uuid import UUID

import numpy as np
import pyarrow as pa
import pytest
from celery import Celery
from structlog.testing import capture_logs

from core.artifacts.bundle import unpack
from core.clock import FixedClock
from core.data import private_rows
from core.data.private_rows import PrivateShards
from core.data.sealing import SealedWriter
from core.data.stored_rows import open_writer, rows_context
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.jobs import endings
from core.jobs.claims import held_claim
from core.jobs.queue import ANY_DEVICE_QUEUE, COUNTING_QUEUE, COUNTING_TASK, CeleryQueue
from core.jobs.states import Cause
from core.plan.domain.schema import storage_schema
from core.plan.domain.table import TableDomain
from core.plan.plan import Plan, make_plan
from core.plan.spec import SynthesisSpec
from core.platform.stored_objects import bundle_key, count_folder
from models.counting.streamed import StreamedCounter, count_shard
from tests.models.counting.questions import all_questions
from tests.models.counting.shards import Shards
from tests.models.counting.test_streamed import KEY, domain, rows
from tests.workers.support import DOCUMENT, Workshop
from workers.app import app
from workers.child import MACHINERY_FAILED, AttemptEnded, ExitCode
from workers.shared_counting import CountBoard, SharedCounter, help_counting
from workers.training_child import attempt

BATCHES, ROWS = 6, 50
RANDOMNESS = bytes(range(32))
DOMAIN = TableDomain.from_json(DOCUMENT)
ASKED = all_questions(DOMAIN.cardinalities)


@pytest.fixture
def several(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> Workshop:
    """A workshop whose rows lie in six shards."""
    monkeypatch.setattr(private_rows, "SHARD_BYTES", 1)
    rows_key = f"datasets/{workshop.dataset_id}/rows.sealed"
    schema, rng = storage_schema(DOMAIN), np.random.default_rng(3)
    path = workshop.settings.scratch_folder / "rows.sealed"
    with (
        path.open("wb") as raw,
        SealedWriter(raw, key=workshop.data_key, context=rows_context(rows_key)) as sealed,
        open_writer(sealed, DOMAIN) as writer,
    ):
        for _ in range(BATCHES):
            age = rng.integers(0, 10, ROWS)
            words = pa.array(np.array(["red", "green"])[age % 2], pa.string()).cast(
                schema.field("colour").type
            )
            writer.write_batch(
                pa.RecordBatch.from_arrays([pa.array(age), words, pa.array(age > 5)], schema=schema)
            )
    workshop.store.put_file(rows_key, path)
    return workshop


def plan() -> Plan:
    return make_plan(
        spec=SynthesisSpec(synthesizer="idpgan", options={"pretraining_steps": 5, "generator_width": 16}),
        guarantee=PrivacyGuarantee(epsilon=1.0, delta=1e-6),
        declared_size=300,
        domain=DOMAIN,
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
    )


def claimed(workshop: Workshop, number: int = 1) -> UUID:
    job_id = workshop.order(plan(), randomness=RANDOMNESS, job_id=UUID(int=number))
    workshop.claim(job_id)
    return job_id


def helper(workshop: Workshop, job_id: UUID) -> Callable[[], int]:
    return partial(
        help_counting,
        workshop.settings,
        database=workshop.database,
        store=workshop.store,
        job_id=job_id,
        fence=1,
    )


def board_of(workshop: Workshop, job_id: UUID) -> CountBoard:
    return CountBoard(workshop.store, job_id=job_id, fence=1, randomness_key=RANDOMNESS)


def shards_of(workshop: Workshop) -> PrivateShards:
    return PrivateShards(
        workshop.store, f"datasets/{workshop.dataset_id}/rows.sealed", workshop.data_key, DOMAIN
    )


def left(workshop: Workshop, job_id: UUID) -> list[str]:
    return [found.key for found in workshop.store.list(count_folder(job_id, 1))]


def require_equal(answers: list[np.ndarray], wanted: list[np.ndarray]) -> None:
    for answer, other in zip(answers, wanted, strict=True):
        assert answer.dtype == np.int64
        np.testing.assert_array_equal(answer, other)


def shared(
    workshop: Workshop, job_id: UUID, call: Callable[[], object], *, helpers: int = 1
) -> SharedCounter:
    return SharedCounter(
        shards_of(workshop), DOMAIN, key=KEY, bound=None, board=board_of(workshop, job_id),
        call=lambda: call() is not False, helpers=helpers,
    )  # fmt: skip


def test_helpers_that_count_everything_change_no_count(several):
    job_id, helped = claimed(several), []
    counter = shared(several, job_id, lambda: helped.append(helper(several, job_id)()))
    wanted = StreamedCounter(shards_of(several), DOMAIN, key=KEY).count(ASKED)
    require_equal(counter.count(ASKED), wanted)
    require_equal(counter.count(ASKED[:3]), wanted[:3])
    assert helped == [BATCHES, BATCHES]
    assert left(several, job_id) == [], "counts are deleted once they are added up"


def test_a_training_alone_counts_all_of_it(several):
    job_id, called = claimed(several), []
    counter = shared(several, job_id, lambda: called.append(1), helpers=9)
    require_equal(counter.count(ASKED), StreamedCounter(shards_of(several), DOMAIN, key=KEY).count(ASKED))
    assert len(called) == BATCHES - 1, "no more helpers than there are other shards"


def test_shards_that_are_lost_damaged_or_doubled_are_counted_once(several):
    job_id = claimed(several)

    def half_done() -> None:
        board = board_of(several, job_id)
        asked = board.asked()
        for shard in (1, 3, 5, 5):
            board.put_counts(asked, shard, count_shard(shards_of(several).read(shard), DOMAIN, ASKED, None))
        several.store.put_bytes(f"{count_folder(job_id, 1)}/1-3.sealed", b"damaged in transit")
        several.store.delete(f"{count_folder(job_id, 1)}/1-5.sealed")

    counted = shared(several, job_id, half_done).count(ASKED)
    require_equal(counted, StreamedCounter(shards_of(several), DOMAIN, key=KEY).count(ASKED))
    assert counted[0].any(), "records were counted"
    assert left(several, job_id) == [], "counts are deleted once they are added up"


def test_what_is_exchanged_is_sealed_and_belongs_to_its_place(several):
    job_id, seen = claimed(several), {}

    def look() -> None:
        helper(several, job_id)()
        seen.update({key: several.store.get_bytes(key) for key in left(several, job_id)})
        board = board_of(several, job_id)
        asked = board.asked()
        folder = count_folder(job_id, 1)
        several.store.put_bytes(f"{folder}/1-2.sealed", seen[f"{folder}/1-1.sealed"])
        assert board.counts(asked, 2) is None, "one shard's counts are not another's"
        stranger = CountBoard(several.store, job_id=job_id, fence=1, randomness_key=bytes(32))
        assert stranger.asked() is None
        assert stranger.counts(asked, 1) is None

    exact = shared(several, job_id, look).count(ASKED)
    assert len(seen) == BATCHES + 1
    assert not any(exact[0].tobytes()[:8] in content for content in seen.values())
    require_equal(exact, StreamedCounter(shards_of(several), DOMAIN, key=KEY).count(ASKED))


@pytest.mark.parametrize("ended", [False, True])
def test_a_helper_stops_where_the_claim_is_lost(several, ended):
    several.clock = clock = FixedClock(datetime(2026, 1, 1, tzinfo=UTC))
    job_id = claimed(several)

    def lose() -> None:
        if ended:
            with several.database.transaction() as session:
                claim = held_claim(session, job_id, fence=1)
                endings.fail(
                    session, claim, code=MACHINERY_FAILED, cause=Cause.ROWS, clock=several.clock,
                    queue=several.queue, max_attempts=1,
                )  # fmt: skip
        else:
            clock.advance(seconds=several.settings.lease_seconds + 1)
            assert several.claim(job_id).fence == 2
        with pytest.raises(AttemptEnded) as stopped:
            helper(several, job_id)()
        assert stopped.value.code is ExitCode.LEASE_LOST
        assert not any("1-" in key.rpartition("/")[2] for key in left(several, job_id))

    shared(several, job_id, lose).count(ASKED)


def test_a_helper_that_cuts_otherwise_counts_nothing(several):
    job_id, helped = claimed(several), []

    def other() -> None:
        board = board_of(several, job_id)
        board.ask(replace(board.asked(), shard_bytes=5000))
        helped.append(helper(several, job_id)())

    counter = shared(several, job_id, other)
    require_equal(counter.count(ASKED), StreamedCounter(shards_of(several), DOMAIN, key=KEY).count(ASKED))
    assert helped == [0], "it would have counted other rows than it was asked for"


@pytest.mark.usefixtures("worker_environment")
def test_a_message_starts_a_child_that_helps(several):
    """The child of another process counts; only then does the training look."""
    job_id, handed = claimed(several), []

    def call() -> None:
        app.tasks[COUNTING_TASK](str(job_id), 1)
        handed.extend(left(several, job_id))

    counter = shared(several, job_id, call)
    require_equal(counter.count(ASKED), StreamedCounter(shards_of(several), DOMAIN, key=KEY).count(ASKED))
    assert len(handed) == BATCHES + 1


def test_a_helper_finds_nothing_to_do_before_and_after(several):
    job_id = claimed(several)
    assert helper(several, job_id)() == 0
    shared(several, job_id, helper(several, job_id)).count(ASKED)
    assert helper(several, job_id)() == 0


def test_helpers_weigh_records_as_the_training_does(workshop):
    declared, stored = domain(with_units=True), rows(with_units=True)
    shards, questions = Shards(stored, [100, 100, 640]), all_questions(domain(with_units=True).cardinalities)
    for bound in (None, 2):
        board = CountBoard(workshop.store, job_id=UUID(int=9), fence=1, randomness_key=RANDOMNESS)

        def help_with_two(board: CountBoard = board) -> bool:
            asked = board.asked()
            assert asked is not None
            assert asked.weighted
            for shard in (0, 2):
                counts = count_shard(shards.read(shard), declared, asked.questions, board.weights(shard))
                board.put_counts(asked, shard, counts)
            return True

        counter = SharedCounter(
            shards, declared, key=KEY, bound=bound, board=board, call=help_with_two, helpers=1
        )
        wanted = StreamedCounter(shards, declared, key=KEY, bound=bound).count(questions)
        for _round in range(2):
            require_equal(counter.count(questions), wanted)
        board.clear(all_rounds=True)


def test_a_release_is_the_same_with_and_without_help(several, monkeypatch):
    made, helped = [], []
    for number, helpers in ((1, 0), (2, 3)):
        job_id = claimed(several, number)

        class Helping(CeleryQueue):
            def enqueue_counting(self, job_id: UUID, fence: int) -> bool:
                assert fence == 1
                helped.append(helper(several, job_id)())
                return True

        monkeypatch.setattr("core.jobs.queue.CeleryQueue", Helping)
        settings = several.settings.model_copy(update={"counting_helpers": helpers})
        attempt(settings, database=several.database, store=several.store, job_id=job_id, fence=1)
        made.append(unpack(several.store.get_bytes(bundle_key(job_id, 1))))
        assert left(several, job_id) == []
    assert sum(helped) >= BATCHES
    assert (made[0].weights, made[0].counts) == (made[1].weights, made[1].counts)


def test_a_broker_that_is_away_is_called_once_a_round_however_many_shards_there_are(several):
    """As many lines in the log as shards would tell how long the table is."""
    job_id, queue = claimed(several), CeleryQueue("redis://127.0.0.1:1/0")
    counter = shared(several, job_id, partial(queue.enqueue_counting, job_id, 1), helpers=BATCHES - 1)
    with capture_logs() as said:
        require_equal(counter.count(ASKED), StreamedCounter(shards_of(several), DOMAIN, key=KEY).count(ASKED))
    queue.close()
    assert [one["event"] for one in said].count("broker-away") == 1


def test_calls_for_help_have_a_queue_of_their_own(monkeypatch):
    sent = []
    queue = CeleryQueue("memory://")
    monkeypatch.setattr(Celery, "send_task", lambda _, task, **how: sent.append((task, how)))
    assert queue.enqueue_counting(UUID(int=5), 3)
    queue.enqueue_training(UUID(int=5))
    (task, how), (_training, other) = sent
    assert (task, how["queue"], how["args"]) == (COUNTING_TASK, COUNTING_QUEUE, [str(UUID(int=5)), 3])
    assert other["queue"] == ANY_DEVICE_QUEUE
    queue.close()


@pytest.mark.usefixtures("worker_environment")
@pytest.mark.parametrize(
    ("job_id", "told"),
    [
        ("not a uuid", ["task-broke-off"]),
        pytest.param("00000000-0000-0000-0000-000000000000", [], marks=pytest.mark.long),
    ],
)
def test_a_call_for_help_that_makes_no_sense_is_dropped(job_id, told):
    with capture_logs() as said:
        app.tasks[COUNTING_TASK](job_id, 1)
    assert [one["event"] for one in said] == told
