"""Opened generators, kept while they are in use: opening one takes far longer than drawing a few rows."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from uuid import UUID

from core.releases.samples import Samples

Opener = Callable[[], Samples]


class SamplerCache:
    """The most recently used samplers. A sampler is opened once even if many ask for it at the same time.

    Args:
        capacity: How many samplers are kept.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._lock = threading.Lock()
        self._opened: OrderedDict[UUID, Samples] = OrderedDict()
        self._opening: dict[UUID, threading.Lock] = {}

    def get(self, release_id: UUID, opener: Opener) -> Samples:
        """The sampler of a release, opened by ``opener`` if it is not kept. A failure to open is not kept."""
        with self._lock:
            turn = self._opening.setdefault(release_id, threading.Lock())
        with turn:
            sampler = self._kept(release_id)
            if sampler is None:
                sampler = opener()
                self._keep(release_id, sampler)
        with self._lock:
            self._opening.pop(release_id, None)
        return sampler

    def _kept(self, release_id: UUID) -> Samples | None:
        with self._lock:
            if release_id in self._opened:
                self._opened.move_to_end(release_id)
            return self._opened.get(release_id)

    def _keep(self, release_id: UUID, sampler: Samples) -> None:
        with self._lock:
            self._opened[release_id] = sampler
            while len(self._opened) > self._capacity:
                self._opened.popitem(last=False)
