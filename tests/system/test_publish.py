"""The main job through the command, over HTTP, on the real stack, with few steps."""

import asyncio
import csv
import json
import signal
import subprocess
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.system.conftest import COMMAND, Start, Table, Up, environment, understudy, understudy_here
from tests.system.processes import await_end_of
from understudy import AsyncClient, NotFound
from understudy.embedded.folder import DataFolder
from understudy.table_files import read_table_files

pytestmark = pytest.mark.system

SMALL = (
    "generator_width=16",
    "generator_batch_size=16",
    "latent_dimension=4",
    "critic_width=16",
    "critic_steps=1",
)


def settings(*words: str) -> tuple[str, ...]:
    """Options of a small synthesizer, as words of the command."""
    return tuple(part for word in (*SMALL, *words) for part in ("--set", word))


FEW_STEPS = settings("steps=3", "pretraining_steps=3")
GUARANTEE = ("--epsilon", 1, "--delta", 1e-6)


@dataclass(frozen=True)
class Run:
    """One successful ``understudy publish``."""

    finished: "subprocess.CompletedProcess[str]"
    out: Path

    def json(self, name: str) -> dict[str, object]:
        document: dict[str, object] = json.loads((self.out / name).read_text())
        return document


@pytest.fixture(scope="module")
def published(shared_up: Up, table: Table, tmp_path_factory: pytest.TempPathFactory) -> Run:
    out = tmp_path_factory.mktemp("published")
    words = ("--domain", table.domain, *GUARANTEE, "--out", out, "--rows", 250, *FEW_STEPS)
    finished = understudy("publish", table.rows, *words, "--data-folder", shared_up.data_folder)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return Run(finished, out)


