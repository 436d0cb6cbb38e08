"""Shared counting: a counter whose shards are counted by any free worker, and the board where counts are exchanged.

The training posts a round's questions, sends messages that ask for help, and counts the shards whose counts are missing, one
after the other. Helpers pick such a shard at random. No process waits for another and nothing is
locked: a shard that a helper lost, or that two count at the same time, costs only time, because counts are exact and do not
depend on the process that makes them. Without helpers the training counts everything.

The board is a folder of sealed objects of one attempt, deleted once they are added up. They hold exact counts of private
rows, so they are sealed under a key derived from the job's randomness key, which is destroyed when the job ends. Every
object's key is its associated data: no object can be taken for another round, shard or attempt.

A helper is a child of its own (`run`). It opens private rows under the claim of the training, which it reads again before
every shard: once the claim is lost or the job has ended, it counts no more. It never claims, marks, spends or releases
anything, so it may be started twice, die at any moment, or never run.
"""

import json
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final
from uuid import UUID

import numpy as np
import pyarrow as pa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from core.data.errors import ObjectMissing, SealBroken
from core.data.objects import ObjectStore
from core.data.private_rows import PrivateShards
from core.data.sealing import open_bytes, seal_bytes
from core.db.session import Database
from core.logs import get_logger
from core.plan.domain.forbidden import forbidden_pairs
from core.plan.domain.table import TableDomain
from core.platform.settings import Settings
from core.platform.stored_objects import count_folder
from models.counting.question import Counter, CountQuestion, Counts, Groups
from models.counting.streamed import JointCounter, StreamedCounter, add_counts, count_shard
from models.counting.units import Weights, record_weights
from models.encoding import Forbidden, codes_alone
from workers.assignment import Assignment, read_assignment
from workers.child import AttemptEnded, ExitCode, limit_memory, machinery, storage

if TYPE_CHECKING:
    from core.jobs.queue import CeleryQueue

_PURPOSE: Final = b"understudy/counts/1"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Round:
    """The questions that are asked of every shard at present.

    Args:
        number: From 1, in the order of the training's questions.
        shard_bytes: Smallest size of a shard.
        cut: Where shards begin and end; a helper that cuts otherwise must not count (`core.data.private_rows.PrivateShards.cut`).
        weighted: Whether the weights of the records are on the board.
    """

    number: int
    shards: int
    shard_bytes: int
    cut: str
    weighted: bool
    questions: tuple[CountQuestion, ...]


class CountBoard:
    """The board of one attempt, sealed under a key derived from the job's randomness key of 32 bytes."""

    def __init__(self, store: ObjectStore, *, job_id: UUID, fence: int, randomness_key: bytes) -> None:
        self._store = store
        self._folder = count_folder(job_id, fence)
        self._key = HKDF(SHA256(), 32, None, _PURPOSE).derive(randomness_key)

    def ask(self, asked: Round) -> None:
        """Post a round's questions in place of those of the round before."""
        groupings: dict[bytes, int] = {}
        listed: list[list[int]] = []

        def place_of(groups: Groups | None) -> int | None:
            """Write each grouping once, however many tables use it."""
            if groups is None:
                return None
            if (content := groups.tobytes()) not in groupings:
                groupings[content] = len(listed)
                listed.append(groups.tolist())
            return groupings[content]

        document = {
            "number": asked.number,
            "shards": asked.shards,
            "shard_bytes": asked.shard_bytes,
            "cut": asked.cut,
            "weighted": asked.weighted,
            "questions": [
                [one.columns, [place_of(groups) for groups in one.groups], one.cardinalities] for one in asked.questions
            ],
            "groupings": listed,
        }  # fmt: skip
        self._put("asked", json.dumps(document).encode())

    def asked(self) -> Round | None:
        """The round that is being counted, or None."""
        found = self._get("asked")
        if found is None:
            return None
        document = json.loads(found)
        groupings = [np.array(each, np.int32) for each in document.pop("groupings")]
        questions = tuple(
            CountQuestion(
                columns=tuple(columns),
                groups=tuple(None if place is None else groupings[place] for place in groups),
                cardinalities=tuple(cardinalities),
            )
            for columns, groups, cardinalities in document.pop("questions")
        )
        return Round(**document, questions=questions)

    def put_weights(self, shard: int, weights: Weights) -> None:
        """Store the weights of a shard's records, for all rounds."""
        self._put(f"weights-{shard}", weights.astype("<u4").tobytes())

    def weights(self, shard: int) -> Weights | None:
        """The weights of a shard's records, if they were stored."""
        found = self._get(f"weights-{shard}")
        return None if found is None else np.frombuffer(found, "<u4").astype(np.uint32)

    def put_counts(self, asked: Round, shard: int, counts: Sequence[Counts]) -> None:
        """Hand in the counts of a shard."""
        content = b"".join(np.ascontiguousarray(table, "<i8").tobytes() for table in counts)
        self._put(f"{asked.number}-{shard}", content)

    def counts(self, asked: Round, shard: int) -> list[Counts] | None:
        """The counts of a shard, if they were submitted whole."""
        found = self._get(f"{asked.number}-{shard}")
        cells = sum(question.cells for question in asked.questions)
        if found is None or len(found) != 8 * cells:
            return None
        values = np.frombuffer(found, "<i8").astype(np.int64)
        ends = np.cumsum([question.cells for question in asked.questions])
        parts = np.split(values, ends[:-1])
        return [part.reshape(one.shape) for part, one in zip(parts, asked.questions, strict=True)]

    def missing(self, asked: Round) -> list[int]:
        """Shards of a round without submitted counts."""
        names = {found.key.rpartition("/")[2] for found in self._store.list(self._folder)}
        return [shard for shard in range(asked.shards) if f"{asked.number}-{shard}.sealed" not in names]

    def clear(self, *, all_rounds: bool = False) -> None:
        """Delete questions and counts. Weights stay for later rounds unless `all_rounds` are over."""
        for found in list(self._store.list(self._folder)):
            if all_rounds or not found.key.rpartition("/")[2].startswith("weights-"):
                self._store.delete(found.key)

    def _put(self, name: str, content: bytes) -> None:
        key = f"{self._folder}/{name}.sealed"
        self._store.put_bytes(key, seal_bytes(self._key, content, context=key))

    def _get(self, name: str) -> bytes | None:
        """The content of an object. A damaged one counts as missing, for it is made again."""
        key = f"{self._folder}/{name}.sealed"
        try:
            return open_bytes(self._key, self._store.get_bytes(key), context=key)
        except ObjectMissing:
            return None
        except SealBroken:
            get_logger().warning("counts-damaged")
            return None


