"""The doctor: each part is broken in turn, and what is said about it is looked at."""

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest
from obstore.exceptions import GenericError
from sqlalchemy import text

from core.clock import SystemClock
from core.db.session import Database
from core.db.tables import Job
from core.ledger import governance
from core.platform.access.roles import Role
from core.platform.health.signs import SILENT_SECONDS, give_sign, note_chore
from service import health
from service.diagnosis.__main__ import main
from service.diagnosis.examination import FULL_BYTES, LOW_BYTES, MEGABYTE, STARTING, Examination
from service.diagnosis.findings import CATALOGUE, Finding
from service.diagnosis.report import Report
from tests.commands import run_here
from tests.service.world import World, require_problem
from tests.workers.support import environment_of

ROOT = Path(__file__).parents[2]
PLENTY = 100 * LOW_BYTES


@pytest.fixture
def well(world: World) -> World:
    """A deployment where everybody lives, on the machine's own clock."""
    for role in ("worker", "reports", "upkeep"):
        sign(world, role)
    return world


def sign(world: World, role: str, *, ago: float = 0, name: str = "here") -> None:
    at = datetime.now(UTC) - timedelta(seconds=ago)
    with world.database.transaction() as session:
        give_sign(session, name=f"{role}@{name}", role=role, at=at)


def examined(
    world: World, *, free: int = PLENTY, clock=None, database=None, started_at=None, **settings: object
) -> Sequence[Finding]:
    context = world.app.state.context
    return Examination(
        context.settings.model_copy(update=settings),
        database=database or world.database,
        store=world.store,
        clock=clock or SystemClock(),
        free_bytes=lambda _folder: free,
        started_at=started_at,
    ).findings()


def codes(found: Sequence[Finding]) -> list[str]:
    return [one.code for one in found]


def test_all_is_well(well: World) -> None:
    assert examined(well) == []


def test_nobody_gave_a_sign(world: World) -> None:
    assert codes(examined(world)) == ["worker-none", "reports-none", "upkeep-silent"]


def test_processes_that_start_with_the_api_are_missed_after_a_grace_period(world: World) -> None:
    sign(world, "worker", ago=SILENT_SECONDS + 60, name="of the last run")
    world.job()
    started, missed = datetime.now(UTC), ["worker-none", "reports-none", "upkeep-silent", "worker-silent"]
    just_started = examined(world, started_at=started)
    assert not {*missed, "queue-unserved"} & {*codes(just_started)}
    later = examined(world, started_at=started - STARTING)
    assert codes(later)[:4] == missed
    shown = Report.of(later, at=started).findings
    unserved = next(one for one in shown if one.code == "queue-unserved")
    assert "`--queues train.cpu`" in unserved.remedy
    assert not any("{" in one.remedy for one in shown)
    sign(world, "reports", ago=SILENT_SECONDS + 1, name="lost")
    lost = examined(world, started_at=started - timedelta(seconds=SILENT_SECONDS + 2))
    assert "worker-silent" in codes(lost), "it lived since the start and is not starting"


def test_a_silent_worker_is_named(well: World) -> None:
    sign(well, "worker", ago=SILENT_SECONDS + 60, name="gone")
    (found,) = examined(well)
    assert found.code == "worker-silent"
    assert "worker@gone" in found.detail


def test_the_broker_is_away(well: World) -> None:
    found = examined(well, broker_url="redis://:secret@127.0.0.1:1/0")
    assert codes(found) == ["broker-away"]
    assert "secret" not in found[0].detail


def test_the_store_takes_no_objects(well: World) -> None:
    def refuse(_key: str, _data: bytes) -> None:
        raise GenericError("http://secret")

    well.store.put_bytes = refuse
    assert codes(examined(well)) == ["storage-away"]


def test_looking_leaves_no_object(well: World) -> None:
    examined(well)
    assert list(well.store.list("probes")) == []


@pytest.mark.parametrize(
    ("free", "code"), [(FULL_BYTES - 1, "disk-full"), (FULL_BYTES, "disk-low"), (LOW_BYTES - 1, "disk-low")]
)
def test_a_disk_is_full_or_nearly(well: World, free: int, code: str) -> None:
    found = examined(well, free=free)
    assert codes(found) == [code, code]
    assert {one.facts["which"] for one in found} == {"scratch", "objects"}
    assert found[0].facts["free_megabytes"] == free // MEGABYTE


def test_the_database_is_away_and_nothing_else_is_claimed(well: World) -> None:
    away = Database("postgresql://nobody:secret@127.0.0.1:1/none")
    found = examined(well, database=away)
    away.close()
    assert codes(found) == ["database-away"]


@pytest.mark.parametrize(
    ("at", "code"), [("20261120_first_schema", "schema-too-old"), ("20991231_later", "schema-ahead")]
)
def test_the_schema_is_another_releases(well: World, at: str, code: str) -> None:
    with well.database.transaction() as session:
        session.execute(text("UPDATE alembic_version SET version_num = :at"), {"at": at})
    (found,) = examined(well)
    assert found.code == code
    assert at in found.detail


def test_the_schema_lacks_a_later_migration(well: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "newest_migration", lambda: "20991231_later")
    (found,) = examined(well)
    assert found.code == "schema-behind"
    assert "20991231_later" in found.detail


def test_the_database_has_no_schema(well: World) -> None:
    with well.database.transaction() as session:
        session.execute(text("DROP TABLE alembic_version"))
    assert codes(examined(well)) == ["schema-behind"]


def test_the_clock_is_skewed(well: World) -> None:
    class Fast:
        def now(self) -> datetime:
            return datetime.now(UTC) + timedelta(seconds=30)

    (found,) = examined(well, clock=Fast())
    assert found.code == "clock-skewed"
    assert 25 <= int(found.facts["seconds"]) <= 35


