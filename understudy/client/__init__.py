"""The synchronous client, generated from `understudy.async_client`.

>>> from understudy import Client
>>> with Client("http://127.0.0.1:8321", key="us_...") as client:  # doctest: +SKIP
...     client.list_datasets()
"""

from functools import cached_property

from understudy.client.auditing import Auditing
from understudy.client.datasets import Datasets
from understudy.client.federations import Federations
from understudy.client.governance import Governance
from understudy.client.notifications import Notifications
from understudy.client.owner_reports import OwnerReports
from understudy.client.people import People
from understudy.client.utility_reports import UtilityReports
from understudy.documents import Json
from understudy.http.calls import Call, given, read_object
from understudy.results.budgets import Budget, Statement


class Client(UtilityReports, Datasets, People):
    """One API key at one service. Close it, or use it as a context manager."""

    @cached_property
    def governance(self) -> Governance:
        """Budget requests, grants and members."""
        return Governance(self)

    @cached_property
    def auditing(self) -> Auditing:
        """The audit log and the signed heads of ledgers."""
        return Auditing(self)

    @cached_property
    def federations(self) -> Federations:
        """Federations of owners that train in services of their own."""
        return Federations(self)

    @cached_property
    def reports(self) -> OwnerReports:
        """Owner reports."""
        return OwnerReports(self)

    @cached_property
    def notifications(self) -> Notifications:
        """Endpoints that are notified, and their deliveries."""
        return Notifications(self)

    def set_budget(
        self, dataset_id: str, *, epsilon: float, delta: float, reason: str | None = None
    ) -> Budget:
        """Set the cap of the dataset's population (admin). Raising a cap needs a reason."""
        body = given({"epsilon": epsilon, "delta": delta, "reason": reason})
        return self.run(Call("PUT", f"/v1/datasets/{dataset_id}/budget", Budget.from_json, body=body))

    def read_budget(self, dataset_id: str) -> Budget:
        """Return the cap of the dataset's population."""
        return self.run(Call("GET", f"/v1/datasets/{dataset_id}/budget", Budget.from_json))

    def read_ledger(self, dataset_id: str) -> Statement:
        """Return the ledger statement of the dataset's population."""
        return self.run(Call("GET", f"/v1/datasets/{dataset_id}/ledger", Statement.from_json))

    def read_overview(self, *, before: str | None = None) -> Json:
        """Return budgets over time, open requests, grants, jobs and refusals, as far as the key may see them.

        Args:
            before: the `next_before` of an earlier answer, for its next page of datasets.
        """
        query: dict[str, str | int] = {} if before is None else {"before": before}
        return self.run(Call("GET", "/v1/overview", read_object, query=query))

    def read_health_report(self) -> Json:
        """Examine the deployment: what is wrong with it and what to do (admin, auditor)."""
        return self.run(Call("GET", "/v1/health/report", read_object))

    def check_health(self) -> Json:
        """Ask whether the service is alive; it needs no key."""
        return self.run(Call("GET", "/v1/health", read_object))
