"""Delivery of notifications: deliveries are created, claimed, sent and recorded, each in its own transaction.

Nothing is sent while a transaction is open. A claimed delivery is under a lease (core.jobs.leases). A process that dies
in between may have sent it without recording that, so it is sent again under the next claim: at-least-once delivery, with
the same id. Rights end and keys are revoked, so the rights of an endpoint are checked again before every attempt.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from datetime import datetime, timedelta
from typing import Final, Protocol
from uuid import UUID

from sqlalchemy.orm import Session

from core.clock import Clock
from core.data.errors import SealBroken
from core.data.master_keys import MasterKeys
from core.db.outbox import Kind
from core.db.session import Database
from core.db.tables.notification_delivery import NotificationDelivery
from core.db.tables.notification_endpoint import NotificationEndpoint
from core.db.tables.notification_event import NotificationEvent
from core.jobs.errors import LeaseLost
from core.jobs.leases import this_process
from core.ledger import audit_log
from core.logs import get_logger
from core.platform.access.directory import principal_of
from core.platform.access.roles import Principal
from core.platform.notifications import repository
from core.platform.notifications.attempts import DELIVERED, GONE, MAX_ATTEMPTS, wait_after
from core.platform.notifications.details import Details
from core.platform.notifications.messages import RECOVERIES, Batch, Message, message_of
from core.platform.notifications.repository import DELIVERIES

ACTOR: Final = "upkeep"
EVENTS_AT_ONCE: Final = 200
ENDPOINTS_AT_ONCE: Final = 50
MESSAGES_AT_ONCE: Final = 20
LEASE_SECONDS: Final = 120.0
"""Longer than a round, which renews no lease."""
SENDING_SECONDS: Final = 20.0
SENDERS: Final = 8
KEY_ENDED: Final = "key-ended"
UNREACHABLE: Final = "unreachable"
TOO_SLOW: Final = "timeout"
BROKE_OFF: Final = "broke-off"
_LONGEST_CHAIN: Final = 1000
"""How many rotations of a key are followed."""


class Transport(Protocol):
    """A delivery channel."""

    def send(self, batch: Batch, *, at: datetime) -> Sequence[str]:
        """Deliver messages in order until one fails. Returns an outcome code for each that was tried; never raises."""


class Dispatcher:
    """Runs rounds of delivery.

    Args:
        transports: By channel; deliveries to a channel without a transport wait.
        entropy: Random bytes for the jitter of retries.
        digest: Minimum time between two e-mails to one address.
        retention: How long finished deliveries stay in the log.
    """

    def __init__(
        self,
        database: Database,
        *,
        master_keys: MasterKeys,
        clock: Clock,
        transports: Mapping[str, Transport],
        entropy: Callable[[int], bytes],
        digest: timedelta,
        retention: timedelta,
    ) -> None:
        self._database = database
        self._master_keys = master_keys
        self._clock = clock
        self._transports = transports
        self._entropy = entropy
        self._digest = digest
        self._retention = retention
        self._senders = ThreadPoolExecutor(SENDERS, thread_name_prefix="notify")

    def round(self) -> int:
        """Deliver what is due. Returns how many deliveries were tried."""
        with self._database.transaction() as session:
            self._make_deliveries(session)
        with self._database.transaction() as session:
            batches = self._take(session)
        tried = 0
        for batch, outcomes in self._send(batches):
            with self._database.transaction() as session:
                self._note(session, batch, outcomes)
            tried += len(outcomes)
        return tried

    def forget(self) -> int:
        """Delete deliveries and events that finished long ago. Returns how many events."""
        with self._database.transaction() as session:
            return repository.forget(session, before=self._clock.now() - self._retention)

    def close(self) -> None:
        """Shut down the threads without waiting for hanging ones."""
        self._senders.shutdown(wait=False, cancel_futures=True)

    def _make_deliveries(self, session: Session) -> None:
        """Create the deliveries of new events, for every endpoint that may receive them now."""
        taken = repository.new_events(session, limit=EVENTS_AT_ONCE)
        # Events of one moment, such as one coarse boundary, are ordered by name: ids are random.
        events = {
            event.id: event for event in sorted(taken, key=lambda event: (event.at, event.kind, event.id))
        }
        if not events:
            return
        now = self._clock.now()
        for endpoint in repository.active_endpoints(session):
            principal = _live_principal(session, endpoint.key_id, at=now)
            if principal is None:
                self._pause(session, endpoint, KEY_ENDED)
                continue
            permitted = _deliverable_to(session, endpoint, events, principal=principal)
            in_order = [event_id for event_id in events if event_id in permitted]
            repository.add_deliveries(session, in_order, endpoint.id, at=now)
        repository.mark_old(session, events.keys(), at=now)

    def _take(self, session: Session) -> Sequence[Batch]:
        """Claim due deliveries, by endpoint. Deliveries whose recipient lost the right to know are dropped here."""
        now = self._clock.now()
        waiting = repository.due_endpoints(session, at=now, limit=ENDPOINTS_AT_ONCE)
        batches = []
        for endpoint_id in sorted(waiting):
            endpoint = repository.lock_endpoint_if_free(session, endpoint_id)
            batch = None if endpoint is None else self._batch_for(session, endpoint, now=now)
            if batch is not None:
                batches.append(batch)
        return batches

    def _batch_for(self, session: Session, endpoint: NotificationEndpoint, *, now: datetime) -> Batch | None:
        principal = _live_principal(session, endpoint.key_id, at=now)
        if principal is None or endpoint.wrapped_details is None:
            self._pause(session, endpoint, KEY_ENDED)
            return None
        try:
            details = Details.open(endpoint.wrapped_details, self._master_keys, endpoint.id)
        except SealBroken:
            self._pause(session, endpoint, "sealed")
            return None
        due = repository.due_deliveries(session, endpoint.id, at=now, limit=MESSAGES_AT_ONCE)
        permitted = set(
            _deliverable_to(session, endpoint, {event.id: event for _, event in due}, principal=principal)
        )
        kept: list[Message] = []
        for delivery, event in due:
            confirms = event.kind == Kind.CONFIRM
            if event.id not in permitted or endpoint.state != ("unconfirmed" if confirms else "active"):
                _end(
                    delivery,
                    repository.DROPPED,
                    outcome="not-visible" if event.id not in permitted else "not-active",
                )
            elif (held_until := self._held_until(endpoint, event)) > now:
                delivery.next_at = held_until
            else:
                DELIVERIES.take(delivery, now=now, seconds=LEASE_SECONDS, owner=this_process())
                kept.append(message_of(event, delivery))
        session.flush()
        if not kept:
            return None
        return Batch(endpoint_id=endpoint.id, channel=endpoint.channel, details=details, messages=kept)

    def _held_until(self, endpoint: NotificationEndpoint, event: NotificationEvent) -> datetime:
        """Until when an event waits to be batched into one e-mail with others."""
        asked_for = event.kind in {Kind.TEST, Kind.CONFIRM}
        if endpoint.channel == "webhook" or asked_for or endpoint.answered_at is None:
            return event.at
        return endpoint.answered_at + self._digest

    def _send(self, batches: Sequence[Batch]) -> Sequence[tuple[Batch, Sequence[str]]]:
        now = self._clock.now()
        running: list[tuple[Batch, Future[Sequence[str]]]] = [
            (batch, self._senders.submit(self._transports[batch.channel].send, batch, at=now))
            for batch in batches
            if batch.channel in self._transports
        ]
        wait([future for _, future in running], timeout=SENDING_SECONDS)
        return [(batch, _outcomes(future)) for batch, future in running]

    def _note(self, session: Session, batch: Batch, outcomes: Sequence[str]) -> None:
        """Record the outcomes of a batch. Messages that were not tried wait as long as the failed one before them."""
        now = self._clock.now()
        endpoint = repository.lock_endpoint(session, batch.endpoint_id)
        pause: str | None = None
        again_at = now
        for index, message in enumerate(batch.messages):
            try:
                delivery = DELIVERIES.locked(session, message.delivery_id, fence=message.fence)
            except LeaseLost:  # dropped meanwhile, or claimed again
                continue
            DELIVERIES.put_back(delivery)
            if index >= len(outcomes):
                delivery.next_at = again_at
                continue
            outcome = outcomes[index]
            delivery.attempts += 1
            delivery.tried_at, delivery.outcome = now, outcome
            if outcome == DELIVERED:
                endpoint.answered_at = now
                _end(delivery, DELIVERED, outcome=outcome)
            elif outcome == GONE or delivery.attempts >= MAX_ATTEMPTS:
                _end(delivery, "failed", outcome=outcome)
                answered = endpoint.answered_at is not None and endpoint.answered_at >= delivery.created_at
                pause = "gone" if outcome == GONE else pause if answered else UNREACHABLE
            else:
                again_at = now + wait_after(delivery.attempts, entropy=self._entropy)
                delivery.next_at = again_at
        session.flush()
        if pause is not None:
            self._pause(session, endpoint, pause)

    def _pause(self, session: Session, endpoint: NotificationEndpoint, reason: str) -> None:
        """Pause an endpoint until its owner resumes it, and drop its pending deliveries."""
        endpoint = repository.lock_endpoint(session, endpoint.id)
        repository.drop_waiting(session, endpoint.id, outcome=f"paused-{reason}")
        # An unconfirmed endpoint is not paused: resuming it would make it active without confirmation.
        if endpoint.state == "active":
            endpoint.state, endpoint.paused_because = "paused", reason
            audit_log.append(
                session,
                actor=ACTOR,
                action="notification.pause",
                object=str(endpoint.id),
                outcome=reason,
                at=self._clock.now(),
            )
        session.flush()


def _end(delivery: NotificationDelivery, state: str, *, outcome: str) -> None:
    DELIVERIES.end(delivery, state)
    delivery.next_at, delivery.outcome = None, outcome


def _outcomes(future: Future[Sequence[str]]) -> Sequence[str]:
    """Return the transport's answer: `()` if the call was cancelled before it started, a timeout if it was still running.

    A call can hang in name resolution, which has no timeout of ours. An exception is a bug or an unusable
    setting; it must not delay other endpoints.
    """
    if future.cancel():
        return ()
    if not future.done():
        return (TOO_SLOW,)
    error = future.exception()
    if error is None:
        return future.result()
    get_logger().error("notification-broke-off", kind=type(error).__name__)
    return (BROKE_OFF,)


def _live_principal(session: Session, key_id: UUID, *, at: datetime) -> Principal | None:
    """The principal of a live key, or of the successor that it was rotated to; None if it has ended.

    Revoking a key also ends its endpoints if it had been rotated before: revocation means that the key may be
    compromised.
    """
    for _ in range(_LONGEST_CHAIN):
        row = repository.key_of(session, key_id)
        if row is None or row.revoked_at is not None:
            return None
        if row.expires_at is None or row.expires_at > at:
            return principal_of(row)
        if row.replaced_by is None:
            return None
        key_id = row.replaced_by
    return None


def _deliverable_to(
    session: Session,
    endpoint: NotificationEndpoint,
    events: Mapping[UUID, NotificationEvent],
    *,
    principal: Principal,
) -> Collection[UUID]:
    """The subset of these events that an endpoint subscribes to and that its principal may see now."""
    wanted = [
        event_id
        for event_id, event in events.items()
        if not endpoint.kinds or event.kind in endpoint.kinds or _is_mandatory(event, principal)
    ]
    return repository.visible_events(session, principal, wanted) if wanted else ()


def _is_mandatory(event: NotificationEvent, principal: Principal) -> bool:
    """Events an endpoint cannot opt out of: requested tests, and recoveries of its principal."""
    kind = Kind(event.kind)
    return kind in {Kind.TEST, Kind.CONFIRM} or (kind in RECOVERIES and event.about == principal.id)
