"""A fault without a target leaves nothing behind."""

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.faults import faults
from tests.faults.faults import NothingToHit, Scene, freeze_joint


class PlayedOrder:
    """An order of two owners that trains at once, and is concluded when it is awaited."""

    datasets: tuple[str, ...] = ()

    def __init__(self, *_: Any, **__: Any) -> None:
        self.hold, self.awaited = threading.Event(), 0

    def start(self) -> None:
        pass

    def moment(self) -> tuple[int, int]:
        return faults.TRAINING, 0

    def concluded(self) -> list[str]:
        self.awaited += 1
        return []


class PlayedStack:
    """A stack that is always well."""

    def await_health(self) -> None:
        pass


@pytest.mark.parametrize("found", [[], ["a job is queued"]])
def test_an_order_of_two_owners_that_no_fault_hit_is_awaited(
    found: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An abandoned order would train during later rounds, whose checks would report its checkpoint as a leftover."""

    def nothing(_scene: Scene) -> None:
        raise NothingToHit

    order = PlayedOrder()
    monkeypatch.setattr(faults, "OwnersOrder", lambda *_, **__: order)
    monkeypatch.setattr(faults, "order_violations", lambda *_: found)
    monkeypatch.setattr(faults, "freeze", lambda *, whole: nothing)
    stack: Any = PlayedStack()
    errand: Any = None
    scene = Scene(stack=stack, errand=errand, folder=tmp_path, draw=np.random.default_rng(0))
    if found:
        after = freeze_joint(scene)
        assert after is not None
        assert after() == found
    else:
        with pytest.raises(NothingToHit):
            freeze_joint(scene)
    assert order.awaited == 1
