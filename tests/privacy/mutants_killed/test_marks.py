"""Nothing private is read before a durable mark says so: what a settlement charges is never less than what was released."""

from collections.abc import Iterable

from torch import Tensor

from models.idpgan.synthesizer import IdpganSynthesizer
from models.randomness import KeyedStreams, Purpose
from models.releases import NullRecorder
from models.synthesizer import NullHost
from tests.models.coded_tables import KEY, small_table
from tests.models.idpgan.jobs import small_plan


class Diary(NullRecorder, NullHost):
    """Marks and releases in the order in which they come."""

    def __init__(self) -> None:
        self.measuring = False
        self.covered = 0
        self.releases: list[tuple[int, int]] = []
        self.uncovered: list[tuple[int, int]] = []

    def advance(self, *, stage: str, step: int, total: int) -> None:
        self.measuring = True
        if stage == "train":
            self.covered = step

    def exact(
        self, purpose: int, step: int, parts: Iterable[tuple[Tensor, float]], *, sensitivity: float
    ) -> None:
        self.releases.append((purpose, step))
        training = purpose in {Purpose.GRADIENT_NOISE, Purpose.ACTS_NOISE}
        if not self.measuring or (training and step >= self.covered):
            self.uncovered.append((purpose, step))


def test_every_release_comes_after_the_mark_that_covers_it():
    table = small_table()
    plan = small_plan(table, steps=60, pretraining_steps=3)
    diary = Diary()
    IdpganSynthesizer().fit(table, plan, KeyedStreams(KEY, releases=diary), diary)
    assert diary.uncovered == []
    assert len(diary.releases) == 2 + 60
