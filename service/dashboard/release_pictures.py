"""Previews of releases, drawn once per release and process."""

import threading
from collections import OrderedDict
from typing import Final
from uuid import UUID

from core.artifacts.sampling.samples import Samples, open_samples
from service.context import AppContext
from service.dashboard.release_drawing import Pictures, draw
from service.edge.concurrency import ConcurrencyLimit

KEPT: Final = 32
_AT_ONCE: Final = 2
_PATIENCE_SECONDS: Final = 10.0


class PictureCache:
    """LRU cache of release previews.

    Args:
        capacity: Number of releases kept.
    """

    def __init__(self, capacity: int = KEPT) -> None:
        self._capacity = capacity
        self._lock = threading.Lock()
        self._kept: OrderedDict[UUID, Pictures] = OrderedDict()
        self._limit = ConcurrencyLimit(
            _AT_ONCE, what="pictures of releases", patience_seconds=_PATIENCE_SECONDS
        )

    def find(self, release_id: UUID) -> Pictures | None:
        """The preview if it was drawn before."""
        with self._lock:
            if release_id in self._kept:
                self._kept.move_to_end(release_id)
            return self._kept.get(release_id)

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
            samples = context.sampling.samplers.get(release_id, lambda: _open(context, bundle_key))
            drawn = draw(samples)
        with self._lock:
            self._kept[release_id] = drawn
            while len(self._kept) > self._capacity:
                self._kept.popitem(last=False)
        return drawn


def _open(context: AppContext, bundle_key: str) -> Samples:
    return open_samples(context.store.get_bytes(bundle_key), threads=context.settings.sampling_threads)
