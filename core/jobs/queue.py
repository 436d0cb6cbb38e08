"""Messages to the workers. A job's row is the truth; a message is a hint that may be lost or doubled."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol
from uuid import UUID

from celery import Celery
from kombu.exceptions import KombuError
from redis.exceptions import RedisError

from core.logs import current_request_id, get_logger

TRAINING_TASK: Final = "understudy.train"
MEASURING_TASK: Final = "understudy.measure"
REPORT_TASK: Final = "understudy.report"
TRAINING_QUEUES: Final[Mapping[str, str]] = {"cpu": "train.cpu", "gpu": "train.gpu"}
"""The queue of the trainings of each kind of device."""
ANY_DEVICE_QUEUE: Final = "celery"
"""Trainings that were ordered before there were kinds of devices wait here."""
REPORTS_QUEUE: Final = "reports"
"""Utility reports and owner reports wait here, so that no training keeps them waiting."""
COUNTING_TASK: Final = "understudy.count"
COUNTING_QUEUE: Final = "counting"
"""Served only by workers that do nothing else: how long counting takes depends on rows."""
SILENCE_SECONDS: Final = 20.0

_SENDING: Final = {"max_retries": 2, "interval_start": 0, "interval_step": 0.1, "interval_max": 0.3}


class Queue(Protocol):
    """Where jobs and owner reports are announced, always after the commit that ordered them."""

    def enqueue_training(self, job_id: UUID, *, device: str | None = None) -> None:
        """Announce a waiting training to the workers of a kind of device; of None, to the queue without a kind.

        A broker that is away raises nothing: upkeep sends the job again.
        """

    def enqueue_measuring(self, job_id: UUID) -> None:
        """Announce the job of a utility report to the workers of reports, in the same way."""

    def enqueue_report(self, report_id: UUID) -> None:
        """Announce an owner report to the workers of reports, in the same way."""


class CeleryQueue:
    """Sends by task name, so that the API need not import the workers."""

    def __init__(self, broker_url: str) -> None:
        """Prepare the sender; nothing is connected yet.

        Args:
            broker_url: as kombu reads it: `redis://`, `redis+socket://`, `memory://`.
        """
        self._app = Celery("understudy", broker=broker_url, set_as_current=False)
        self._app.conf.update(
            broker_transport_options=broker_transport_options() | _sender_options(broker_url),
            broker_connection_timeout=2,
            task_ignore_result=True,
        )

    def enqueue_training(self, job_id: UUID, *, device: str | None = None) -> None:
        """Send the message. If the broker is away, log that and leave the rest to upkeep."""
        queue = ANY_DEVICE_QUEUE if device is None else TRAINING_QUEUES[device]
        self._send(TRAINING_TASK, job_id, named="job_id", queue=queue)

    def enqueue_measuring(self, job_id: UUID) -> None:
        """The same for the job of a utility report."""
        self._send(MEASURING_TASK, job_id, named="job_id", queue=REPORTS_QUEUE)

    def enqueue_report(self, report_id: UUID) -> None:
        """The same for an owner report."""
        self._send(REPORT_TASK, report_id, named="report_id", queue=REPORTS_QUEUE)

    def enqueue_counting(self, job_id: UUID, fence: int) -> bool:
        """Ask for help with an attempt's counting; the attempt does not depend on it. Returns whether the message was sent."""
        return self._send(COUNTING_TASK, job_id, named="job_id", more=[fence], queue=COUNTING_QUEUE)

    def _send(
        self, task: str, subject: UUID, *, named: str, more: Sequence[int] = (), queue: str | None = None
    ) -> bool:
        request_id = current_request_id()
        try:
            self._app.send_task(
                task,
                args=[str(subject), *more],
                queue=queue,
                headers={} if request_id is None else {"request_id": request_id},
                ignore_result=True,
                retry=True,
                retry_policy=_SENDING,
            )
        except (KombuError, RedisError, OSError) as error:
            get_logger().warning("broker-away", kind=type(error).__name__, **{named: str(subject)})
            return False
        return True

    def close(self) -> None:
        """Close the connections to the broker."""
        self._app.close()


def broker_transport_options() -> dict[str, Any]:
    """How redis treats unacknowledged messages; the same for senders and workers."""
    return {
        # Seconds until a message whose worker died is delivered again. A training may last longer: the second delivery
        # stops at the claim, because the first one's lease is alive.
        "visibility_timeout": 3600,
        # Search for such messages often; by default only every hundredth time.
        "unacked_restore_interval": 10,
        "unacked_restore_throttle": 1,
        # Ends a wait for a broker that fell silent. A worker leaves when redis reports a full disk; without the timeout
        # it could then wait for redis for ever, alive and deaf.
        "socket_timeout": SILENCE_SECONDS,
    }


def _sender_options(broker_url: str) -> dict[str, Any]:
    """Short timeouts and few retries, on the sending side only: a request must not hang because the broker does."""
    timeouts = (
        {"socket_timeout": 2.0, "socket_connect_timeout": 1.0} if broker_url.startswith("redis") else {}
    )
    return timeouts | _SENDING
