"""Notifications as methods of ``client.notifications`` of the asynchronous client."""

from collections.abc import AsyncIterator, Sequence
from typing import Protocol, TypeVar

from understudy.calls import Call
from understudy.documents import Json
from understudy.notifying import calls

Result = TypeVar("Result")


class AsyncRun(Protocol):
    """Sends a call and gives its result."""

    async def __call__(self, call: Call[Result]) -> Result:
        """Send it."""


class AsyncNotifications:
    """As `Notifications`, for the asynchronous client."""

    def __init__(self, run: AsyncRun) -> None:
        """Keep how calls are sent.

        Args:
            run: sends a call and gives its result.
        """
        self._run = run

    async def add_webhook(self, url: str, *, kinds: Sequence[str] = ()) -> Json:
        """Register a webhook. The answer's ``secret`` verifies its signatures; it is shown once.

        Args:
            url: an https address.
            kinds: what is told, such as ``job.succeeded``; empty for everything.
        """
        return await self._run(calls.create("webhook", url, kinds))

    async def add_email(self, address: str, *, kinds: Sequence[str] = ()) -> Json:
        """Register an e-mail address; nothing is told before it is confirmed.

        Args:
            address: the address.
            kinds: what is told; empty for everything.
        """
        return await self._run(calls.create("email", address, kinds))

    async def confirm(self, endpoint_id: str, code: str) -> Json:
        """Confirm an e-mail address by the code that was sent there."""
        return await self._run(calls.confirm(endpoint_id, code))

    async def list_endpoints(self) -> tuple[Json, ...]:
        """Give one's endpoints, oldest first."""
        return await self._run(calls.list_endpoints())

    async def list_deliveries(self, endpoint_id: str) -> AsyncIterator[Json]:
        """Yield what was told to an endpoint, newest first."""
        before: str | None = None
        while True:
            page, before = await self._run(calls.list_deliveries(endpoint_id, before=before))
            for entry in page:
                yield entry
            if before is None:
                return

    async def send_test(self, endpoint_id: str) -> Json:
        """Have a test told, at most one a minute."""
        return await self._run(calls.send_test(endpoint_id))

    async def rotate(self, endpoint_id: str) -> Json:
        """Give a webhook a new secret; messages are signed with both for a while."""
        return await self._run(calls.rotate(endpoint_id))

    async def resume(self, endpoint_id: str) -> Json:
        """Have a paused endpoint told again, from now on."""
        return await self._run(calls.resume(endpoint_id))

    async def remove(self, endpoint_id: str) -> None:
        """Forget an endpoint, its address and its secret."""
        await self._run(calls.remove(endpoint_id))
