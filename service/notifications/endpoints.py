"""Notifications: a principal's endpoints for events on its datasets, and their deliveries."""

from datetime import timedelta
from uuid import UUID

from fastapi import APIRouter

from core.platform.access.errors import RateExceeded
from core.platform.notifications import errors, repository
from core.platform.notifications.addresses import parse_target
from core.platform.notifications.details import CODE_TRIES
from core.platform.notifications.mail import parse_address
from core.platform.notifications.registering import Registry
from core.platform.quotas.errors import QuotaExceeded
from service.audit import record
from service.context import AppContext
from service.dependencies import CurrentPrincipal, InjectedContext, OpenSession
from service.notifications.schemas import (
    Confirmation,
    DeliveryPage,
    EndpointList,
    EndpointOrder,
    EndpointView,
    NewEndpoint,
    TestAsked,
)
from service.problem import problems
from service.strict_route import StrictRoute
from service.wire import DEFAULT_PAGE, Before, PageSize

router = APIRouter(prefix="/notifications/endpoints", tags=["notifications"], route_class=StrictRoute)


def registry_of(context: AppContext) -> Registry:
    """The registry of this deployment's notification endpoints."""
    return Registry(
        master_keys=context.settings.master_keys,
        clock=context.clock,
        entropy=context.entropy,
        limit=context.settings.quota_notification_endpoints,
        overlap=timedelta(seconds=context.settings.key_overlap_seconds),
    )


@router.post(
    "",
    status_code=201,
    summary="Register an endpoint",
    responses=problems(errors.TargetRefused, errors.KeyNeeded, errors.MailNotSet, QuotaExceeded),
)
def create_endpoint(
    order: EndpointOrder, principal: CurrentPrincipal, context: InjectedContext, session: OpenSession
) -> NewEndpoint:
    """Notify the caller of future events on the datasets that it can see.

    Webhooks are signed according to the Standard Webhooks specification; the response contains the secret, which cannot
    be shown again. An e-mail address gets a code, and no notifications until the code is confirmed. The endpoint has the
    rights of the key that registers it and ends with it; they are checked again before every message.
    """
    registry = registry_of(context)
    if order.channel == "webhook":
        parse_target(order.target, plain_allowed=context.settings.mode == "embedded")
    elif context.settings.smtp_host is None:
        raise errors.MailNotSet
    else:
        parse_address(order.target)
    row, details = registry.register(
        session, principal, channel=order.channel, target=order.target, kinds=sorted(order.kinds)
    )
    record(session, principal, action="notification.create", object_id=row.id, clock=context.clock)
    return NewEndpoint.with_secret(row, details)


@router.get("", summary="List endpoints")
def list_endpoints(
    principal: CurrentPrincipal, context: InjectedContext, session: OpenSession
) -> EndpointList:
    """The endpoints of the caller's principal, registered with any of its keys, oldest first."""
    registry = registry_of(context)
    rows = repository.endpoints_of(session, principal.id)
    return EndpointList(items=[EndpointView.of(row, registry.target(row)) for row in rows])


@router.get("/{endpoint_id}", summary="Read an endpoint", responses=problems(errors.EndpointNotFound))
def read_endpoint(
    endpoint_id: UUID, principal: CurrentPrincipal, context: InjectedContext, session: OpenSession
) -> EndpointView:
    """Its address, event kinds and state."""
    registry = registry_of(context)
    row = registry.found(session, principal, endpoint_id)
    return EndpointView.of(row, registry.target(row))


@router.get(
    "/{endpoint_id}/deliveries", summary="List deliveries", responses=problems(errors.EndpointNotFound)
)
def list_deliveries(
    endpoint_id: UUID,
    principal: CurrentPrincipal,
    context: InjectedContext,
    session: OpenSession,
    limit: PageSize = DEFAULT_PAGE,
    before: Before = None,
) -> DeliveryPage:
    """Deliveries to an endpoint, newest first, with the outcome of the last attempt. Receivers' responses are not stored.

    The list contains only events that the calling key may see now, regardless of the key that registered the endpoint.
    """
    registry_of(context).found(session, principal, endpoint_id)
    rows = repository.deliveries_page(session, endpoint_id, principal, limit=limit + 1, before=before)
    return DeliveryPage.of(rows, limit=limit)