def test_a_chore_fails_until_it_succeeds(well: World) -> None:
    for handled in (None, 0):
        with well.database.transaction() as session:
            note_chore(session, name="audit", at=datetime.now(UTC), seconds=1, handled=handled)
        assert codes(examined(well)) == (["chore-failing"] if handled is None else [])


def test_the_queue_is_stuck_while_nothing_runs(well: World) -> None:
    job_id = UUID(well.job()["id"])  # ordered at the world's noon, long ago
    (found,) = examined(well)
    assert found.code == "queue-stuck"
    assert found.facts["waiting"] == 1
    with well.database.transaction() as session:
        job = session.get_one(Job, job_id)
        job.state, job.lease_expires_at = "running", job.created_at
    assert codes(examined(well)) == ["leases-expired"]


def test_a_broken_ledger_and_a_frozen_one(well: World) -> None:
    dataset_id = well.ready()
    population = well.admin.get(f"/v1/datasets/{dataset_id}/ledger").json()["population_id"]
    with well.database.transaction() as session:
        governance.freeze(session, UUID(population), by="test", reason="a test", clock=well.clock)
    assert codes(examined(well)) == ["dataset-frozen"]
    with well.database.transaction() as session:
        session.execute(text("ALTER TABLE ledger_entries DISABLE TRIGGER ALL"))
        session.execute(text("UPDATE ledger_entries SET hash = :no WHERE sequence = 1"), {"no": bytes(32)})
    found = examined(well)
    assert codes(found) == ["ledger-broken", "dataset-frozen"]
    assert population in found[0].detail


def test_long_ledgers_are_left_to_upkeep(well: World, monkeypatch: pytest.MonkeyPatch) -> None:
    well.ready()
    monkeypatch.setattr("service.diagnosis.examination.ENTRIES_VERIFIED", 0)
    assert codes(examined(well)) == ["ledger-unverified"]


def test_production_lists_the_settings_it_lacks(well: World) -> None:
    assert codes(examined(well, mode="production")) == ["witness-none", "metrics-off"]


def test_a_mail_server_that_is_away_and_endpoints_that_are_paused(well: World) -> None:
    mail = {"smtp_host": "127.0.0.1", "smtp_port": 1, "smtp_security": "none", "smtp_sender": "u@example.org"}
    assert codes(examined(well, **mail)) == ["mail-away"]
    hook = {"channel": "webhook", "target": "https://example.org/"}
    assert well.owner.post("/v1/notifications/endpoints", hook).status_code == 201
    with well.database.transaction() as session:
        session.execute(text("UPDATE notification_endpoints SET state = 'paused', paused_because = 'gone'"))
    (found,) = examined(well)
    assert (found.code, found.facts) == ("endpoints-paused", {"which": 1})


def test_the_report_is_for_admins_and_auditors(well: World) -> None:
    well.app.state.context = replace(well.app.state.context, clock=SystemClock())
    for caller in (well.admin, well.caller(Role.AUDITOR)):
        answer = caller.get("/v1/health/report")
        assert answer.status_code == 200, answer.text
        shown = {one["code"] for one in answer.json()["findings"]}
        assert shown <= {"disk-low", "disk-full"}
    for caller in (well.owner, well.analyst):
        require_problem(caller.get("/v1/health/report"), status=403, code="role-missing")


def test_problems_make_it_ailing_and_notes_do_not() -> None:
    at = datetime.now(UTC)
    assert Report.of([Finding(code="metrics-off", facts={})], at=at).status == "well"
    assert Report.of([Finding(code="worker-none", facts={})], at=at).status == "ailing"


def examined_by_command(environment: dict[str, str]) -> tuple[int, Report]:
    finished = subprocess.run(
        [sys.executable, "-m", "service.diagnosis"],
        env=environment, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert finished.stdout, finished.stderr
    return finished.returncode, Report.model_validate_json(finished.stdout)


def examined_here(environment: dict[str, str]) -> tuple[int, Report]:
    finished = run_here(main, environment)
    return finished.returncode, Report.model_validate_json(finished.stdout)


def test_the_command_examines_where_no_api_runs(well: World) -> None:
    status, report = examined_by_command(environment_of(well.app.state.context.settings))
    grave = [found.code for found in report.findings if found.code not in {"disk-low", "disk-full"}]
    assert grave == []
    assert status == (1 if report.status == "ailing" else 0)


def test_the_command_names_settings_and_never_values(well: World) -> None:
    environment = environment_of(well.app.state.context.settings)
    broken = environment | {"UNDERSTUDY_LEASE_SECONDS": "minus-four", "UNDERSTUDY_MASTER_KEY": "cAnArY"}
    status, report = examined_here(broken)
    (found,) = report.findings
    assert (status, found.code) == (1, "settings-invalid")
    assert "UNDERSTUDY_LEASE_SECONDS, UNDERSTUDY_MASTER_KEY" in found.detail
    assert "cAnArY" not in report.model_dump_json()


def test_the_command_finds_weak_secrets(well: World) -> None:
    environment = environment_of(well.app.state.context.settings) | {
        "UNDERSTUDY_MODE": "production",
        "UNDERSTUDY_MASTER_KEY": "0123456789abcdef" * 4,
    }
    _, report = examined_here(environment)
    assert report.findings[0].code == "secret-weak"
    assert "0123456789abcdef" not in report.model_dump_json()


def test_every_code_is_explained_in_the_operations_page() -> None:
    page = (ROOT / "docs" / "operations.md").read_text()
    for code, entry in CATALOGUE.items():
        assert f"| `{code}` | {entry.grade} |" in page
        assert entry.remedy
