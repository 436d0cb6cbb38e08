"""Utility reports as clients meet them: ordered, waited for, read, shown by the command, verified by strangers' code."""

import asyncio
import copy
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import jsonschema_rs
import pytest

from core.artifacts.signing import keyring
from core.db.tables import Job, UtilityReport
from docs.document_schemas import schema_text
from tests.service.test_obtaining import everybody, wired
from tests.service.utility_reports import charged_report, name_generator
from tests.service.world import World
from understudy import AsyncClient, Client, InputUnusable, JobCancelled, JobFailed, dummy
from understudy.cli import main
from understudy.client.handles import ReportJob
from understudy.errors import Refused
from understudy.results.jobs import Quote
from understudy.verifying.utility import verify_report
from understudy.verifying.verification import Outcome
from understudy.wording.utility_reports import quote_lines

ROOT = Path(__file__).parents[2]
Run = Callable[..., int]


@pytest.fixture
def release_id(world: World) -> str:
    release_id = world.release()
    name_generator(world, release_id)
    return release_id


def job_of(world: World, report_id: str) -> str:
    with world.database.read_only() as session:
        return str(session.get_one(UtilityReport, UUID(report_id)).job_id)


@pytest.fixture
def run(world: World, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the command on the application of the test."""
    connection = everybody(world)
    monkeypatch.setattr("understudy.cli.service.find_connection", lambda **_named: connection)

    def run_words(*words: object) -> int:
        monkeypatch.setattr("sys.argv", ["understudy", *map(str, words)])
        with pytest.raises(SystemExit) as caught:
            main()
        return int(caught.value.code or 0)

    return run_words


def test_a_release_orders_its_report_and_the_job_gives_it(world: World, release_id: str) -> None:
    report_id = charged_report(world, release_id)
    with wired(world, analyst=world.analyst).client("analyst") as client:
        release = client.read_release(release_id)
        quote = client.quote_charged_report(release_id, epsilon=0.25, delta=1e-6)
        assert quote.fits
        job = release.order_report(epsilon=0.25, delta=1e-6, target="age", columns=["age", "ward"])
        assert (job.state, job.report_id) == ("queued", None)
        client.cancel_job(job.id)
        with pytest.raises(JobCancelled):
            job.report()
        done = ReportJob.from_json(client.read_job(job_of(world, report_id)).document)
        with pytest.raises(InputUnusable):
            done.wait()
        bound = replace(done, client=client)
        assert bound.wait(poll_seconds=0.01, progress=False) == bound
        assert bound.report() == client.read_charged_report(report_id)
        report = client.wait_for_charged_report(done.id)
        assert report == client.read_charged_report(report_id)
        assert (report.id, report.epsilon, report.score.names) == (report_id, 0.25, ("sick",))  # type: ignore[union-attr]
        assert [len(report.columns), len(report.pairs)] == [4, 6]
        assert report.columns[1].names == ("age",)
        assert report.pairs[0].names == ("ward", "age")
        (entry,) = client.list_charged_reports(release_id)
        assert (entry.id, entry.target) == (report_id, "sick")
        training = client.read_job(release.job_id)
        world.analyst.post(f"/v1/jobs/{training.id}/cancel")
        with pytest.raises(JobCancelled):
            client.wait_for_charged_report(training.id)


def test_the_asynchronous_client_does_the_same(world: World, release_id: str) -> None:
    report_id = charged_report(world, release_id)

    def bridged(request: httpx.Request) -> httpx.Response:
        answer = world.client.request(
            request.method, str(request.url), content=request.read(), headers=dict(request.headers)
        )
        return httpx.Response(answer.status_code, headers=dict(answer.headers), content=answer.content)

    async def script() -> None:
        transport = httpx.MockTransport(bridged)
        async with AsyncClient("http://testserver", key=world.analyst.key, transport=transport) as client:
            quote = await client.quote_charged_report(release_id, epsilon=0.25, delta=1e-6)
            release = await client.read_release(release_id)
            job = await release.order_report(epsilon=0.25, delta=1e-6)
            assert quote.document["plan_digest"] == job.document["plan_digest"]
            report = await client.wait_for_charged_report(job_of(world, report_id), poll_seconds=0.01)
            assert report == await client.read_charged_report(report_id)
            assert [entry.id for entry in await client.list_charged_reports(release_id)] == [report_id]

    asyncio.run(script())


def test_the_command_quotes_orders_lists_shows_and_verifies(
    world: World, release_id: str, run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    terms = (release_id, "--epsilon", 0.25, "--delta", 1e-6)
    assert run("quality", "list", release_id) == 0
    assert "nothing was measured" in capsys.readouterr().out
    assert run("quality", "quote", *terms) == 0
    said = capsys.readouterr().out
    assert "errors of pairs: 6 numbers, each to within" in said
    assert "fits into the budget: yes" in said
    assert run("quality", "quote", *terms, "--json") == 0
    assert json.loads(capsys.readouterr().out)["synthesizer"] == "report"
    assert run("quality", "order", *terms, "--no-wait", "--json") == 0
    assert json.loads(capsys.readouterr().out)["kind"] == "report"
    assert run("quality", "order", *terms, "--target", "nobody", "--no-wait") == 1
    assert "target" in capsys.readouterr().err
    second = world.give(world.analyst.get(f"/v1/releases/{release_id}").json()["dataset_id"], epsilon=0.3)
    assert run("quality", "order", *terms, "--no-wait") == 1, "of several grants none is named"
    assert "--grant" in capsys.readouterr().err
    assert run("quality", "quote", *terms, "--column", "age", "--grant", second) == 0
    assert "score: one number, to within" in capsys.readouterr().out
    assert run("quality", "order", *terms, "--grant", second, "--no-wait") == 0
    capsys.readouterr()
    assert run("quality", "quote", *terms, "--grant", second) == 0
    said = capsys.readouterr().out
    assert "fits into the budget: NO. It costs epsilon 0.25, and your grant of epsilon 0.3 has 0.0" in said
    assert "ask for more: `understudy budget request`, or the dataset's page" in said
    assert "grant-refused" not in said
    assert run("quality", "quote", *terms, "--grant", second, "--json") == 0
    quote = Quote(document=json.loads(capsys.readouterr().out))
    assert quote_lines(quote, requests_grant=True)[-1] == "  fits under the cap: yes, with a grant of its own"

    report_id, file = charged_report(world, release_id), tmp_path / "report.json"
    assert run("quality", "list", release_id) == 0
    assert report_id in capsys.readouterr().out
    assert run("quality", "show", report_id, "--out", file) == 0
    said = capsys.readouterr().out
    assert "Score: 'sick' predicted correctly for" in said
    assert "majority-class baseline: 75.0%" in said
    assert "ward x age" in said
    assert run("quality", "show", report_id, "--json") == 0
    assert json.loads(capsys.readouterr().out) == json.loads(file.read_text())

    with world.database.read_only() as session:
        (key,) = keyring.public_keys(session).values()
    assert run("quality", "verify", file, "--key", key.hex()) == 0
    assert "signed by a key that you trust" in capsys.readouterr().out
    assert run("quality", "verify", file, "--json") == Outcome.SIGNER_UNKNOWN
    assert json.loads(capsys.readouterr().out)["outcome"] == "signer-unknown"
    assert run("quality", "verify", tmp_path / "none.json") == 1


def test_what_was_altered_is_refused_by_strangers(world: World, release_id: str) -> None:
    document = world.analyst.get(f"/v1/charged-reports/{charged_report(world, release_id)}").json()
    with world.database.read_only() as session:
        keys = list(keyring.public_keys(session).values())
    assert verify_report(document, public_keys=keys).outcome is Outcome.VERIFIED
    assert verify_report(document).outcome is Outcome.SIGNER_UNKNOWN
    for place, value in (
        (("declared_size",), 2000),
        (("mechanism", "noise_multiplier"), 3.0),
        (("plan", "noise_multiplier"), 3.0),
        (("plan", "noise_stds", "columns"), 1.0),
        (("plan", "columns"), ["ward", "age", "sick"]),
        (("epsilon", "pld"), 0.1),
        (("privacy_parameters", "epsilon"), 0.1),
        (("charge", "epsilon_micros"), 1),
        (("mechanisms", 0, "noise_std"), 0.5),
        (("results", "columns", 0, "estimate"), 0.9),
        (("results", "columns", 0, "name"), "age"),
        (("results", "pairs", 0, "names"), ["age", "ward"]),
        (("results", "mean_of_pairs", "noisy"), 0.0),
        (("results", "mean_of_pairs"), None),
        (("results", "score", "low"), 0.0),
        (("results", "score", "target"), "age"),
        (("results", "score"), None),
        (("reading",), ["trust me"]),
        (("unknown",), 1),
    ):
        altered: Any = copy.deepcopy(document)
        inner = altered
        for step in place[:-1]:
            inner = inner[step]
        inner[place[-1]] = value
        report = verify_report(altered, public_keys=keys)
        assert report.outcome is Outcome.REFUSED, place
        refused = {check.name for check in report.refusals}
        assert refused - {"signature"}, f"{place}: not only the signature tells"


def test_its_schema_is_published_and_leaves_nothing_open() -> None:
    text = schema_text("charged")
    schema = json.loads(text)
    jsonschema_rs.meta.validate(schema)
    for entry in [schema, *(entry for entry in schema["$defs"].values() if "properties" in entry)]:
        assert entry["additionalProperties"] is False
        assert entry["required"] == sorted(entry["properties"].keys() - {"records"}), (
            "all but what came later"
        )


def test_the_dummy_measures_nothing_and_says_so() -> None:
    domain = {
        "schema": "understudy.domain/1",
        "columns": [{"name": "a", "kind": "boolean"}, {"name": "b", "kind": "boolean"}],
    }
    with dummy(domain, dataset_id="d") as client:
        assert isinstance(client, Client)
        release = client.order_job("d", epsilon=1.0).wait(progress=False)
        with pytest.raises(Refused, match="no real rows"):
            release.order_report(epsilon=0.1)


def test_a_job_that_made_no_report_says_so(world: World, release_id: str) -> None:
    with wired(world, analyst=world.analyst).client("analyst") as client:
        job_id = client.read_release(release_id).job_id
        with world.database.transaction() as session:
            job = session.get_one(Job, UUID(job_id))
            job.state, job.sealed_randomness_key, job.finished_at = "succeeded", None, job.created_at
        with pytest.raises(JobFailed, match="no order of a report"):
            client.wait_for_charged_report(job_id)
