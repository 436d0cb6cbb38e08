"""What people decide about budgets, as methods of ``client.governance``."""

from typing import Protocol, TypeVar

from understudy.budgets.results import Budget
from understudy.calls import Call
from understudy.governance import calls
from understudy.governance.results import BudgetRequest, Grant, Identity, Member, WhatIf

Result = TypeVar("Result")


class Run(Protocol):
    """Sends a call and gives its result."""

    def __call__(self, call: Call[Result]) -> Result:
        """Send it."""


class Governance:
    """Members, budget requests, grants and freezing at one service, with one key."""

    def __init__(self, run: Run) -> None:
        """Keep how calls are sent.

        Args:
            run: sends a call and gives its result.
        """
        self._run = run

    def who_am_i(self) -> Identity:
        """Tell whom the key speaks for: its principal is what an owner adds as a member."""
        return self._run(calls.who_am_i())

    def list_members(self, dataset_id: str) -> tuple[Member, ...]:
        """Give the analysts to whom a dataset is shown (owner, admin, auditor)."""
        return self._run(calls.list_members(dataset_id))

    def add_member(self, dataset_id: str, principal_id: str) -> tuple[Member, ...]:
        """Show a dataset to an analyst (owner, admin)."""
        return self._run(calls.add_member(dataset_id, principal_id))

    def remove_member(self, dataset_id: str, principal_id: str) -> tuple[Member, ...]:
        """Show a dataset to an analyst no longer (owner, admin)."""
        return self._run(calls.remove_member(dataset_id, principal_id))

    def file_request(self, dataset_id: str, *, epsilon: float, delta: float, purpose: str) -> BudgetRequest:
        """Ask for a part of a dataset's budget (analyst and member)."""
        return self._run(calls.file_request(dataset_id, epsilon=epsilon, delta=delta, purpose=purpose))

    def list_requests(self, *, state: str | None = None) -> tuple[BudgetRequest, ...]:
        """Give all budget requests that the key may see, newest first.

        Args:
            state: only those in this state, such as ``open``.
        """
        found: list[BudgetRequest] = []
        before: str | None = None
        while True:
            page, before = self._run(calls.list_requests(state=state, before=before))
            found += page
            if before is None:
                return tuple(found)

    def read_request(self, request_id: str) -> BudgetRequest:
        """Give a budget request."""
        return self._run(calls.read_request(request_id))

    def approve_request(
        self,
        request_id: str,
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        note: str | None = None,
        expires_at: str | None = None,
    ) -> BudgetRequest:
        """Grant what was asked for, or less of it (owner, admin; never who asked)."""
        return self._run(
            calls.approve_request(request_id, epsilon=epsilon, delta=delta, note=note, expires_at=expires_at)
        )

    def deny_request(self, request_id: str, *, note: str) -> BudgetRequest:
        """Grant nothing, and say why (owner, admin)."""
        return self._run(calls.deny_request(request_id, note=note))

    def withdraw_request(self, request_id: str) -> BudgetRequest:
        """Take a request of one's own back (analyst)."""
        return self._run(calls.withdraw_request(request_id))

    def list_grants(self, dataset_id: str) -> tuple[Grant, ...]:
        """Give the grants on a dataset's population; analysts see their own."""
        return self._run(calls.list_grants(dataset_id))

    def list_all_grants(
        self, *, dataset_id: str | None = None, holder_id: str | None = None, state: str | None = None
    ) -> tuple[Grant, ...]:
        """Give the grants on all datasets that the key may see, newest first, with what was drawn on each.

        Args:
            dataset_id: only those on this dataset's population.
            holder_id: only those of this principal.
            state: only those that are ``open``, ``expired`` or ``revoked``.
        """
        given = {"dataset_id": dataset_id, "holder_id": holder_id, "state": state}
        filters = {name: text for name, text in given.items() if text}
        found: list[Grant] = []
        before: str | None = None
        while True:
            page, before = self._run(calls.list_all_grants(filters, before=before))
            found += page
            if before is None:
                return tuple(found)

    def read_grant(self, grant_id: str) -> Grant:
        """Give a grant with what was drawn on it."""
        return self._run(calls.read_grant(grant_id))

    def revoke_grant(self, grant_id: str) -> Grant:
        """Let no further order draw on a grant (owner, admin)."""
        return self._run(calls.revoke_grant(grant_id))

    def freeze(self, dataset_id: str, *, reason: str) -> Budget:
        """Let nothing be ordered or started on a dataset's population (owner, admin)."""
        return self._run(calls.freeze(dataset_id, reason=reason))

    def unfreeze(self, dataset_id: str, *, reason: str) -> Budget:
        """Take orders again (admin)."""
        return self._run(calls.unfreeze(dataset_id, reason=reason))

    def ask_what_if(
        self, dataset_id: str, *, epsilon: float, delta: float | None = None, grant_id: str | None = None
    ) -> WhatIf:
        """Ask what one more job would cost and whether it fits; nothing is reserved."""
        return self._run(calls.ask_what_if(dataset_id, epsilon=epsilon, delta=delta, grant_id=grant_id))
