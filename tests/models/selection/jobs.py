"""Small selections over small tables, and listeners that record or replay every training in them."""

from collections.abc import Callable, Sequence
from typing import Any

from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.plan.selections.plan import SelectionPlan, SelectionSpec
from core.plan.selections.planning import make_selection_plan
from core.plan.spec import SynthesisSpec
from models.encoding import PrivateTable
from models.releases import ReleaseRecorder
from tests.models.idpgan.jobs import SMALL
from tests.privacy.seam import Recorder, Replayer

CANDIDATES: tuple[dict[str, Any], ...] = (
    {"steps": 2, "pretraining_steps": 2},
    {"steps": 3, "anchor": False},
    {"critic": False, "pretraining_steps": 3},
)


def small_selection(
    table: PrivateTable, *, candidates: Sequence[dict[str, Any]] = CANDIDATES, choice: float = 1.0
) -> SelectionPlan:
    """A plan of a small selection for 400 units."""
    return make_selection_plan(
        selection=SelectionSpec(
            candidates=tuple(
                SynthesisSpec(synthesizer="idpgan", options=SMALL | options) for options in candidates
            ),
            epsilon=2.0,
            choice_epsilon=choice,
        ),
        guarantee=PrivacyGuarantee(epsilon=3.0, delta=1e-6),
        declared_size=400,
        domain=table,
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
    )


class Listener:
    """Listens to every training of a selection, and to its choice.

    Args:
        releases: makes the listener of a training, by its name.
        winner: what to put in place of the choice; None leaves it.
    """

    def __init__(self, releases: Callable[[str], ReleaseRecorder], *, winner: int | None = None) -> None:
        self._releases = releases
        self._winner = winner
        self.trainings: dict[str, ReleaseRecorder] = {}
        self.errors: list[int] = []
        self.epsilon = 0.0
        self.winner = -1

    def candidate(self, number: int) -> ReleaseRecorder:
        return self._of(f"candidate {number}")

    def final(self, number: int) -> ReleaseRecorder:
        return self._of(f"final {number}")

    def choosing(self, errors: Sequence[int], *, epsilon: float) -> None:
        self.errors, self.epsilon = list(errors), epsilon

    def chosen(self, number: int) -> int:
        self.winner = number if self._winner is None else self._winner
        return self.winner

    def _of(self, name: str) -> ReleaseRecorder:
        self.trainings[name] = self._releases(name)
        return self.trainings[name]


def recording() -> Listener:
    """Records every training."""
    return Listener(lambda _name: Recorder())


def replaying(recorded: Listener) -> Listener:
    """Replays every training and the choice."""

    def replayer(name: str) -> Replayer:
        recorder = recorded.trainings[name]
        assert isinstance(recorder, Recorder)
        return Replayer(recorder)

    return Listener(replayer, winner=recorded.winner)
