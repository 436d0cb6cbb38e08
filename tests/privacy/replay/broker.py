"""Reading the queue as it lies in redis."""

import json
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import redis

from core.jobs.queue import TRAINING_QUEUES
from tests.privacy.replay.evidence import opened_message


@dataclass(frozen=True)
class Message:
    """One message as it was sent, and the job it names."""

    content: Any
    job_id: UUID


class Broker:
    """The redis of a test, emptied.

    Args:
        url: In kombu's form.
    """

    def __init__(self, url: str) -> None:
        path = url.removeprefix("redis+socket://").partition("?")[0]
        self._redis = redis.Redis(unix_socket_path=path)
        self._redis.flushall()

    def take(self) -> Message | None:
        """The oldest message, which is then gone."""
        taken = (self._redis.rpop(queue) for queue in TRAINING_QUEUES.values())
        raw = next((raw for raw in taken if raw is not None), None)
        if raw is None:
            return None
        assert isinstance(raw, bytes)
        content = opened_message(raw)
        return Message(content=content, job_id=UUID(json.loads(content["body"])[0][0]))

    def close(self) -> None:
        self._redis.close()
