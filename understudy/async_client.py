"""The asynchronous client: the same calls as `understudy.client`, sent from asyncio."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

import httpx

from understudy import calls, keys, people
from understudy.auditing.async_client import AsyncAuditing
from understudy.budgets.async_client import AsyncBudgets
from understudy.calls import Call
from understudy.datasets.async_client import AsyncDatasets
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
from understudy.governance.async_client import AsyncGovernance
from understudy.keys import NewKey
from understudy.notifying.async_client import AsyncNotifications
from understudy.releasing.async_client import AsyncReleasing
from understudy.sealed_reporting.async_client import AsyncSealedReports
from understudy.whole_files import whole_file

Result = TypeVar("Result")


class AsyncClient(AsyncReleasing, AsyncDatasets, AsyncBudgets):
    """One API key at one service, for asyncio; close it or use it as a context manager."""

    def __init__(
        self,
        url: str,
        *,
        key: str,
        transport: httpx.AsyncBaseTransport | None = None,
        repetitions: Repetitions | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
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
        self.governance = AsyncGovernance(self.run)
        self.auditing = AsyncAuditing(self.run, lambda call, target: self.download(call, target, seen=unseen))
        self.reports = AsyncSealedReports(
            self.run, lambda call, target: self.download(call, target, seen=unseen, private=True), self._sleep
        )
        self.notifications = AsyncNotifications(self.run)
        self._http = httpx.AsyncClient(
            base_url=self.url,
            headers=dict(headers_of(key)),
            timeout=TIMEOUT,
            transport=transport,
            trust_env=trusts_environment(self.url),
        )

    async def __aenter__(self) -> Self:
        """Give the client itself."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the connections."""
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def run(self, call: Call[Result], *, repetitions: Repetitions | None = None) -> Result:
        """Send a call and give its result, repeating it where that is safe and may help.

        Args:
            call: the call.
            repetitions: how often it is repeated; else as often as this client does.

        Raises:
            ServiceUnreachable: if no answer came.
            Refused: if the service said no.
            UnexpectedAnswer: if the answer is not of the documented form.
        """
        attempt = 1
        while True:
            failure: httpx.HTTPError | httpx.Response
            try:
                failure = await self._http.send(self._request(call))
            except httpx.HTTPError as error:
                failure = error
            pause = (repetitions or self._repetitions).pause(call, failure, attempt=attempt)
            if pause is None:
                break
            await self._sleep(pause)
            attempt += 1
        if isinstance(failure, httpx.HTTPError):
            raise unreachable(self.url, failure) from failure
        return result_of(call, failure)

    def _request(self, call: Call[Result]) -> httpx.Request:
        return self._http.build_request(
            call.method,
            call.path,
            params=dict(call.query),
            json=call.body,
            content=call.content,
            headers=dict(call.headers),
        )

    async def create_key(self, *, name: str, roles: tuple[str, ...]) -> NewKey:
        """Make a further API key for oneself, with roles of the key in use."""
        made = await self.run(keys.create_key(name=name, roles=roles))
        return NewKey.from_json(made.document)

    async def create_person(self, *, name: str, roles: Sequence[str]) -> Json:
        """Create a person (admin). ``enrolment`` holds the token to hand over, which is shown this once."""
        return await self.run(people.create_person(name=name, roles=roles))

    async def list_people(self) -> Sequence[Json]:
        """List everybody, and who has enrolled (admin, auditor)."""
        return await self.run(people.list_people())

    async def create_enrolment(self, principal_id: str) -> Json:
        """Make a new enrolment for a person (admin); for one who has had keys it is a recovery."""
        return await self.run(people.create_enrolment(principal_id))

    async def list_enrolments(self) -> Sequence[Json]:
        """List one's own enrolments; as an admin or an auditor everybody's."""
        return await self.run(people.list_enrolments())

    async def cancel_enrolment(self, enrolment_id: str) -> Json:
        """Take back an enrolment that waits, or a recovery that is still held."""
        return await self.run(people.cancel_enrolment(enrolment_id))

    async def accept_enrolment(
        self, token: str, *, name: str | None = None, expires_at: str | None = None
    ) -> NewKey:
        """Make one's first key with a token; a client with ``key=""`` will do."""
        made = await self.run(people.accept_enrolment(token, name=name, expires_at=expires_at))
        return NewKey.from_json(made.document)

    async def read_health_report(self) -> Json:
        """Examine the deployment: what is wrong with it and what to do. For admins and auditors."""
        return await self.run(calls.read_health_report())

    async def check_health(self) -> Json:
        """Ask whether the service lives."""
        return await self.run(calls.check_health())

    async def send_file(self, call: Call[Result], file: Path, *, seen: Seen) -> Result:
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
        try:
            response = await self._http.request(
                call.method,
                call.path,
                params=dict(call.query),
                content=async_pieces(file, seen),
                headers=dict(call.headers),
                timeout=UPLOAD_TIMEOUT,
            )
        except httpx.HTTPError as error:
            raise unreachable(self.url, error) from error
        return result_of(call, response)

    async def download(self, call: Call[None], target: Path, *, seen: Seen, private: bool = False) -> None:
        """Write a streamed answer beside the target, then move it there.

        Args:
            call: the call.
            target: the file; replaced only by a complete answer.
            seen: told the number of bytes of each piece received.
            private: whether only this user may read it.
        """
        with whole_file(target, private=private) as file:
            async for piece in self._stream(call):
                await asyncio.to_thread(file.write, piece)
                seen(len(piece))

    async def _stream(self, call: Call[None]) -> AsyncIterator[bytes]:
        try:
            async with self._http.stream(call.method, call.path, params=dict(call.query)) as response:
                if response.status_code != OK:
                    await response.aread()
                    raise not_a_file(call, response)
                async for piece in response.aiter_bytes():
                    yield piece
        except httpx.HTTPError as error:
            raise unreachable(self.url, error) from error


async def async_pieces(file: Path, seen: Seen) -> AsyncIterator[bytes]:
    """Read a file in pieces of a mebibyte, off the event loop.

    Args:
        file: the file.
        seen: told the length of each piece once the next one is asked for.
    """
    with file.open("rb") as stream:
        while piece := await asyncio.to_thread(stream.read, PIECE_BYTES):
            yield piece
            seen(len(piece))
