"""Notifications as methods of ``client.notifications``."""

from collections.abc import Iterator, Sequence
from typing import Protocol, TypeVar

from understudy.calls import Call
from understudy.documents import Json
from understudy.notifying import calls

Result = TypeVar("Result")


class Run(Protocol):
    """Sends a call and gives its result."""

    def __call__(self, call: Call[Result]) -> Result:
        """Send it."""


class Notifications:
    """Where the key's principal wants to be told, and what it was told."""

    def __init__(self, run: Run) -> None:
        """Keep how calls are sent.

        Args:
            run: sends a call and gives its result.
        """
        self._run = run

    def add_webhook(self, url: str, *, kinds: Sequence[str] = ()) -> Json:
        """Register a webhook. The answer's ``secret`` verifies its signatures; it is shown once.

        Args:
            url: an https address.
            kinds: what is told, such as ``job.succeeded``; empty for everything.
        """
        return self._run(calls.create("webhook", url, kinds))

    def add_email(self, address: str, *, kinds: Sequence[str] = ()) -> Json:
        """Register an e-mail address; nothing is told before it is confirmed.

        Args:
            address: the address.
            kinds: what is told; empty for everything.
        """
        return self._run(calls.create("email", address, kinds))

    def confirm(self, endpoint_id: str, code: str) -> Json:
        """Confirm an e-mail address by the code that was sent there."""
        return self._run(calls.confirm(endpoint_id, code))

    def list_endpoints(self) -> tuple[Json, ...]:
        """Give one's endpoints, oldest first."""
        return self._run(calls.list_endpoints())

    def list_deliveries(self, endpoint_id: str) -> Iterator[Json]:
        """Yield what was told to an endpoint, newest first."""
        before: str | None = None
        while True:
            page, before = self._run(calls.list_deliveries(endpoint_id, before=before))
            yield from page
            if before is None:
                return

    def send_test(self, endpoint_id: str) -> Json:
        """Have a test told, at most one a minute."""
        return self._run(calls.send_test(endpoint_id))

    def rotate(self, endpoint_id: str) -> Json:
        """Give a webhook a new secret; messages are signed with both for a while."""
        return self._run(calls.rotate(endpoint_id))

    def resume(self, endpoint_id: str) -> Json:
        """Have a paused endpoint told again, from now on."""
        return self._run(calls.resume(endpoint_id))

    def remove(self, endpoint_id: str) -> None:
        """Forget an endpoint, its address and its secret."""
        self._run(calls.remove(endpoint_id))
