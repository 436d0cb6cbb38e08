"""The synchronous client, generated from `understudy.async_client`.

>>> from understudy import Client
>>> with Client("http://127.0.0.1:8321", key="us_...") as client:  # doctest: +SKIP
...     client.list_datasets()
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from understudy.calls import Call, read_object
from understudy.client.auditing import Auditing
from understudy.client.backend import sleep
from understudy.client.budgets import Budgets
from understudy.client.datasets import Datasets
from understudy.client.governance import Governance
from understudy.client.notifications import Notifications
from understudy.client.owner_reports import OwnerReports
from understudy.client.people import People
from understudy.client.utility_reports import UtilityReports
from understudy.documents import Json
from understudy.exchange import Repetitions

if TYPE_CHECKING:
    import httpx


class Client(UtilityReports, Datasets, Budgets, People):
    """One API key at one service. Close it, or use it as a context manager."""

    def __init__(
        self,
        url: str,
        *,
        key: str,
        transport: "httpx.BaseTransport | None" = None,
        repetitions: Repetitions | None = None,
        sleep: Callable[[float], None] = sleep,
    ) -> None:
        """Configure the connection; nothing is sent yet.

        Args:
            url: address of the service, without ``/v1``.
            key: the API key; empty for requests that need none.
            transport: httpx transport to use instead of the network, for tests.
            repetitions: how often idempotent requests are retried.
            sleep: waits, in seconds.

        Raises:
            InputUnusable: if the address or the key is malformed; the message shows neither.
        """
        super().__init__(url, key=key, transport=transport, repetitions=repetitions, sleep=sleep)
        self.governance = Governance(self)
        self.auditing = Auditing(self)
        self.reports = OwnerReports(self)
        self.notifications = Notifications(self)

    def read_health_report(self) -> Json:
        """Examine the deployment: what is wrong with it and what to do (admin, auditor)."""
        return self.run(Call("GET", "/v1/health/report", read_object))

    def check_health(self) -> Json:
        """Ask whether the service is alive; it needs no key."""
        return self.run(Call("GET", "/v1/health", read_object))
