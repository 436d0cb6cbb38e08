"""The synchronous client.

>>> from understudy import Client
>>> with Client("http://127.0.0.1:8321", key="us_...") as client:  # doctest: +SKIP
...     client.list_datasets()
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

from understudy import calls, keys, people
from understudy.auditing.client import Auditing
from understudy.budgets.client import Budgets
from understudy.calls import Call
from understudy.datasets.client import Datasets
from understudy.documents import Json
from understudy.exchange import (
    OK,
    PIECE_BYTES,
    TIMEOUT,
    UPLOAD_TIMEOUT,
    Repetitions,
    Seen,
    address_of,
    headers_of,
    not_a_file,
    result_of,
    trusts_environment,
    unreachable,
    unseen,
)
from understudy.governance.client import Governance
from understudy.handling import bound
from understudy.keys import NewKey
from understudy.notifying.client import Notifications
from understudy.releasing.client import Releasing
from understudy.sealed_reporting.client import SealedReports
from understudy.whole_files import whole_file

if TYPE_CHECKING:
    # Imported by who makes a client, so that a command that needs none starts at once.
    import httpx

Result = TypeVar("Result")


class Client(Releasing, Datasets, Budgets):
    """One API key at one service. Safe to use from several threads; close it or use it as a context manager."""

    def __init__(
        self,
        url: str,
        *,
        key: str,
        transport: "httpx.BaseTransport | None" = None,
        repetitions: Repetitions | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Describe the connection; nothing is sent yet.

        Args:
            url: address of the service, without ``/v1``.
            key: the API key.
            transport: another way to send requests, for tests.
            repetitions: how often requests that may be sent twice are repeated.
            sleep: waits, in seconds.

        Raises:
            InputUnusable: if the address is none, or the key holds what no key does; neither is shown.
        """
        self.url = address_of(url)
        self._repetitions = repetitions or Repetitions()
        # A part that was not delivered, and a job that goes on, are worth more patience than a question.
        self._patient = replace(self._repetitions, attempts=3 * self._repetitions.attempts)
        self._sleep = sleep
        self.governance = Governance(self.run)
        self.auditing = Auditing(self.run, lambda call, target: self.download(call, target, seen=unseen))
        self.reports = SealedReports(
            self.run, lambda call, target: self.download(call, target, seen=unseen, private=True), self._sleep
        )
        self.notifications = Notifications(self.run)
        import httpx

        self._http = httpx.Client(
            base_url=self.url,
            headers=dict(headers_of(key)),
            timeout=TIMEOUT,
            transport=transport,
            trust_env=trusts_environment(self.url),
        )

    def __enter__(self) -> Self:
        """Give the client itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the connections."""
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def run(self, call: Call[Result], *, repetitions: Repetitions | None = None) -> Result:
        """Send a call and give its result, repeating it where that is safe and may help.

        Args:
            call: the call.
            repetitions: how often it is repeated; else as often as this client does.

        Raises:
            ServiceUnreachable: if no answer came.
            Refused: if the service said no.
            UnexpectedAnswer: if the answer is not of the documented form.
        """
        import httpx

        attempt = 1
        while True:
            failure: httpx.HTTPError | httpx.Response
            try:
                failure = self._http.send(self._request(call))
            except httpx.HTTPError as error:
                failure = error
            pause = (repetitions or self._repetitions).pause(call, failure, attempt=attempt)
            if pause is None:
                break
            self._sleep(pause)
            attempt += 1
        if isinstance(failure, httpx.HTTPError):
            raise unreachable(self.url, failure) from failure
        return bound(result_of(call, failure), self)

    def _request(self, call: Call[Result]) -> "httpx.Request":
        return self._http.build_request(
            call.method,
            call.path,
            params=dict(call.query),
            json=call.body,
            content=call.content,
            headers=dict(call.headers),
        )

    def create_key(self, *, name: str, roles: tuple[str, ...]) -> NewKey:
        """Make a further API key for oneself, with roles of the key in use."""
        made = self.run(keys.create_key(name=name, roles=roles))
        return NewKey.from_json(made.document)

    def create_person(self, *, name: str, roles: Sequence[str]) -> Json:
        """Create a person (admin). ``enrolment`` holds the token to hand over, which is shown this once."""
        return self.run(people.create_person(name=name, roles=roles))

    def list_people(self) -> Sequence[Json]:
        """List everybody, and who has enrolled (admin, auditor)."""
        return self.run(people.list_people())

    def create_enrolment(self, principal_id: str) -> Json:
        """Make a new enrolment for a person (admin); for one who has had keys it is a recovery."""
        return self.run(people.create_enrolment(principal_id))

    def list_enrolments(self) -> Sequence[Json]:
        """List one's own enrolments; as an admin or an auditor everybody's."""
        return self.run(people.list_enrolments())

    def cancel_enrolment(self, enrolment_id: str) -> Json:
        """Take back an enrolment that waits, or a recovery that is still held."""
        return self.run(people.cancel_enrolment(enrolment_id))

    def accept_enrolment(
        self, token: str, *, name: str | None = None, expires_at: str | None = None
    ) -> NewKey:
        """Make one's first key with a token; a client with ``key=""`` will do."""
        made = self.run(people.accept_enrolment(token, name=name, expires_at=expires_at))
        return NewKey.from_json(made.document)

    def read_health_report(self) -> Json:
        """Examine the deployment: what is wrong with it and what to do. For admins and auditors."""
        return self.run(calls.read_health_report())

    def check_health(self) -> Json:
        """Ask whether the service lives."""
        return self.run(calls.check_health())

    def send_file(self, call: Call[Result], file: Path, *, seen: Seen) -> Result:
        """Send a call whose body is a file, once.

        Args:
            call: the call.
            file: the file.
            seen: told the number of bytes of each piece sent.

        Raises:
            ServiceUnreachable: if no answer came.
            Refused: if the service said no.
            UnexpectedAnswer: if the answer is not of the documented form.
        """
        import httpx

        try:
            response = self._http.request(
                call.method,
                call.path,
                params=dict(call.query),
                content=pieces(file, seen),
                headers=dict(call.headers),
                timeout=UPLOAD_TIMEOUT,
            )
        except httpx.HTTPError as error:
            raise unreachable(self.url, error) from error
        return result_of(call, response)

    def download(self, call: Call[None], target: Path, *, seen: Seen, private: bool = False) -> None:
        """Write a streamed answer beside the target, then move it there.

        Args:
            call: the call.
            target: the file; replaced only by a complete answer.
            seen: told the number of bytes of each piece received.
            private: whether only this user may read it.
        """
        with whole_file(target, private=private) as file:
            for piece in self._stream(call):
                file.write(piece)
                seen(len(piece))

    def _stream(self, call: Call[None]) -> Iterator[bytes]:
        import httpx

        try:
            with self._http.stream(call.method, call.path, params=dict(call.query)) as response:
                if response.status_code != OK:
                    response.read()
                    raise not_a_file(call, response)
                yield from response.iter_bytes()
        except httpx.HTTPError as error:
            raise unreachable(self.url, error) from error


def pieces(file: Path, seen: Seen) -> Iterator[bytes]:
    """Read a file in pieces of a mebibyte.

    Args:
        file: the file.
        seen: told the length of each piece once the next one is asked for.
    """
    with file.open("rb") as stream:
        while piece := stream.read(PIECE_BYTES):
            yield piece
            seen(len(piece))