class StoredShards:
    """Stored rows in shards that every reader cuts alike; a failure to read them is one of the storage."""

    def __init__(self, shards: PrivateShards) -> None:
        self._shards = shards

    def __len__(self) -> int:
        return len(self._shards)

    @property
    def shard_bytes(self) -> int:
        """Smallest size of a shard."""
        return self._shards.shard_bytes

    @property
    def cut(self) -> str:
        """Where shards begin and end."""
        return self._shards.cut

    def read(self, shard: int, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The batches of one shard; with `columns` these columns alone."""
        with storage():
            yield from self._shards.read(shard, columns)


class SharedCounter:
    """A `models.counting.question.Counter` that counts stored rows with help.

    Args:
        key: Job key of the hashes that distinguish units.
        bound: Number of records of a unit that count, each fully. With None all records count, and a unit's together as one
            at most.
        call: Sends a message that asks for help. Returns whether it was sent.
        helpers: Number of messages per round.
    """

    def __init__(
        self,
        shards: StoredShards,
        domain: TableDomain,
        *,
        key: bytes,
        bound: int | None,
        board: CountBoard,
        call: Callable[[], bool],
        helpers: int,
    ) -> None:
        self.cardinalities = domain.cardinalities
        self.target_index = domain.target_index
        self.ordered, self.alone = domain.ordered, codes_alone(domain)
        self.forbidden: Forbidden = partial(forbidden_pairs, domain)
        self.most_records = bound or 1
        self._shards = shards
        self._domain = domain
        self._key = key
        self._bound = bound
        self._board = board
        self._call = call
        self._helpers = helpers
        self._rounds = 0
        self._weights: list[Weights] | None = None

    def count(self, questions: Sequence[CountQuestion]) -> list[Counts]:
        """Count the records of every cell of every table."""
        self._weigh()
        self._rounds += 1
        asked = Round(
            number=self._rounds,
            shards=len(self._shards),
            shard_bytes=self._shards.shard_bytes,
            cut=self._shards.cut,
            weighted=self._weights is not None,
            questions=tuple(questions),
        )
        with machinery():
            self._board.ask(asked)
        for _ in range(min(self._helpers, len(self._shards) - 1)):
            if not self._call():
                break  # a log line for every further shard would reveal how many there are
        sums = [np.zeros(question.shape, np.int64) for question in questions]
        for shard in range(len(self._shards)):
            with machinery():
                part = self._board.counts(asked, shard)
            add_counts(sums, self._counted(questions, shard) if part is None else part)
        with machinery():
            self._board.clear()
        return sums

    def _counted(self, questions: Sequence[CountQuestion], shard: int) -> list[Counts]:
        weights = None if self._weights is None else self._weights[shard]
        return count_shard(self._shards.read(shard), self._domain, questions, weights)

    def _weigh(self) -> None:
        """Compute the weights of the records once, and leave them for the helpers."""
        unit = self._domain.privacy_unit
        if unit is None or self._weights is not None:
            return
        self._weights = record_weights(self._shards, unit, key=self._key, bound=self._bound)
        with machinery():
            for shard, weights in enumerate(self._weights):
                self._board.put_weights(shard, weights)


class Helpers:
    """The processes that count the shards of one attempt: this one alone, or others with it. Closing leaves nothing behind."""

    def __init__(self, settings: Settings, work: Assignment, store: ObjectStore) -> None:
        self._settings = settings
        self._claim = work.claim
        self._board = CountBoard(
            store,
            job_id=work.claim.job_id,
            fence=work.claim.fence,
            randomness_key=work.randomness_key,
        )
        self._queue: CeleryQueue | None = None

    def counter(
        self,
        stored: Sequence[PrivateShards],
        domain: TableDomain,
        *,
        keys: Sequence[bytes],
        bound: int | None,
        alone: bool = False,
    ) -> Counter:
        """Make the counter of every owner's rows. It asks for help if the operator wants it and there is more than one shard.

        The rows of several owners are counted in this process alone.

        Args:
            alone: whether to ask for no help: helpers know the declared domain, and the training found other bins.
        """
        if len(stored) > 1:
            return JointCounter(
                [
                    StreamedCounter(StoredShards(each), domain, key=own, bound=bound)
                    for each, own in zip(stored, keys, strict=True)
                ]
            )
        shards, (key,) = StoredShards(stored[0]), keys
        helpers = self._settings.counting_helpers
        if alone or not helpers or len(shards) == 1:
            return StreamedCounter(shards, domain, key=key, bound=bound)
        from core.jobs.queue import CeleryQueue

        self._queue = CeleryQueue(self._settings.broker_url)
        call = partial(self._queue.enqueue_counting, self._claim.job_id, self._claim.fence)
        return SharedCounter(
            shards, domain, key=key, bound=bound, board=self._board, call=call, helpers=helpers
        )

    def close(self) -> None:
        """Delete what was exchanged, and disconnect from the broker."""
        if self._queue is not None:
            self._queue.close()
            with suppress(Exception):  # what stays is swept when the job ends, and its key is destroyed
                self._board.clear(all_rounds=True)


def help_counting(
    settings: Settings, *, database: Database, store: ObjectStore, job_id: UUID, fence: int
) -> int:
    """Count shards of a claimed job until none is missing. Returns how many.

    Raises:
        AttemptEnded: The claim is lost, or database or object store do not answer.
    """
    shards: PrivateShards | None = None
    done = 0
    while True:
        with machinery():
            work = read_assignment(database, job_id=job_id, fence=fence, master_keys=settings.master_keys)
            board = CountBoard(store, job_id=job_id, fence=fence, randomness_key=work.randomness_key)
            asked = board.asked()
            missing = [] if asked is None else board.missing(asked)
        if asked is None or not missing:
            return done
        assert isinstance(work.domain, TableDomain), "only tables are counted"
        shard = secrets.choice(missing)
        with storage():
            if shards is None:
                shards = PrivateShards(store, *work.only_rows, work.domain, shard_bytes=asked.shard_bytes)
            if shards.cut != asked.cut:
                return done  # another version of this program cuts the rows otherwise: a record could be counted twice
            weights = board.weights(shard) if asked.weighted else None
            if asked.weighted and weights is None:
                return done
            counts = count_shard(shards.read(shard), work.domain, asked.questions, weights)
        with machinery():
            read_assignment(database, job_id=job_id, fence=fence, master_keys=settings.master_keys)
            board.put_counts(asked, shard, counts)
        done += 1


def run(settings: Settings, *, database: Database, store: ObjectStore, claimed: UUID, fence: int) -> None:
    """Make this process ready to open rows, and help (workers.runner.Work)."""
    limit_memory(settings.training_memory_bytes)
    try:
        help_counting(settings, database=database, store=store, job_id=claimed, fence=fence)
    except AttemptEnded:
        raise
    except Exception:  # noqa: BLE001 - rows may have had a part in it: no log says that it happened
        raise AttemptEnded(ExitCode.DATA) from None
