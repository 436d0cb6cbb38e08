"""``client.governance``: members, budget requests, grants, freezing, and what one more job would cost."""

import uuid

from understudy.async_client.session import AsyncSession
from understudy.http.calls import Call, given, items
from understudy.results.budgets import Budget
from understudy.results.governance import BudgetRequest, Grant, Identity, Member, WhatIf


class AsyncGovernance:
    """Decisions about budgets and access."""

    def __init__(self, session: AsyncSession) -> None:
        self._session = session

    async def who_am_i(self) -> Identity:
        """Return the principal of the key: the id that an owner adds as a member."""
        return await self._session.run(Call("GET", "/v1/session", Identity.from_json))

    async def list_members(self, dataset_id: str) -> tuple[Member, ...]:
        """Return the analysts who may see a dataset (owner, admin, auditor)."""
        path = f"/v1/datasets/{dataset_id}/members"
        return await self._session.run(Call("GET", path, items(Member.from_json)))

    async def add_member(self, dataset_id: str, principal_id: str) -> tuple[Member, ...]:
        """Let an analyst see a dataset (owner, admin)."""
        path = f"/v1/datasets/{dataset_id}/members/{principal_id}"
        return await self._session.run(Call("PUT", path, items(Member.from_json)))

    async def remove_member(self, dataset_id: str, principal_id: str) -> tuple[Member, ...]:
        """Hide a dataset from an analyst again (owner, admin)."""
        path = f"/v1/datasets/{dataset_id}/members/{principal_id}"
        return await self._session.run(Call("DELETE", path, items(Member.from_json)))

    async def file_request(
        self, dataset_id: str, *, epsilon: float, delta: float | None = None, purpose: str
    ) -> BudgetRequest:
        """Ask for a part of a dataset's budget (analyst and member).

        Args:
            delta: default: the share of the cap's delta that epsilon is of the cap's epsilon.
        """
        path = f"/v1/datasets/{dataset_id}/budget-requests"
        body = given({"epsilon": epsilon, "delta": delta, "purpose": purpose})
        return await self._session.run(Call("POST", path, BudgetRequest.from_json, body=body))

    async def list_requests(self, *, state: str | None = None) -> tuple[BudgetRequest, ...]:
        """Return all budget requests that the key may see, or those in a state such as ``open``, newest first."""
        query = {"state": state} if state else {}
        return await self._session.all_pages("/v1/budget-requests", BudgetRequest.from_json, query=query)

    async def read_request(self, request_id: str) -> BudgetRequest:
        """Return a budget request."""
        path = f"/v1/budget-requests/{request_id}"
        return await self._session.run(Call("GET", path, BudgetRequest.from_json))

    async def approve_request(
        self,
        request_id: str,
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        note: str | None = None,
        expires_at: str | None = None,
    ) -> BudgetRequest:
        """Grant what was asked for, or less (owner, admin; never the person who asked)."""
        # The key makes a retry the same approval.
        headers = {"Idempotency-Key": uuid.uuid4().hex}
        body = given({"epsilon": epsilon, "delta": delta, "note": note, "expires_at": expires_at})
        path = f"/v1/budget-requests/{request_id}/approve"
        return await self._session.run(
            Call("POST", path, BudgetRequest.from_json, body=body, headers=headers)
        )

    async def deny_request(self, request_id: str, *, note: str) -> BudgetRequest:
        """Deny a request, with a reason (owner, admin)."""
        path = f"/v1/budget-requests/{request_id}/deny"
        return await self._session.run(Call("POST", path, BudgetRequest.from_json, body={"note": note}))

    async def withdraw_request(self, request_id: str) -> BudgetRequest:
        """Withdraw one's own request (analyst)."""
        path = f"/v1/budget-requests/{request_id}/withdraw"
        return await self._session.run(Call("POST", path, BudgetRequest.from_json))

    async def list_grants(self, dataset_id: str) -> tuple[Grant, ...]:
        """Return the grants on a dataset's population; analysts see their own."""
        path = f"/v1/datasets/{dataset_id}/grants"
        return await self._session.run(Call("GET", path, items(Grant.from_json)))

    async def list_all_grants(
        self, *, dataset_id: str | None = None, holder_id: str | None = None, state: str | None = None
    ) -> tuple[Grant, ...]:
        """Return the grants on all datasets that the key may see, newest first, with what was drawn on each.

        Args:
            dataset_id: only those on this dataset's population.
            holder_id: only those of this principal.
            state: only those that are ``open``, ``expired`` or ``revoked``.
        """
        filters = {"dataset_id": dataset_id, "holder_id": holder_id, "state": state}
        query = {name: text for name, text in filters.items() if text}
        return await self._session.all_pages("/v1/grants", Grant.from_json, query=query)

    async def read_grant(self, grant_id: str) -> Grant:
        """Return a grant, with what was drawn on it."""
        return await self._session.run(Call("GET", f"/v1/grants/{grant_id}", Grant.from_json))

    async def revoke_grant(self, grant_id: str) -> Grant:
        """Revoke a grant: no further job may draw on it (owner, admin)."""
        return await self._session.run(Call("DELETE", f"/v1/grants/{grant_id}", Grant.from_json))

    async def freeze(self, dataset_id: str, *, reason: str) -> Budget:
        """Stop orders and starts of jobs on a dataset's population (owner, admin)."""
        path = f"/v1/datasets/{dataset_id}/freeze"
        return await self._session.run(Call("POST", path, Budget.from_json, body={"reason": reason}))

    async def unfreeze(self, dataset_id: str, *, reason: str) -> Budget:
        """Accept orders again (admin)."""
        path = f"/v1/datasets/{dataset_id}/unfreeze"
        return await self._session.run(Call("POST", path, Budget.from_json, body={"reason": reason}))

    async def ask_what_if(
        self, dataset_id: str, *, epsilon: float, delta: float | None = None, grant_id: str | None = None
    ) -> WhatIf:
        """Ask what one more job would cost and whether it fits; nothing is reserved."""
        body = given({"epsilon": epsilon, "delta": delta, "grant_id": grant_id})
        path = f"/v1/datasets/{dataset_id}/budget/what-if"
        return await self._session.run(Call("POST", path, WhatIf.from_json, body=body))
