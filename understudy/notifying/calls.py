"""The requests about notifications, as values."""

from collections.abc import Sequence

from understudy.calls import Call
from understudy.documents import Json, take

_ENDPOINTS = "/v1/notifications/endpoints"


def create(channel: str, target: str, kinds: Sequence[str]) -> Call[Json]:
    """Register an endpoint; a webhook's answer holds its secret, once."""
    body = {"channel": channel, "target": target, "kinds": sorted(kinds)}
    return Call(method="POST", path=_ENDPOINTS, read=_whole, body=body)


def list_endpoints() -> Call[tuple[Json, ...]]:
    """Ask for one's endpoints."""
    return Call(method="GET", path=_ENDPOINTS, read=lambda document: tuple(take(document, "items")[0]))


def list_deliveries(endpoint_id: str, *, before: str | None) -> Call[tuple[tuple[Json, ...], str | None]]:
    """Ask for a page of what was told to an endpoint, newest first, and where the next page begins."""

    def read(document: object) -> tuple[tuple[Json, ...], str | None]:
        found, next_before = take(document, "items", "next_before")
        return tuple(found), next_before

    query: dict[str, str | int] = {"limit": 200}
    if before is not None:
        query["before"] = before
    return Call(method="GET", path=f"{_ENDPOINTS}/{endpoint_id}/deliveries", read=read, query=query)


def send_test(endpoint_id: str) -> Call[Json]:
    """Have a test told."""
    return Call(method="POST", path=f"{_ENDPOINTS}/{endpoint_id}/test", read=_whole)


def confirm(endpoint_id: str, code: str) -> Call[Json]:
    """Confirm an e-mail address by the code that was sent there."""
    return Call(method="POST", path=f"{_ENDPOINTS}/{endpoint_id}/confirm", read=_whole, body={"code": code})


def rotate(endpoint_id: str) -> Call[Json]:
    """Give a webhook a new secret; the answer holds it, once."""
    return Call(method="POST", path=f"{_ENDPOINTS}/{endpoint_id}/rotate", read=_whole)


def resume(endpoint_id: str) -> Call[Json]:
    """Have a paused endpoint told again."""
    return Call(method="POST", path=f"{_ENDPOINTS}/{endpoint_id}/resume", read=_whole)


def remove(endpoint_id: str) -> Call[None]:
    """Forget an endpoint."""
    return Call(method="DELETE", path=f"{_ENDPOINTS}/{endpoint_id}", read=lambda _document: None)


def _whole(document: object) -> Json:
    take(document)
    assert isinstance(document, dict)
    return document
