"""Management of endpoints by their principals: register, confirm, test, rotate, resume, remove."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final
from uuid import UUID, uuid4

from sqlalchemy.orm import Session

from core.clock import Clock
from core.data.errors import SealBroken
from core.data.master_keys import MasterKeys
from core.db.outbox import Kind, add_event
from core.db.tables.notification_delivery import NotificationDelivery
from core.db.tables.notification_endpoint import NotificationEndpoint
from core.platform.access.roles import Principal
from core.platform.notifications import repository
from core.platform.notifications.details import CODE_LIFETIME, CODE_TRIES, SECRET_BYTES, Details, code_matches
from core.platform.notifications.errors import (
    CodeRefused,
    EndpointNotFound,
    EndpointNotReady,
    KeyNeeded,
    TestedJustNow,
)
from core.platform.quotas.checks import require_endpoint

TESTS_APART: Final = timedelta(minutes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Registry:
    """The endpoints of principals, inside the caller's transaction.

    Args:
        overlap: How long messages are also signed with the old secret after a rotation.
    """

    master_keys: MasterKeys
    clock: Clock
    entropy: Callable[[int], bytes]
    limit: int
    overlap: timedelta

    def register(
        self, session: Session, principal: Principal, *, channel: str, target: str, kinds: Sequence[Kind]
    ) -> tuple[NotificationEndpoint, Details]:
        """Create an endpoint. A webhook is active at once, an e-mail address after confirmation.

        Args:
            principal: Its owner, authenticated by a key or a session.
            target: The address, already validated.
            kinds: Subscribed kinds; empty for all.

        Raises:
            KeyNeeded: The principal presented a bearer token.
            QuotaExceeded: The limit is reached, or twice as many were made within a day.
        """
        if not principal.has_key:
            raise KeyNeeded
        now = self.clock.now()
        require_endpoint(session, principal.id, limit=self.limit, since=now - timedelta(days=1))
        details = Details(target=target, secret=self.entropy(SECRET_BYTES))
        endpoint_id = uuid4()
        row = NotificationEndpoint(
            id=endpoint_id,
            principal_id=principal.id,
            key_id=principal.key_id,
            channel=channel,
            kinds=sorted(kind.value for kind in kinds),
            state="active" if channel == "webhook" else "unconfirmed",
            wrapped_details=details.seal(self.master_keys, endpoint_id),
            created_at=now,
        )
        repository.add(session, row)
        if channel == "email":
            self._queue(session, row, Kind.CONFIRM)
        return row, details

    def found(
        self, session: Session, principal: Principal, endpoint_id: UUID, *, for_update: bool = False
    ) -> NotificationEndpoint:
        """An endpoint of the principal.

        Raises:
            EndpointNotFound: No such endpoint, or another principal's.
        """
        row = repository.endpoint_of(session, endpoint_id, principal.id, for_update=for_update)
        if row is None:
            raise EndpointNotFound
        return row

    def details(self, row: NotificationEndpoint) -> Details:
        """The sealed part of an endpoint that is not removed."""
        assert row.wrapped_details is not None
        return Details.open(row.wrapped_details, self.master_keys, row.id)

    def target(self, row: NotificationEndpoint) -> str:
        """The address of an endpoint; a dash if it cannot be opened, so the endpoint can still be removed."""
        try:
            return self.details(row).target
        except SealBroken:
            return "-"

    def test(self, session: Session, principal: Principal, endpoint_id: UUID) -> NotificationDelivery:
        """Queue a test for an active endpoint, at most one a minute.

        Raises:
            EndpointNotFound, EndpointNotReady, TestedJustNow: See there.
        """
        row = self.found(session, principal, endpoint_id, for_update=True)
        if row.state != "active":
            raise EndpointNotReady(
                f"The endpoint is {row.state}, so it receives nothing.",
                remedy="Confirm the address, or resume the endpoint.",
            )
        last = repository.newest_of_kind(session, row.id, Kind.TEST.value)
        if last is not None and (left := last + TESTS_APART - self.clock.now()) > timedelta(0):
            raise TestedJustNow(retry_after_seconds=max(1, -(-left // timedelta(seconds=1))))
        return self._queue(session, row, Kind.TEST)

    def rotate(
        self, session: Session, principal: Principal, endpoint_id: UUID
    ) -> tuple[NotificationEndpoint, Details]:
        """Give a webhook a new secret; for a while messages are signed with both.

        Raises:
            EndpointNotFound: No such endpoint.
            EndpointNotReady: It is not a webhook.
        """
        row = self.found(session, principal, endpoint_id, for_update=True)
        if row.channel != "webhook":
            raise EndpointNotReady("Only webhooks have a secret.", remedy="Remove the address instead.")
        old = self.details(row)
        new = replace(
            old,
            secret=self.entropy(SECRET_BYTES),
            previous=old.secret,
            previous_until=self.clock.now() + self.overlap,
        )
        row.wrapped_details = new.seal(self.master_keys, row.id)
        session.flush()
        return row, new

    def confirm(
        self, session: Session, principal: Principal, endpoint_id: UUID, code: str
    ) -> NotificationEndpoint:
        """Confirm an address with the code that was sent to it. Wrong codes are counted.

        Returns the endpoint, still unconfirmed if the code was wrong: the failed try must be committed, so
        the caller refuses.

        Raises:
            EndpointNotFound: No such endpoint.
            EndpointNotReady: It is not waiting for confirmation.
            CodeRefused: Too many wrong codes were tried, or the code has expired.
        """
        row = self.found(session, principal, endpoint_id, for_update=True)
        if row.state != "unconfirmed":
            raise EndpointNotReady(f"The endpoint is {row.state}.", remedy="There is nothing to confirm.")
        if row.confirm_tries >= CODE_TRIES or self.clock.now() - row.created_at > CODE_LIFETIME:
            raise CodeRefused(tries_left=0)
        if code_matches(code, secret=self.details(row).secret):
            row.state = "active"
        else:
            row.confirm_tries += 1
        session.flush()
        return row

    def resume(self, session: Session, principal: Principal, endpoint_id: UUID) -> NotificationEndpoint:
        """Reactivate a paused endpoint, from now on with the rights of the key in use.

        Raises:
            EndpointNotFound: No such endpoint.
            EndpointNotReady: It is not paused.
            KeyNeeded: The principal presented a bearer token.
        """
        row = self.found(session, principal, endpoint_id, for_update=True)
        if row.state != "paused":
            raise EndpointNotReady(f"The endpoint is {row.state}.", remedy="There is nothing to resume.")
        if not principal.has_key:
            raise KeyNeeded
        row.state, row.paused_because, row.key_id = "active", None, principal.key_id
        session.flush()
        return row

    def remove(self, session: Session, principal: Principal, endpoint_id: UUID) -> None:
        """Remove an endpoint with its address and secrets. Its pending deliveries are dropped.

        Raises:
            EndpointNotFound: No such endpoint.
        """
        row = self.found(session, principal, endpoint_id, for_update=True)
        row.state, row.paused_because = "removed", None
        row.wrapped_details, row.removed_at = None, self.clock.now()
        repository.drop_waiting(session, row.id, outcome="removed")
        session.flush()

    def _queue(self, session: Session, row: NotificationEndpoint, kind: Kind) -> NotificationDelivery:
        """Queue an event for this endpoint only."""
        now = self.clock.now()
        event_id = add_event(
            session,
            kind,
            dataset_id=None,
            at=now,
            about=row.principal_id,
            spread_at=now,
            ids={"endpoint_id": row.id},
        )
        delivery = NotificationDelivery(
            id=uuid4(), event_id=event_id, endpoint_id=row.id, state=repository.WAITING, attempts=0, next_at=now,
            created_at=now,
        )  # fmt: skip
        repository.add(session, delivery)
        return delivery
