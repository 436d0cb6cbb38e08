"""Releases, as methods of the asynchronous client; the methods are those of `understudy.releasing.client`."""

import asyncio
from abc import abstractmethod
from collections.abc import AsyncIterator, Collection
from pathlib import Path
from typing import Any

from understudy.asking import Answer
from understudy.calls import Call
from understudy.charged.async_client import AsyncCharging
from understudy.documents import Json
from understudy.exchange import Seen, unseen
from understudy.releasing import calls
from understudy.releasing.async_results import AsyncRelease
from understudy.releasing.keeping import verifying_keeper
from understudy.rules import RulesCheck
from understudy.tables import drawn, require_form


class AsyncReleasing(AsyncCharging):
    """What an asynchronous client does with releases; how calls are sent is the client's."""

    reports: Any
    """Sealed reports; the client's, see `understudy.sealed_reporting`."""

    @abstractmethod
    async def download(self, call: Call[None], target: Path, *, seen: Seen) -> None:
        """Write a streamed answer to a file, whole or not at all."""

    @abstractmethod
    def _stream(self, call: Call[None]) -> AsyncIterator[bytes]:
        """Yield a streamed answer."""

    async def list_releases(self) -> tuple[AsyncRelease, ...]:
        """Give the newest releases."""
        return tuple(AsyncRelease.of(release, self) for release in await self.run(calls.list_releases()))

    async def read_release(self, release_id: str) -> AsyncRelease:
        """Give a release."""
        return AsyncRelease.of(await self.run(calls.read_release(release_id)), self)

    async def read_certificate(self, release_id: str) -> Json:
        """Give a release's certificate."""
        return await self.run(calls.read_certificate(release_id))

    async def ask_counts(self, release_id: str, question: str) -> Answer:
        """Answer a question from a release's noisy counts; as `Client.ask_counts`."""
        return await self.run(calls.ask_counts(release_id, question))

    async def read_known_counts(self, dataset_id: str) -> Json:
        """Give which counts the releases of a dataset hold; as `Client.read_known_counts`."""
        return await self.run(calls.read_known_counts(dataset_id))

    async def check_rules(self, release_id: str) -> RulesCheck:
        """Hold the declared rules against a release's noisy counts; as `Client.check_rules`."""
        return await self.run(calls.check_rules(release_id))

    async def download_bundle(
        self,
        release_id: str,
        target: Path,
        *,
        seen: Seen = unseen,
        public_keys: Collection[bytes] | None = None,
    ) -> None:
        """Write the generator bundle to a file, whole or not at all; as `Client.download_bundle`.

        Raises:
            VerificationFailed: if keys are given and the bundle is not what its certificate states, or not by them.
        """
        if public_keys is None:
            await self.download(calls.download_bundle(release_id), target, seen=seen)
            return
        keep = verifying_keeper()
        waiting = target.with_name(f"{target.name}.unverified")
        await self.download(calls.download_bundle(release_id), waiting, seen=seen)
        await asyncio.to_thread(keep, waiting, target, public_keys=public_keys)

    async def download_samples(
        self,
        release_id: str,
        target: Path,
        *,
        rows: int,
        file_format: str | None = None,
        where: Json | None = None,
        spreadsheet_safe: bool = False,
        seen: Seen = unseen,
    ) -> None:
        """Write synthetic rows or images to a file, whole or not at all; as `Client.download_samples`."""
        call = calls.draw_samples(
            release_id, rows=rows, file_format=file_format, where=where, spreadsheet_safe=spreadsheet_safe
        )
        await self.download(call, target, seen=seen)

    def stream_samples(
        self, release_id: str, *, rows: int, file_format: str | None = None, where: Json | None = None
    ) -> AsyncIterator[bytes]:
        """Yield synthetic rows or images as the bytes of a file, as they are drawn."""
        return self._stream(calls.draw_samples(release_id, rows=rows, file_format=file_format, where=where))

    async def sample_release(
        self, release_id: str, *, rows: int, form: str = "pandas", where: Json | None = None
    ) -> Any:  # noqa: ANN401 - see `understudy.tables`
        """Draw synthetic rows or images into memory. It costs nothing, however many.

        Args:
            release_id: the release.
            rows: how many.
            form: "pandas" for a DataFrame, "arrow" for an Arrow table; "numpy" for the arrays of images.
            where: columns that are fixed, with their values; see `download_samples`.

        Raises:
            NotInstalled: a library is needed and not installed.
        """
        file_format = require_form(form)
        pieces = self.stream_samples(release_id, rows=rows, file_format=file_format, where=where)
        return drawn(b"".join([piece async for piece in pieces]), form=form)
