"""How the synchronous client sends requests: retries, pages of a list, files in both directions."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

from understudy.client.backend import in_thread, sleep
from understudy.client.handles import bound
from understudy.http.calls import Call, Read, page
from understudy.http.exchange import (
    CONNECT_SECONDS,
    OK,
    PAGE_ITEMS,
    PIECE_BYTES,
    TIMEOUT_SECONDS,
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
from understudy.whole_files import whole_file

if TYPE_CHECKING:
    # httpx is imported on first use, so that a command that sends nothing starts at once.
    import httpx

Result = TypeVar("Result")


class Session:
    """One API key at one service, over HTTP."""

    def __init__(
        self,
        url: str,
        *,
        key: str,
        transport: "httpx.BaseTransport | None" = None,
        repetitions: Repetitions | None = None,
        timeout: float = TIMEOUT_SECONDS,
        sleep: Callable[[float], None] = sleep,
    ) -> None:
        """Configure the connection; nothing is sent yet.

        Args:
            url: address of the service, without ``/v1``.
            key: the API key; empty for requests that need none.
            transport: httpx transport to use instead of the network, for tests.
            repetitions: how often idempotent requests are retried.
            timeout: seconds without a byte after which a request has failed; uploads wait longer.

        Raises:
            InputUnusable: if the address or the key is malformed; the message shows neither.
        """
        import httpx

        self.url = address_of(url)
        self._repetitions = repetitions or Repetitions()
        # A part of a file and a running job outlast a restart of the service, so they are retried for longer.
        self.patient = replace(self._repetitions, attempts=3 * self._repetitions.attempts)
        self.sleep = sleep
        self._http = httpx.Client(
            base_url=self.url,
            headers=dict(headers_of(key)),
            timeout=(CONNECT_SECONDS, timeout, timeout, timeout),
            transport=transport,
            trust_env=trusts_environment(self.url),
        )

    def __enter__(self) -> Self:
        """Return the client."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connections."""
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def run(self, call: Call[Result], *, repetitions: Repetitions | None = None) -> Result:
        """Send a request and return its result; retry it if it is idempotent and the failure may pass, by default as often as the client does.

        Raises:
            ServiceUnreachable: if no answer came.
            Refused: if the service refused.
            UnexpectedAnswer: if the answer is not of the documented form.
        """
        import httpx

        attempt = 1
        while True:
            outcome: httpx.HTTPError | httpx.Response
            try:
                outcome = self._http.send(self._request(call))
            except httpx.HTTPError as error:
                outcome = error
            pause = (repetitions or self._repetitions).pause(call, outcome, attempt=attempt)
            if pause is None:
                break
            self.sleep(pause)
            attempt += 1
        if isinstance(outcome, httpx.HTTPError):
            raise unreachable(self.url, outcome) from outcome
        return bound(result_of(call, outcome), self)

    def _request(self, call: Call[Result]) -> "httpx.Request":
        return self._http.build_request(
            call.method,
            call.path,
            params=dict(call.query),
            json=call.body,
            content=call.content,
            headers=dict(call.headers),
        )

    def pages(
        self, path: str, read: Read[Result], *, query: Mapping[str, str | int] | None = None
    ) -> Iterator[Result]:
        """Yield the items of a list, asking for the next page only when it is needed."""
        wanted: dict[str, str | int] = {"limit": PAGE_ITEMS, **(query or {})}
        while True:
            found, before = self.run(Call("GET", path, page(read), query=wanted))
            yield from found
            if before is None:
                return
            wanted["before"] = before

    def all_pages(
        self, path: str, read: Read[Result], *, query: Mapping[str, str | int] | None = None
    ) -> tuple[Result, ...]:
        """Return all items of a list; see `pages`."""
        return tuple(self.pages(path, read, query=query))

    def send_file(self, call: Call[Result], file: Path, *, seen: Seen) -> Result:
        """Send a request whose body is a file; it is never retried. `seen` is called with the number of bytes of each piece sent.

        Raises:
            ServiceUnreachable: if no answer came.
            Refused: if the service refused.
            UnexpectedAnswer: if the answer is not of the documented form.
        """
        import httpx

        try:
            response = self._http.request(
                call.method,
                call.path,
                params=dict(call.query),
                content=_pieces(file, seen),
                headers=dict(call.headers),
                timeout=UPLOAD_TIMEOUT,
            )
        except httpx.HTTPError as error:
            raise unreachable(self.url, error) from error
        return result_of(call, response)

    def download(self, call: Call[None], target: Path, *, seen: Seen = unseen, private: bool = False) -> None:
        """Stream an answer into a file: it is written to a temporary file in the target's folder and renamed when complete.

        Args:
            target: the file; only a complete answer replaces it.
            seen: called with the number of bytes of each piece received.
            private: whether only this user may read the file.
        """
        with whole_file(target, private=private) as file:
            for piece in self.stream(call):
                in_thread(file.write, piece)
                seen(len(piece))

    def stream(self, call: Call[None]) -> Iterator[bytes]:
        """Yield the body of an answer as it arrives."""
        import httpx

        try:
            with self._http.stream(call.method, call.path, params=dict(call.query)) as response:
                if response.status_code != OK:
                    response.read()
                    raise not_a_file(call, response)
                yield from response.iter_bytes()
        except httpx.HTTPError as error:
            raise unreachable(self.url, error) from error


def _pieces(file: Path, seen: Seen) -> Iterator[bytes]:
    """Read a file in pieces of `PIECE_BYTES`; `seen` counts a piece once the next one is asked for."""
    with file.open("rb") as stream:
        while piece := in_thread(stream.read, PIECE_BYTES):
            yield piece
            seen(len(piece))
