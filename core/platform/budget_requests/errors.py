"""Errors of budget requests and of drawing on grants.

InvalidInput
  * GrantAboveRequest     422  more was to be granted than was asked for
  * ExpiryOutOfRange      422  the grant would end in the past, or in the far future
Forbidden
  * NotAMember            403  who asks for budget must be a member of the dataset
  * SecondPersonNeeded    403  nobody approves their own request
NotFound
  * RequestNotFound       404  no such budget request, or not for this principal
Conflict
  * RequestDecided        409  the request is no longer open
  * RequestAlreadyOpen    409  one open request per analyst and dataset
  * RequesterNotMember    409  who asked is no longer a member, so the grant could not be used
  * NoGrant               409  an analyst's order draws on a grant, and there is none
  * GrantAmbiguous        409  it fits in several, and the order names none
"""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from core.errors import Conflict, Forbidden, InvalidInput, NotFound


class GrantAboveRequest(InvalidInput):
    """An approval may be partial, but never give more than was asked for."""

    code = "grant-above-request"

    def __init__(self, *, epsilon: float, delta: float) -> None:
        super().__init__(
            "The approval would grant more than was asked for.",
            remedy="Approve at most the requested epsilon and delta; for more, a new request is filed.",
            requested_epsilon=epsilon,
            requested_delta=delta,
        )


class ExpiryOutOfRange(InvalidInput):
    """A grant ends after now and within ten years."""

    code = "expiry-out-of-range"

    def __init__(self, *, latest: datetime) -> None:
        super().__init__(
            "The grant would not end between now and ten years from now.",
            remedy="Choose a time in between, or leave it out for the default.",
            latest=latest.isoformat(),
        )


class NotAMember(Forbidden):
    """Only members of a dataset ask for its budget."""

    code = "not-a-member"
    default_detail = "Only members of a dataset may ask for a part of its budget."
    default_remedy = "Ask the dataset's owner or an admin to add you as a member."


class SecondPersonNeeded(Forbidden):
    """Who asks for budget, and would hold the grant, cannot approve it."""

    code = "second-person-needed"
    default_detail = "Nobody approves a request of their own."
    default_remedy = "Ask another person who is an admin or owns the dataset."


class RequestNotFound(NotFound):
    """There is no such budget request, or it is not for this principal."""

    code = "budget-request-not-found"
    default_detail = "There is no such budget request."
    default_remedy = "List the requests with GET /v1/budget-requests."


class RequestDecided(Conflict):
    """The request was approved, denied or withdrawn, or it has expired."""

    code = "budget-request-decided"

    def __init__(self, *, state: str) -> None:
        super().__init__(
            f"The budget request is no longer open: it is {state}.",
            remedy="A decision stands; what is needed beyond it is a new request.",
            state=state,
        )


class RequestAlreadyOpen(Conflict):
    """The analyst has an open request on this dataset."""

    code = "budget-request-open"

    def __init__(self, request_id: UUID) -> None:
        super().__init__(
            "You have an open budget request on this dataset.",
            remedy="Wait for its decision, or withdraw it and file another.",
            request_id=str(request_id),
        )


class RequesterNotMember(Conflict):
    """Who asked is no longer a member of the dataset, so a grant could not be used."""

    code = "requester-not-a-member"
    default_detail = "Who filed the request is no longer a member of the dataset."
    default_remedy = "Add the analyst as a member again, or deny the request."


class NoGrant(Conflict):
    """An analyst's order draws on a grant, and the analyst has no open one on this dataset."""

    code = "no-grant"
    default_detail = "You have no open grant on this dataset, and an order must draw on one."
    default_remedy = (
        "File a budget request with POST /v1/datasets/{id}/budget-requests; its approval makes a grant."
    )


class GrantAmbiguous(Conflict):
    """The order fits in several open grants of the analyst on this dataset, and names none."""

    code = "grant-ambiguous"

    def __init__(self, grant_ids: Sequence[UUID]) -> None:
        super().__init__(
            "The order fits in several of your open grants on this dataset, and does not say which one it draws on.",
            remedy="Name one of them as grant_id, or with --grant; GET /v1/datasets/{id}/grants lists them.",
            grant_ids=[str(grant_id) for grant_id in grant_ids],
        )
