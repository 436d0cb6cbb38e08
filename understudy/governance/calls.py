"""The requests about members, budget requests, grants and freezing, as values."""

import uuid
from collections.abc import Mapping
from typing import Any

from understudy.budgets.results import Budget
from understudy.calls import Call, items
from understudy.documents import Json, take
from understudy.governance.results import BudgetRequest, Grant, Identity, Member, WhatIf


def who_am_i() -> Call[Identity]:
    """Ask whom the key speaks for."""
    return Call(method="GET", path="/v1/session", read=Identity.from_json)


def list_members(dataset_id: str) -> Call[tuple[Member, ...]]:
    """Ask to whom a dataset is shown."""
    return Call(method="GET", path=f"/v1/datasets/{dataset_id}/members", read=items(Member.from_json))


def add_member(dataset_id: str, principal_id: str) -> Call[tuple[Member, ...]]:
    """Show a dataset to an analyst."""
    path = f"/v1/datasets/{dataset_id}/members/{principal_id}"
    return Call(method="PUT", path=path, read=items(Member.from_json))


def remove_member(dataset_id: str, principal_id: str) -> Call[tuple[Member, ...]]:
    """Show a dataset to an analyst no longer."""
    path = f"/v1/datasets/{dataset_id}/members/{principal_id}"
    return Call(method="DELETE", path=path, read=items(Member.from_json))


def file_request(dataset_id: str, *, epsilon: float, delta: float, purpose: str) -> Call[BudgetRequest]:
    """Ask for a part of a dataset's budget."""
    return Call(
        method="POST",
        path=f"/v1/datasets/{dataset_id}/budget-requests",
        read=BudgetRequest.from_json,
        body={"epsilon": epsilon, "delta": delta, "purpose": purpose},
    )


def list_requests(
    *, state: str | None, before: str | None
) -> Call[tuple[tuple[BudgetRequest, ...], str | None]]:
    """Ask for a page of the budget requests that the key may see and where the next page begins."""

    def read(document: object) -> tuple[tuple[BudgetRequest, ...], str | None]:
        found, next_before = take(document, "items", "next_before")
        return tuple(BudgetRequest.from_json(item) for item in found), next_before

    query: dict[str, str | int] = {"limit": 200}
    query |= {name: text for name, text in (("state", state), ("before", before)) if text}
    return Call(method="GET", path="/v1/budget-requests", read=read, query=query)


def read_request(request_id: str) -> Call[BudgetRequest]:
    """Ask where a budget request stands."""
    return Call(method="GET", path=f"/v1/budget-requests/{request_id}", read=BudgetRequest.from_json)


def approve_request(
    request_id: str,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    note: str | None = None,
    expires_at: str | None = None,
) -> Call[BudgetRequest]:
    """Grant what was asked for, or less of it. The idempotency key makes a repetition the same approval."""
    body = {"epsilon": epsilon, "delta": delta, "note": note, "expires_at": expires_at}
    return Call(
        method="POST",
        path=f"/v1/budget-requests/{request_id}/approve",
        read=BudgetRequest.from_json,
        body=_told(body),
        headers={"Idempotency-Key": uuid.uuid4().hex},
    )


def deny_request(request_id: str, *, note: str) -> Call[BudgetRequest]:
    """Grant nothing, and say why."""
    return Call(
        method="POST",
        path=f"/v1/budget-requests/{request_id}/deny",
        read=BudgetRequest.from_json,
        body={"note": note},
    )


def withdraw_request(request_id: str) -> Call[BudgetRequest]:
    """Take a request of one's own back."""
    path = f"/v1/budget-requests/{request_id}/withdraw"
    return Call(method="POST", path=path, read=BudgetRequest.from_json)


def list_grants(dataset_id: str) -> Call[tuple[Grant, ...]]:
    """Ask for the grants on a dataset's population."""
    return Call(method="GET", path=f"/v1/datasets/{dataset_id}/grants", read=items(Grant.from_json))


def list_all_grants(
    filters: Mapping[str, str], *, before: str | None
) -> Call[tuple[tuple[Grant, ...], str | None]]:
    """Ask for a page of the grants on all datasets that the key may see, and where the next page begins.

    Args:
        filters: dataset_id, holder_id, state.
        before: the id to continue before.
    """

    def read(document: object) -> tuple[tuple[Grant, ...], str | None]:
        found, next_before = take(document, "items", "next_before")
        return tuple(Grant.from_json(item) for item in found), next_before

    query: dict[str, str | int] = {"limit": 200, **filters}
    if before is not None:
        query["before"] = before
    return Call(method="GET", path="/v1/grants", read=read, query=query)


def read_grant(grant_id: str) -> Call[Grant]:
    """Ask where a grant stands."""
    return Call(method="GET", path=f"/v1/grants/{grant_id}", read=Grant.from_json)


def revoke_grant(grant_id: str) -> Call[Grant]:
    """Let no further order draw on a grant."""
    return Call(method="DELETE", path=f"/v1/grants/{grant_id}", read=Grant.from_json)


def freeze(dataset_id: str, *, reason: str) -> Call[Budget]:
    """Let nothing be ordered or started on a dataset's population."""
    path = f"/v1/datasets/{dataset_id}/freeze"
    return Call(method="POST", path=path, read=Budget.from_json, body={"reason": reason})


def unfreeze(dataset_id: str, *, reason: str) -> Call[Budget]:
    """Take orders again."""
    path = f"/v1/datasets/{dataset_id}/unfreeze"
    return Call(method="POST", path=path, read=Budget.from_json, body={"reason": reason})


def ask_what_if(
    dataset_id: str, *, epsilon: float, delta: float | None = None, grant_id: str | None = None
) -> Call[WhatIf]:
    """Ask what one more job would cost and whether it fits; nothing is reserved."""
    return Call(
        method="POST",
        path=f"/v1/datasets/{dataset_id}/budget/what-if",
        read=WhatIf.from_json,
        body=_told({"epsilon": epsilon, "delta": delta, "grant_id": grant_id}),
    )


def _told(body: dict[str, Any]) -> Json:
    return {name: value for name, value in body.items() if value is not None}
