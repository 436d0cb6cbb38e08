"""Dummy mode: the real clients, answered by this process with fake rows of the declared domain, at no cost.

    client = understudy.dummy(domain)            # instead of Client(url, key=...)
    job = client.order_job(client.list_datasets()[0].id, epsilon=1.0)
    frame = job.wait().sample(1000)

No data is read and nothing is charged. Rows are uniform draws from what the domain declares, column by column: they have
the right names, types and values, and say nothing about anybody.
"""

from typing import TYPE_CHECKING

from understudy.client import Client
from understudy.documents import Json

if TYPE_CHECKING:
    # Asynchronous clients and HTTP take a fifth of a second to import.
    from understudy.async_client import AsyncClient
    from understudy.dummies.transport import DummyTransport

URL = "http://dummy"


def dummy(domain: Json | None = None, *, name: str = "dummy", dataset_id: str | None = None) -> Client:
    """Return a client of a simulated service.

    Args:
        domain: of a dataset that exists from the start; None if the code declares its own.
        name: of that dataset.
        dataset_id: its id, if the code names one; by default random.
    """
    transport = _transport(domain, name, dataset_id)
    return Client(URL, key="dummy", transport=transport, sleep=lambda _seconds: None)


def async_dummy(
    domain: Json | None = None, *, name: str = "dummy", dataset_id: str | None = None
) -> "AsyncClient":
    """Return an asynchronous client of a simulated service; see `dummy`."""
    from understudy.async_client import AsyncClient

    async def at_once(_seconds: float) -> None:
        """Return at once."""

    transport = _transport(domain, name, dataset_id)
    return AsyncClient(URL, key="dummy", transport=transport, sleep=at_once)


def _transport(domain: Json | None, name: str, dataset_id: str | None) -> "DummyTransport":
    from understudy.dummies.service import DummyService
    from understudy.dummies.transport import DummyTransport

    service = DummyService()
    if domain is not None:
        service.declare({"name": name, "domain": dict(domain)}, dataset_id=dataset_id, state="ready")
    return DummyTransport(service)
