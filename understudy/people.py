"""People as the client sees them: created and enrolled by an administrator, who makes no key for them."""

from collections.abc import Sequence
from typing import Any

from understudy.calls import Call
from understudy.documents import Json, take
from understudy.keys import ApiKey


def _document(document: object) -> Json:
    take(document, "principal_id")
    return dict(document) if isinstance(document, dict) else {}


def _items(document: object) -> tuple[Json, ...]:
    return tuple(_document(item) for item in take(document, "items")[0])


def create_person(*, name: str, roles: Sequence[str]) -> Call[Json]:
    """Create a person; the answer's ``enrolment`` holds the token, which is shown this once.

    Args:
        name: what everybody calls the person.
        roles: what the person's keys may be used for: owner, analyst, admin, auditor.
    """
    return Call(method="POST", path="/v1/people", read=_document, body={"name": name, "roles": list(roles)})


def list_people() -> Call[tuple[Json, ...]]:
    """Ask for everybody."""
    return Call(method="GET", path="/v1/people", read=_items)


def create_enrolment(principal_id: str) -> Call[Json]:
    """Make a new enrolment for a person; for one who has had keys it is a recovery. The answer holds the token, once."""
    return Call(method="POST", path=f"/v1/people/{principal_id}/enrolments", read=_document)


def list_enrolments() -> Call[tuple[Json, ...]]:
    """Ask for one's own enrolments, and as an admin or an auditor for everybody's."""
    return Call(method="GET", path="/v1/enrolments", read=_items)


def cancel_enrolment(enrolment_id: str) -> Call[Json]:
    """Take back an enrolment that waits, or a recovery that is still held."""
    return Call(method="DELETE", path=f"/v1/enrolments/{enrolment_id}", read=_document)


def accept_enrolment(token: str, *, name: str | None = None, expires_at: str | None = None) -> Call[ApiKey]:
    """Make one's first key with a token; the answer is the only time it is shown. It needs no key.

    Args:
        token: the token of the enrolment.
        name: what people call the key; None for the service's word.
        expires_at: a moment (ISO 8601), or ``never``; None for the service's default.
    """
    body: dict[str, Any] = {"token": token}
    given = {"name": name, "expires_at": expires_at}
    body |= {word: value for word, value in given.items() if value is not None}
    return Call(method="POST", path="/v1/enrolments", read=ApiKey.from_json, body=body)
