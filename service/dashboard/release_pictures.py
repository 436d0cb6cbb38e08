"""Previews of releases, drawn once per release and process."""

from typing import Final
from uuid import UUID

from service.caches import LruCache
from service.context import AppContext
from service.dashboard.release_drawing import Pictures, draw
from service.edge.concurrency import ConcurrencyLimit
from service.releases.endpoints import opened_samples

KEPT: Final = 32
_AT_ONCE: Final = 2
_PATIENCE_SECONDS: Final = 10.0


class PictureCache:
    """The previews of the most recently viewed releases."""

    def __init__(self) -> None:
        self._kept = LruCache[UUID, Pictures](KEPT)
        self._limit = ConcurrencyLimit(
            _AT_ONCE, what="pictures of releases", patience_seconds=_PATIENCE_SECONDS
        )

    def find(self, release_id: UUID) -> Pictures | None:
        """The preview if it was drawn before."""
        return self._kept.find(release_id)

    def get(self, context: AppContext, release_id: UUID, *, bundle_key: str) -> Pictures:
        """The preview of a release. The caller must already have checked the right to sample from it.

        Raises:
            ServiceBusy: Too many previews are being drawn.
            BundleInvalid: The bundle is damaged.
        """
        known = self.find(release_id)
        if known is not None:
            return known
        with self._limit.hold():
            drawn = draw(opened_samples(context, release_id, bundle_key=bundle_key))
        self._kept.keep(release_id, drawn)
        return drawn
