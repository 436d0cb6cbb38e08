"""A graphical model from order to release, by a worker's own child: trained, certified, verified offline, asked, drawn from."""

import json
import subprocess
import sys
import zipfile
from functools import cache

import pytest
from celery.signals import celeryd_init

from core.artifacts.asking.answer import OpenedCounts
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.charge import charge_of
from core.dp.guarantee import PrivacyGuarantee
from core.jobs import endings
from core.ledger.reservation import EntryKind
from core.plan import installed
from core.plan.domain.table import TableDomain
from core.plan.plan import Plan, make_plan
from core.plan.selections.plan import SelectionSpec
from core.plan.selections.planning import make_selection_plan
from core.plan.spec import SynthesisSpec
from models.software import FITTING_GRAPHS
from tests.workers.support import DOCUMENT, ROWS, SMALL, Workshop
from workers import app, training_child
from workers.child import AttemptEnded, ExitCode

PUBLIC = {
    "guarantee": PrivacyGuarantee(epsilon=2.0, delta=1e-6),
    "declared_size": ROWS,
    "domain": TableDomain.from_json(DOCUMENT),
    "adjacency": Adjacency.ADD_OR_REMOVE,
    "privacy_unit": PrivacyUnit(column=None),
}


@cache
def graphical_plan() -> Plan:
    return make_plan(spec=SynthesisSpec(synthesizer="mst"), **PUBLIC)  # type: ignore[arg-type]


def released(workshop: Workshop, plan, folder, capfd, *, in_child: bool = False):
    """Train a plan to a release, and verify it. Returns its certificate and the file of its bundle."""
    job_id = workshop.order(plan)
    workshop.train(job_id, in_child=in_child)
    job, release = workshop.job(job_id), workshop.release(job_id)
    assert release is not None, capfd.readouterr()
    assert job.state == "succeeded"
    assert workshop.movements(job_id) == [EntryKind.RESERVED, EntryKind.SPENT]
    assert workshop.reservation(job_id).reserved == charge_of(plan.mechanism, delta=1e-6)
    assert job.sealed_randomness_key is None, "the randomness key is destroyed"
    bundle = folder / "bundle.zip"
    workshop.verified(workshop.store.get_bytes(release.bundle_key), bundle)
    return release.certificate, bundle


@pytest.mark.long
def test_a_graphical_model_becomes_a_release(workshop, capfd, tmp_path):
    certificate, bundle = released(workshop, graphical_plan(), tmp_path, capfd, in_child=True)
    assert certificate["epsilon"] == graphical_plan().epsilons.to_json()
    assert certificate["plan"]["synthesizer"] == "mst"
    named = {entry["name"] for entry in certificate["software"]["distributions"]}
    assert set(FITTING_GRAPHS) <= named, "whose files took part"
    answer = OpenedCounts.open(bundle.read_bytes()).answer("count by sick")
    assert sum(row.estimate for row in answer.rows) == pytest.approx(ROWS, abs=100)

    with zipfile.ZipFile(bundle) as archive:
        archive.extractall(tmp_path)
    script = [sys.executable, "sample.py", "500", "rows.csv"]
    subprocess.run(script, cwd=tmp_path, check=True, env={"PYTHONPATH": ""})
    lines = (tmp_path / "rows.csv").read_text().splitlines()
    assert lines[0] == "age,colour,sick"
    assert len(lines) == 501
    # In the rows whoever is older than five is sick.
    agree = sum(
        (int(age) > 5) == (sick == "true") for age, _, sick in (line.split(",") for line in lines[1:])
    )
    assert agree > 400


@pytest.mark.long
def test_a_selection_may_have_a_graphical_candidate(workshop, capfd, tmp_path):
    candidates = (
        SynthesisSpec(synthesizer="mst"),
        SynthesisSpec(synthesizer="idpgan", options={**SMALL, "steps": 6, "pretraining_steps": 6}),
    )
    plan = make_selection_plan(
        selection=SelectionSpec(candidates=candidates, epsilon=1.0, choice_epsilon=0.5),
        **PUBLIC,  # type: ignore[arg-type]
    )
    certificate, _ = released(workshop, plan, tmp_path, capfd)
    named = {entry["name"] for entry in certificate["software"]["distributions"]}
    assert "mbi" in named


def without_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installed, "find_spec", lambda name: None)


def test_a_child_without_the_libraries_ends_before_a_row_is_opened_and_nothing_is_charged(
    workshop, monkeypatch
):
    without_libraries(monkeypatch)
    monkeypatch.setattr(training_child, "open_private_rows", lambda *_: pytest.fail("rows were opened"))
    job_id = workshop.order(graphical_plan())
    claim = workshop.claim(job_id)
    with pytest.raises(AttemptEnded) as ended:
        training_child.attempt(
            workshop.settings,
            database=workshop.database,
            store=workshop.store,
            job_id=job_id,
            fence=claim.fence,
        )
    assert ended.value.code is ExitCode.MACHINERY
    charged = endings.begun_charge(workshop.job(job_id))
    assert charged.epsilon_micros == 0, json.dumps(charged.to_json())


def test_a_worker_does_not_start_without_what_the_operator_has_ordered_taken(worker_environment, monkeypatch):
    celeryd_init.send(sender="worker@here")
    monkeypatch.setenv("UNDERSTUDY_GRAPHICAL_MODELS", "on")
    app.read_settings.cache_clear()
    celeryd_init.send(sender="worker@here")
    without_libraries(monkeypatch)
    with pytest.raises(SystemExit, match=r"the extra `graphical`"):
        celeryd_init.send(sender="worker@here")
