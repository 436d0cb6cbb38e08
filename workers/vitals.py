"""Telling the database that this process lives and what it did: the source of metrics and of the doctor's findings."""

import platform
from collections.abc import Callable, Sequence
from typing import Final, Literal

from core.clock import Clock
from core.db.session import Database
from core.errors import Unavailable
from core.logs import get_logger
from core.vitals.signs import Device, give_sign, note_chore
from workers.devices import devices

_NO_DEVICES: Final[tuple[Device, ...]] = ()


class Vitals:
    """The signs of one process. A database that is away costs a sign, never the process.

    Args:
        database: Where signs are kept.
        clock: Stamps them.
        role: What the process does.
        find_devices: Lists its GPUs.
    """

    def __init__(
        self,
        database: Database,
        *,
        clock: Clock,
        role: Literal["worker", "upkeep"],
        find_devices: Callable[[], Sequence[Device]] = devices,
    ) -> None:
        self._database = database
        self._clock = clock
        self._role = role
        self._name = f"{role}@{platform.node()}"
        self._find_devices = find_devices

    def sign(self) -> None:
        """Note that this process lives."""
        seen = self._find_devices() if self._role == "worker" else _NO_DEVICES
        try:
            with self._database.transaction() as session:
                give_sign(session, name=self._name, role=self._role, at=self._clock.now(), devices=seen)
        except Unavailable:
            get_logger().warning("sign-not-given", exc_info=True)

    def chore(self, name: str, *, seconds: float, handled: int | None) -> None:
        """Note what a chore did; ``handled`` is None when it failed."""
        try:
            with self._database.transaction() as session:
                note_chore(session, name=name, at=self._clock.now(), seconds=seconds, handled=handled)
        except Unavailable:
            get_logger().warning("chore-not-noted", chore=name, exc_info=True)
