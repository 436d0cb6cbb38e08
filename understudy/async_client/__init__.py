"""The asynchronous client. `understudy.client` is made from this folder by `docs/unasync.py`.

>>> from understudy import AsyncClient
>>> async with AsyncClient("http://127.0.0.1:8321", key="us_...") as client:  # doctest: +SKIP
...     await client.list_datasets()
"""

from functools import cached_property

from understudy.async_client.auditing import AsyncAuditing
from understudy.async_client.datasets import AsyncDatasets
from understudy.async_client.federations import AsyncFederations
from understudy.async_client.governance import AsyncGovernance
from understudy.async_client.notifications import AsyncNotifications
from understudy.async_client.owner_reports import AsyncOwnerReports
from understudy.async_client.people import AsyncPeople
from understudy.async_client.utility_reports import AsyncUtilityReports
from understudy.documents import Json
from understudy.http.calls import Call, given, read_object
from understudy.results.budgets import Budget, Statement


class AsyncClient(AsyncUtilityReports, AsyncDatasets, AsyncPeople):
    """One API key at one service. Close it, or use it as a context manager."""

    @cached_property
    def governance(self) -> AsyncGovernance:
        """Budget requests, grants and members."""
        return AsyncGovernance(self)

    @cached_property
    def auditing(self) -> AsyncAuditing:
        """The audit log and the signed heads of ledgers."""
        return AsyncAuditing(self)

    @cached_property
    def federations(self) -> AsyncFederations:
        """Federations of owners that train in services of their own."""
        return AsyncFederations(self)

    @cached_property
    def reports(self) -> AsyncOwnerReports:
        """Owner reports."""
        return AsyncOwnerReports(self)

    @cached_property
    def notifications(self) -> AsyncNotifications:
        """Endpoints that are notified, and their deliveries."""
        return AsyncNotifications(self)

    async def set_budget(
        self, dataset_id: str, *, epsilon: float, delta: float, reason: str | None = None
    ) -> Budget:
        """Set the cap of the dataset's population (admin). Raising a cap needs a reason."""
        body = given({"epsilon": epsilon, "delta": delta, "reason": reason})
        return await self.run(Call("PUT", f"/v1/datasets/{dataset_id}/budget", Budget.from_json, body=body))

    async def read_budget(self, dataset_id: str) -> Budget:
        """Return the cap of the dataset's population."""
        return await self.run(Call("GET", f"/v1/datasets/{dataset_id}/budget", Budget.from_json))

    async def read_ledger(self, dataset_id: str) -> Statement:
        """Return the ledger statement of the dataset's population."""
        return await self.run(Call("GET", f"/v1/datasets/{dataset_id}/ledger", Statement.from_json))

    async def read_overview(self, *, before: str | None = None) -> Json:
        """Return budgets over time, open requests, grants, jobs and refusals, as far as the key may see them.

        Args:
            before: the `next_before` of an earlier answer, for its next page of datasets.
        """
        query: dict[str, str | int] = {} if before is None else {"before": before}
        return await self.run(Call("GET", "/v1/overview", read_object, query=query))

    async def read_health_report(self) -> Json:
        """Examine the deployment: what is wrong with it and what to do (admin, auditor)."""
        return await self.run(Call("GET", "/v1/health/report", read_object))

    async def check_health(self) -> Json:
        """Ask whether the service is alive; it needs no key."""
        return await self.run(Call("GET", "/v1/health", read_object))
