"""``client.notifications``: webhooks and e-mail addresses, and the messages delivered to them."""

from collections.abc import Iterator, Sequence
from typing import Final

from understudy.client.session import Session
from understudy.documents import Json
from understudy.http.calls import Call, items, read_anything, read_nothing, read_object

_ENDPOINTS: Final = "/v1/notifications/endpoints"


class Notifications:
    """The endpoints of the key's principal."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def add_webhook(self, url: str, *, kinds: Sequence[str] = ()) -> Json:
        """Register a webhook. The answer's ``secret`` verifies its signatures; it is shown once.

        Args:
            url: an https address.
            kinds: events to deliver, such as ``job.succeeded``; empty for all.
        """
        return self._create("webhook", url, kinds)

    def add_email(self, address: str, *, kinds: Sequence[str] = ()) -> Json:
        """Register an e-mail address for some kinds of events, or all; nothing is delivered before it is confirmed."""
        return self._create("email", address, kinds)

    def _create(self, channel: str, target: str, kinds: Sequence[str]) -> Json:
        body = {"channel": channel, "target": target, "kinds": sorted(kinds)}
        return self._session.run(Call("POST", _ENDPOINTS, read_object, body=body))

    def confirm(self, endpoint_id: str, code: str) -> Json:
        """Confirm an e-mail address with the code that was sent to it."""
        return self._post(endpoint_id, "confirm", {"code": code})

    def list_endpoints(self) -> tuple[Json, ...]:
        """Return one's endpoints, oldest first."""
        return self._session.run(Call("GET", _ENDPOINTS, items(read_anything)))

    def list_deliveries(self, endpoint_id: str) -> Iterator[Json]:
        """Yield the deliveries to an endpoint, newest first."""
        return self._session.pages(f"{_ENDPOINTS}/{endpoint_id}/deliveries", read_anything)

    def send_test(self, endpoint_id: str) -> Json:
        """Send a test message, at most one a minute."""
        return self._post(endpoint_id, "test")

    def rotate(self, endpoint_id: str) -> Json:
        """Replace the secret of a webhook; the new one is shown once; for a while messages are signed with both."""
        return self._post(endpoint_id, "rotate")

    def resume(self, endpoint_id: str) -> Json:
        """Resume a paused endpoint; events that it missed are not delivered."""
        return self._post(endpoint_id, "resume")

    def _post(self, endpoint_id: str, verb: str, body: Json | None = None) -> Json:
        return self._session.run(Call("POST", f"{_ENDPOINTS}/{endpoint_id}/{verb}", read_object, body=body))

    def remove(self, endpoint_id: str) -> None:
        """Delete an endpoint, its address and its secret."""
        self._session.run(Call("DELETE", f"{_ENDPOINTS}/{endpoint_id}", read_nothing))
