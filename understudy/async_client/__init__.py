"""The asynchronous client. `understudy.client` is generated from this folder: `python -m understudy.unasync`.

>>> from understudy import AsyncClient
>>> async with AsyncClient("http://127.0.0.1:8321", key="us_...") as client:  # doctest: +SKIP
...     await client.list_datasets()
"""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from understudy.async_client.auditing import AsyncAuditing
from understudy.async_client.backend import sleep
from understudy.async_client.budgets import AsyncBudgets
from understudy.async_client.datasets import AsyncDatasets
from understudy.async_client.governance import AsyncGovernance
from understudy.async_client.notifications import AsyncNotifications
from understudy.async_client.owner_reports import AsyncOwnerReports
from understudy.async_client.people import AsyncPeople
from understudy.async_client.utility_reports import AsyncUtilityReports
from understudy.calls import Call, read_object
from understudy.documents import Json
from understudy.exchange import Repetitions

if TYPE_CHECKING:
    import httpx


class AsyncClient(AsyncUtilityReports, AsyncDatasets, AsyncBudgets, AsyncPeople):
    """One API key at one service. Close it, or use it as a context manager."""

    def __init__(
        self,
        url: str,
        *,
        key: str,
        transport: "httpx.AsyncBaseTransport | None" = None,
        repetitions: Repetitions | None = None,
        sleep: Callable[[float], Awaitable[None]] = sleep,
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
        self.governance = AsyncGovernance(self)
        self.auditing = AsyncAuditing(self)
        self.reports = AsyncOwnerReports(self)
        self.notifications = AsyncNotifications(self)

    async def read_health_report(self) -> Json:
        """Examine the deployment: what is wrong with it and what to do (admin, auditor)."""
        return await self.run(Call("GET", "/v1/health/report", read_object))

    async def check_health(self) -> Json:
        """Ask whether the service is alive; it needs no key."""
        return await self.run(Call("GET", "/v1/health", read_object))
