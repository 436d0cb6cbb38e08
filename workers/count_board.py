"""Where a training and its helpers exchange counts: sealed objects of one attempt, deleted once they are added up.

Exact counts of private rows lie in them, so they are sealed under a key derived from the job's randomness key, which is
destroyed when the job ends. Every object holds its key as associated data: none can be taken for another round, shard
or attempt.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import numpy as np
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from core.logs import get_logger
from core.storage.errors import ObjectMissing, SealBroken
from core.storage.objects import ObjectStore
from core.storage.sealing import open_bytes, seal_bytes
from models.counting.question import CountQuestion, Counts, Groups
from models.counting.units import Weights
from workers.places import count_folder

_PURPOSE: Final = b"understudy/counts/1"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Round:
    """What is asked of every shard at the moment.

    Args:
        number: From 1, in the order of the training's questions.
        shards: How many shards there are.
        shard_bytes: How large they are at least.
        cut: Where they begin and end; nobody may count others (`core.storage.private_rows.PrivateShards.cut`).
        weighted: Whether weights of the records lie beside the questions.
        questions: The tables.
    """

    number: int
    shards: int
    shard_bytes: int
    cut: str
    weighted: bool
    questions: tuple[CountQuestion, ...]


class CountBoard:
    """The objects of one attempt.

    Args:
        store: Where they lie.
        job_id: The job.
        fence: The attempt's fence.
        randomness_key: The job's 32 bytes.
    """

    def __init__(self, store: ObjectStore, *, job_id: UUID, fence: int, randomness_key: bytes) -> None:
        self._store = store
        self._folder = count_folder(job_id, fence)
        self._key = HKDF(SHA256(), 32, None, _PURPOSE).derive(randomness_key)

    def ask(self, asked: Round) -> None:
        """Show the helpers a round's questions, which replace those of the round before."""
        groupings: dict[bytes, int] = {}
        listed: list[list[int]] = []

        def place_of(groups: Groups | None) -> int | None:
            """Each grouping is written once, however many tables ask for it."""
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
        """The round that is being counted, if one is."""
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
        """Keep what the records of a shard count, for all rounds."""
        self._put(f"weights-{shard}", weights.astype("<u4").tobytes())

    def weights(self, shard: int) -> Weights | None:
        """What the records of a shard count, if it was kept."""
        found = self._get(f"weights-{shard}")
        return None if found is None else np.frombuffer(found, "<u4").astype(np.uint32)

    def put_counts(self, asked: Round, shard: int, counts: Sequence[Counts]) -> None:
        """Hand over the counts of a shard."""
        content = b"".join(np.ascontiguousarray(table, "<i8").tobytes() for table in counts)
        self._put(f"{asked.number}-{shard}", content)

    def counts(self, asked: Round, shard: int) -> list[Counts] | None:
        """The counts of a shard, if somebody has handed them over whole."""
        found = self._get(f"{asked.number}-{shard}")
        cells = sum(question.cells for question in asked.questions)
        if found is None or len(found) != 8 * cells:
            return None
        values = np.frombuffer(found, "<i8").astype(np.int64)
        ends = np.cumsum([question.cells for question in asked.questions])
        parts = np.split(values, ends[:-1])
        return [part.reshape(one.shape) for part, one in zip(parts, asked.questions, strict=True)]

    def missing(self, asked: Round) -> list[int]:
        """Shards of a round that nobody has handed over."""
        names = {found.key.rpartition("/")[2] for found in self._store.list(self._folder)}
        return [shard for shard in range(asked.shards) if f"{asked.number}-{shard}.sealed" not in names]

    def clear(self, *, all_rounds: bool = False) -> None:
        """Delete the questions and what was handed over; weights stay for later rounds unless there are none."""
        for found in list(self._store.list(self._folder)):
            if all_rounds or not found.key.rpartition("/")[2].startswith("weights-"):
                self._store.delete(found.key)

    def _put(self, name: str, content: bytes) -> None:
        key = f"{self._folder}/{name}.sealed"
        self._store.put_bytes(key, seal_bytes(self._key, content, context=key))

    def _get(self, name: str) -> bytes | None:
        """The content of an object; a damaged one is as good as none, for it is made again."""
        key = f"{self._folder}/{name}.sealed"
        try:
            return open_bytes(self._key, self._store.get_bytes(key), context=key)
        except ObjectMissing:
            return None
        except SealBroken:
            get_logger().warning("counts-damaged")
            return None