def test_publishing_leaves_rows_generator_certificate_and_ledger(published: Run, table: Table) -> None:
    with (published.out / "synthetic.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    declared = [column["name"] for column in json.loads(table.domain.read_text())["columns"]]
    assert len(rows) == 250
    assert list(rows[0]) == declared
    assert zipfile.ZipFile(published.out / "bundle.zip").testzip() is None
    certificate = published.json("certificate.json")
    assert certificate["privacy_parameters"] == {"epsilon": 1.0, "delta": 1e-6}
    statement = published.json("ledger.json")
    assert statement["cap"] == {"epsilon": 1.1, "delta": 2.3e-6}, "a tenth is left for a utility report"
    spent = statement["spent"]
    assert isinstance(spent, dict)
    assert 0 < float(spent["epsilon"]) <= 1
    assert float(spent["delta"]) == 1e-6
    entries = statement["entries"]
    assert isinstance(entries, list)
    assert [entry["kind"] for entry in entries] == ["CAP_SET", "GRANTED", "RESERVED", "SPENT"]


def test_what_was_published_is_verified_offline_against_the_keys_of_the_service(published: Run) -> None:
    keys = ("--keys", published.out / "signing-keys.json")
    verified = understudy_here("verify", published.out / "bundle.zip", *keys, "--json")
    assert verified.returncode == 0, verified.stdout + verified.stderr
    report = json.loads(verified.stdout)
    assert report["outcome"] == "verified"
    assert report["certificate"] == published.json("certificate.json")
    spent = report["certificate"]["ledger"]["spent"]
    entries = published.json("ledger.json")["entries"]
    assert isinstance(entries, list)
    assert {"sequence": entries[-1]["sequence"], "hash": entries[-1]["hash"]} == spent
    assert understudy_here("verify", published.out / "bundle.zip").returncode == 4


def test_publishing_says_where_everything_is_and_what_was_spent(published: Run) -> None:
    said = published.finished.stdout
    for name in (
        "synthetic.csv",
        "figures.html",
        "bundle.zip",
        "certificate.json",
        "ledger.json",
        "signing-keys.json",
    ):
        assert str(published.out / name) in said
    assert "Spent so far by this population: epsilon 0.99" in said
    assert "split of the budget" in said
    assert "epsilon 1 planned" in said
    assert "Approved with the admin's key: grant" in said


def test_the_same_table_again_is_refused_because_its_budget_is_spent(
    published: Run, shared_up: Up, table: Table, tmp_path: Path
) -> None:
    words = ("--domain", table.domain, *GUARANTEE, "--out", tmp_path, *FEW_STEPS)
    refused = understudy_here("publish", table.rows, *words, "--data-folder", shared_up.data_folder)
    assert refused.returncode == 1
    assert "same population" in refused.stdout
    assert "It costs epsilon" in refused.stderr
    assert "left for one more order [budget-refused]" in refused.stderr
    with shared_up.connection.client("owner") as owner:
        versions = [dataset for dataset in owner.list_datasets() if dataset.name == "rows"]
    assert all(dataset.state == "ready" for dataset in versions), (
        "nothing is declared for an order that cannot be"
    )
    assert not (tmp_path / "synthetic.csv").exists()
    words = (
        "--domain",
        table.domain,
        *GUARANTEE,
        "--out",
        published.out,
        "--data-folder",
        shared_up.data_folder,
    )
    kept = understudy_here("publish", table.rows, *words)
    assert "holds an earlier release; give another --out, or --force" in kept.stderr


def test_the_other_commands_tell_about_the_release(published: Run, shared_up: Up, tmp_path: Path) -> None:
    folder = ("--data-folder", shared_up.data_folder)
    with shared_up.connection.client("analyst") as analyst:
        release = analyst.list_releases()[-1]
    status = understudy_here("status", release.job_id, *folder)
    assert f"{release.job_id}  succeeded  release {release.id}" in status.stdout
    assert release.job_id in understudy_here("status", *folder).stdout
    ledger = understudy_here("ledger", release.dataset_id, *folder)
    assert "SPENT" in ledger.stdout
    quote = understudy_here("quote", release.dataset_id, "--epsilon", 0.5, "--json", *folder)
    assert json.loads(quote.stdout)["fits"] is False
    target = tmp_path / "more.parquet"
    more = understudy_here("sample", "--release", release.id, "--rows", 1000, "--out", target, *folder)
    assert more.returncode == 0, more.stderr
    offline = understudy_here(
        "sample", "--bundle", published.out / "bundle.zip", "--rows", 50, "--out", tmp_path / "o.csv"
    )
    assert offline.returncode == 0, offline.stderr
    with (tmp_path / "o.csv").open() as stream:
        assert len(stream.readlines()) == 51


def test_people_without_the_others_keys_take_turns(shared_up: Up, table: Table, tmp_path: Path) -> None:
    """The analyst asks, the owner shows the dataset, the admin grants: each with a command and a key of its own."""
    url, keys = shared_up.connection.url, shared_up.connection.keys

    def as_(role: str, *words: object) -> str:
        finished = understudy_here(*words, "--url", url, "--key", keys[role])
        assert finished.returncode == 0, finished.stderr
        return finished.stdout

    files = read_table_files(table.rows, table.domain, declared_size=None)
    with shared_up.connection.client("owner") as owner:
        dataset = owner.declare_dataset(name="turns", domain=files.domain, declared_size=600).id
    analyst = as_("analyst", "members", "me").strip()
    assert analyst in as_("owner", "members", "add", dataset, analyst)
    assert "takes orders" in as_("admin", "budget", "set", dataset, "--epsilon", 2, "--delta", 1e-5)
    asked = ("--epsilon", 2, "--delta", 2e-6, "--purpose", "a course")
    request = as_("analyst", "budget", "request", dataset, *asked).split()[0]
    assert "'a course'" in as_("owner", "budget", "requests", "--state", "open")
    own = understudy_here("budget", "approve", request, "--url", url, "--key", keys["analyst"])
    assert own.returncode == 1
    assert "role-missing" in own.stderr
    granted = as_("admin", "budget", "approve", request, "--epsilon", 1, "--note", "half of it")
    assert "open  epsilon 1" in granted
    assert "does NOT fit (grant-refused)" in as_("analyst", "budget", "what-if", dataset, "--epsilon", 1.5)
    assert "one more job: fits" in as_(
        "analyst", "budget", "what-if", dataset, "--epsilon", 0.5, "--delta", 1e-6
    )
    assert "FROZEN" in as_("owner", "budget", "freeze", dataset, "--reason", "a look")
    assert "takes orders" in as_("admin", "budget", "unfreeze", dataset, "--reason", "looked")
    grant = as_("analyst", "budget", "grants", dataset).split()[1]
    assert "revoked" in as_("admin", "budget", "revoke", grant)
    assert "no members" in as_("owner", "members", "remove", dataset, analyst)


def test_the_asynchronous_client_reads_the_same(published: Run, shared_up: Up, tmp_path: Path) -> None:
    connection = shared_up.connection

    async def read() -> tuple[object, ...]:
        async with AsyncClient(connection.url, key=connection.keys["analyst"]) as client:
            release = (await client.list_releases())[-1]
            await client.download_bundle(release.id, tmp_path / "bundle.zip")
            pieces = [
                piece async for piece in client.stream_samples(release.id, rows=40, file_format="jsonl")
            ]
            job = [job async for job in client.watch_job(release.job_id)][-1]
            waited = await client.wait_for_release(release.job_id)
            statement = await client.read_ledger(release.dataset_id)
            return release, job.state, waited, b"".join(pieces).count(b"\n"), statement.document

    release, state, waited, rows, statement = asyncio.run(read())
    assert (release, state, rows) == (waited, "succeeded", 40)
    assert statement == published.json("ledger.json")
    assert (tmp_path / "bundle.zip").read_bytes() == (published.out / "bundle.zip").read_bytes()


def test_the_asynchronous_client_uploads(shared_up: Up, table: Table) -> None:
    connection = shared_up.connection
    files = read_table_files(table.rows, table.domain, declared_size=None)

    async def send() -> tuple[int, int, int]:
        seen: list[int] = []
        async with AsyncClient(connection.url, key=connection.keys["owner"]) as client:
            dataset = await client.declare_dataset(name="async", domain=files.domain, declared_size=600)
            report = await client.upload_rows(dataset.id, table.rows, seen=seen.append)
            again = await client.read_intake_report(dataset.id)
            assert again.document == report.document
        return report.rows_accepted, report.rows_refused, sum(seen)

    assert asyncio.run(send()) == (600, 0, table.rows.stat().st_size)


def test_refusals_of_the_service_arrive_as_their_errors(shared_up: Up) -> None:
    with shared_up.connection.client("owner") as owner, pytest.raises(NotFound) as caught:
        owner.read_dataset("00000000-0000-0000-0000-000000000000")
    assert caught.value.code == "dataset-not-found"
    assert caught.value.request_id


def test_what_cannot_work_is_said_before_anything_starts(table: Table, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    tail = ("--out", tmp_path / "out", "--data-folder", folder)
    for words, status, message in [
        (("--domain", table.domain, "--epsilon", 0, "--delta", 1e-6), 2, "'--epsilon'"),
        (("--domain", table.domain, "--epsilon", 1, "--delta", 0), 2, "'--delta'"),
        (("--domain", tmp_path / "absent.json", *GUARANTEE), 1, "domain draft"),
        (("--domain", table.domain, *GUARANTEE, "--set", "steps"), 1, "KEY=VALUE"),
        (("--domain", table.domain, *GUARANTEE, "--budget-epsilon", 1), 1, "come together"),
    ]:
        refused = understudy_here("publish", table.rows, *words, *tail)
        assert refused.returncode == status
        assert message in refused.stderr
    assert not folder.exists()


@pytest.mark.long
def test_the_demo_runs_on_a_stack_of_its_own_and_stops_it(tmp_path: Path) -> None:
    finished = understudy("demo", "--out", tmp_path, "--rows", 400, *FEW_STEPS)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert "no real people" in finished.stdout
    assert "Ledger statement:" in finished.stdout
    for name in ("synthetic.csv", "bundle.zip", "certificate.json", "ledger.json"):
        assert (tmp_path / name).stat().st_size > 0
    log = (tmp_path / "data-folder" / "logs" / "postgres.log").read_text()
    assert "database system is shut down" in log
    DataFolder.prepare(tmp_path / "data-folder").lock().release()


def begin(table: Table, data_folder: Path, out: Path, *words: object) -> "subprocess.Popen[str]":
    """Start ``understudy publish``; give it once the private training has begun."""
    arguments = (
        table.rows,
        "--domain",
        table.domain,
        *GUARANTEE,
        "--out",
        out,
        "--data-folder",
        data_folder,
        *words,
    )
    process = subprocess.Popen(
        [*COMMAND, "publish", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment(),
    )
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith(("pretrain", "train")):
            return process
    raise AssertionError("the training did not begin")


def test_ctrl_c_cancels_the_job_and_the_ledger_keeps_what_was_begun(
    shared_up: Up, table: Table, tmp_path: Path
) -> None:
    endless = settings("pretraining_steps=40000")
    process = begin(table, shared_up.data_folder, tmp_path, "--name", "endless", *endless)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=600)
    assert process.returncode == 130, said
    assert "Cancelling job" in said
    assert "was cancelled; charged: epsilon " in said
    with shared_up.connection.client("analyst") as analyst:
        job = analyst.list_jobs()[0]
        statement = analyst.read_ledger(job.dataset_id)
    assert job.state == "cancelled"
    assert [entry["kind"] for entry in statement.entries if "job_id" in entry] == [
        "RESERVED",
        "SPENT",
        "SETTLED",
    ]
    assert not (tmp_path / "synthetic.csv").exists()


@pytest.mark.long
def test_a_report_is_made_while_a_training_runs(
    published: Run, shared_up: Up, table: Table, tmp_path: Path
) -> None:
    process = begin(
        table, shared_up.data_folder, tmp_path, "--name", "busy", *settings("pretraining_steps=40000")
    )
    with shared_up.connection.client("owner") as owner, shared_up.connection.client("analyst") as analyst:
        release = owner.read_release(str(published.json("certificate.json")["release_id"]))
        made = release.owner_report(tmp_path / "report.html")
        job = analyst.list_jobs()[0]
        assert job.state == "running", job.document
    assert made.stat().st_size > 0
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=600)
    assert process.returncode == 130, said


@pytest.mark.long
def test_a_training_survives_kill_9_of_the_stack_and_is_spent_once(
    start: Start, table: Table, tmp_path: Path
) -> None:
    """Its daily form is round 7 of the drill."""
    up = start()
    process = begin(table, up.data_folder, tmp_path, *settings("steps=200", "pretraining_steps=2000"))
    family = up.crash()
    process.kill()
    process.communicate()
    assert await_end_of(family, 20.0) == []

    again = start()
    with again.connection.client("analyst") as analyst:
        job = analyst.list_jobs()[0]
        while not job.ended:
            time.sleep(0.5)
            job = analyst.read_job(job.id)
        statement = analyst.read_ledger(job.dataset_id)
    assert job.state == "succeeded", job.document
    assert [entry["kind"] for entry in statement.entries if "job_id" in entry] == ["RESERVED", "SPENT"]
    assert again.stop() == 0