@router.post(
    "/{endpoint_id}/test",
    status_code=202,
    summary="Send a test",
    responses=problems(errors.EndpointNotFound, errors.EndpointNotReady, errors.TestedJustNow, RateExceeded),
)
def test_endpoint(
    endpoint_id: UUID, principal: CurrentPrincipal, context: InjectedContext, session: OpenSession
) -> TestAsked:
    """Send an event of the kind `test` to this endpoint, regardless of its chosen kinds; at most one a minute."""
    delivery = registry_of(context).test(session, principal, endpoint_id)
    record(session, principal, action="notification.test", object_id=endpoint_id, clock=context.clock)
    return TestAsked(delivery_id=delivery.id)


test_endpoint.__test__ = False  # type: ignore[attr-defined]  # not a test for pytest, despite its name


@router.post(
    "/{endpoint_id}/confirm",
    summary="Confirm an e-mail address",
    responses=problems(errors.EndpointNotFound, errors.EndpointNotReady, errors.CodeRefused),
)
def confirm_endpoint(
    endpoint_id: UUID, order: Confirmation, principal: CurrentPrincipal, context: InjectedContext
) -> EndpointView:
    """Confirm an address with the code sent to it. Five wrong codes, or one day, invalidate the code."""
    registry = registry_of(context)
    # A separate transaction, because a refusal rolls back the request's own: a wrong code must count.
    with context.database.transaction() as session:
        row = registry.confirm(session, principal, endpoint_id, order.code)
        if row.state == "active":
            record(
                session, principal, action="notification.confirm", object_id=endpoint_id, clock=context.clock
            )
    if row.state != "active":
        raise errors.CodeRefused(tries_left=CODE_TRIES - row.confirm_tries)
    return EndpointView.of(row, registry.target(row))


@router.post(
    "/{endpoint_id}/rotate",
    status_code=201,
    summary="Rotate a webhook's secret",
    responses=problems(errors.EndpointNotFound, errors.EndpointNotReady),
)
def rotate_endpoint(
    endpoint_id: UUID, principal: CurrentPrincipal, context: InjectedContext, session: OpenSession
) -> NewEndpoint:
    """Replace a webhook's secret. Messages are signed with both secrets for as long as a rotated API key stays valid."""
    row, details = registry_of(context).rotate(session, principal, endpoint_id)
    record(session, principal, action="notification.rotate", object_id=endpoint_id, clock=context.clock)
    return NewEndpoint.with_secret(row, details)


@router.post(
    "/{endpoint_id}/resume",
    summary="Resume a paused endpoint",
    responses=problems(errors.EndpointNotFound, errors.EndpointNotReady, errors.KeyNeeded),
)
def resume_endpoint(
    endpoint_id: UUID, principal: CurrentPrincipal, context: InjectedContext, session: OpenSession
) -> EndpointView:
    """Resume a paused endpoint, from now on with the rights of the calling key. Events missed while paused are not sent."""
    registry = registry_of(context)
    row = registry.resume(session, principal, endpoint_id)
    record(session, principal, action="notification.resume", object_id=endpoint_id, clock=context.clock)
    return EndpointView.of(row, registry.target(row))


@router.delete(
    "/{endpoint_id}",
    status_code=204,
    summary="Remove an endpoint",
    responses=problems(errors.EndpointNotFound),
)
def remove_endpoint(
    endpoint_id: UUID, principal: CurrentPrincipal, context: InjectedContext, session: OpenSession
) -> None:
    """Delete an endpoint, its address and its secret. Pending deliveries are dropped."""
    registry_of(context).remove(session, principal, endpoint_id)
    record(session, principal, action="notification.remove", object_id=endpoint_id, clock=context.clock)
