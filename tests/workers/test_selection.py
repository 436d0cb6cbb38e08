"""A selection from order to release: claimed, trained, certified, verified offline; killed and resumed; cancelled."""

from functools import cache

import pytest

from core.artifacts.errors import ExecutionDiffers
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.charge import charge_of
from core.dp.guarantee import PrivacyGuarantee
from core.jobs import claims, endings
from core.ledger.reservation import EntryKind
from core.plan.domain.table import TableDomain
from core.plan.selections.plan import SelectionPlan, SelectionSpec
from core.plan.selections.planning import make_selection_plan
from core.plan.spec import SynthesisSpec
from core.platform.stored_objects import release_id_of
from models.release_recorder import CertificateRecorder, SelectionRecord, record_of
from models.selection import scoring
from models.selection.selecting import Selection
from models.synthesizer import NullHost
from tests.models.coded_tables import small_table, streams
from tests.models.idpgan.jobs import Killed, StubbornHost, generator_bytes
from tests.models.selection.jobs import small_selection
from tests.workers.in_process import here_and_in_a_child
from tests.workers.support import DOCUMENT, ROWS, SMALL

FEW = ({"steps": 2, "pretraining_steps": 2}, {"critic": False, "pretraining_steps": 2})
"""Two candidates of a few steps."""


@cache
def tiny_selection() -> SelectionPlan:
    """Two candidates that train in a second."""
    options = [SMALL | {"steps": 6, "pretraining_steps": 6}, SMALL | {"steps": 9, "anchor": False}]
    options[1].pop("pretraining_steps")
    return make_selection_plan(
        selection=SelectionSpec(
            candidates=tuple(SynthesisSpec(synthesizer="idpgan", options=one) for one in options),
            epsilon=1.0,
            choice_epsilon=0.5,
        ),
        guarantee=PrivacyGuarantee(epsilon=2.0, delta=1e-6),
        declared_size=ROWS,
        domain=TableDomain.from_json(DOCUMENT),
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
    )


@pytest.fixture(autouse=True)
def small_judges(monkeypatch):
    """In this process; a training child has the real ones."""
    monkeypatch.setattr(scoring, "SAMPLE_ROWS", 200)
    monkeypatch.setattr(scoring, "TREES", 5)


@here_and_in_a_child
def test_a_selection_becomes_a_release(workshop, capfd, tmp_path, in_child):
    plan = tiny_selection()
    job_id = workshop.order(plan)

    workshop.train(job_id, in_child=in_child)

    job, release = workshop.job(job_id), workshop.release(job_id)
    assert release is not None, capfd.readouterr()
    assert job.state == "succeeded"
    assert release.id == release_id_of(job_id)
    certificate = release.certificate
    assert certificate["schema"] == "understudy.selection-certificate/1"
    assert certificate["plan_digest"] == job.plan_digest == plan.digest()
    assert certificate["epsilon"] == plan.epsilons.to_json()
    assert certificate["executed"]["winner"] in range(2)
    workshop.verified(workshop.store.get_bytes(release.bundle_key), tmp_path / "bundle.zip")
    assert workshop.movements(job_id) == [EntryKind.RESERVED, EntryKind.SPENT]
    assert workshop.reservation(job_id).reserved == charge_of(plan.mechanism, delta=1e-6)
    assert job.sealed_randomness_key is None, "the randomness key is destroyed"


def test_cancelled_while_it_selects_it_is_charged_the_selecting_and_no_step(workshop):
    plan = tiny_selection()
    job_id = workshop.order(plan)
    claim = workshop.claim(job_id)
    with workshop.database.transaction() as session:
        claims.advance(session, claim, stage="measure", step=1, total=plan.parts)

    charged = endings.begun_charge(workshop.job(job_id))

    assert charged == charge_of(plan.executed(0), delta=1e-6)
    whole = charge_of(plan.mechanism, delta=1e-6)
    assert charged.epsilon_micros < whole.epsilon_micros
    assert charged.rdp_micros < whole.rdp_micros


class Recording(StubbornHost):
    """Keeps the record beside every state, as the worker's host does."""

    def __init__(self, record: SelectionRecord, state: bytes | None = None, *, kill_at: int | None = None):
        super().__init__(state, kill_at=kill_at)
        self.record = record

    def load_checkpoint(self) -> bytes | None:
        return None if self.state is None else self.record.restored(self.state)

    def save_checkpoint(self, state: bytes) -> None:
        super().save_checkpoint(self.record.beside(state))


def test_the_record_of_a_killed_selection_is_kept_beside_its_checkpoints():
    table = small_table()
    plan = small_selection(table, candidates=FEW)
    record = SelectionRecord(plan)
    undisturbed = Recording(record)
    expected = Selection(table, plan, streams(), undisturbed, listening=record).run()
    executed = record.executed()
    assert executed.winner == expected.winner
    executed.require_as_planned(plan)

    # While the first candidate trains, and while the winner does.
    for cut in (2, undisturbed.saved - 2):
        dying = Recording(first := SelectionRecord(plan), kill_at=cut)
        with pytest.raises(Killed):
            Selection(table, plan, streams(), dying, listening=first).run()
        second = SelectionRecord(plan)
        again = Selection(table, plan, streams(), Recording(second, dying.state), listening=second).run()
        assert generator_bytes(again.generator) == generator_bytes(expected.generator)
        assert second.executed() == executed


def test_what_was_not_planned_is_not_recorded():
    table = small_table()
    plan, other = small_selection(table, candidates=FEW), small_selection(table, candidates=FEW, choice=0.5)
    record = SelectionRecord(plan)

    with pytest.raises(ExecutionDiffers):
        Selection(table, other, streams(), NullHost(), listening=record).run()
    with pytest.raises(ExecutionDiffers):
        SelectionRecord(plan).executed()
    more = small_selection(table, candidates=[{"steps": n, "pretraining_steps": 1} for n in (3, 4)])
    with pytest.raises(ExecutionDiffers):
        Selection(table, more, streams(), NullHost(), listening=SelectionRecord(plan)).run()
    assert SelectionRecord(plan).restored(b"something else") is None


def test_each_kind_of_plan_gets_its_record():
    plan = tiny_selection()

    assert isinstance(record_of(plan), SelectionRecord)
    assert isinstance(record_of(plan.finals[0]), CertificateRecorder)
