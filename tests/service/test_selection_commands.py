"""Selections through the command, against the real application: quoted, and ordered with both prices told before."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.core.artifacts.stand_in import DOMAIN
from tests.service.test_obtaining import Wired, everybody
from tests.service.world import CSV, World
from understudy import ApprovalPending
from understudy.cli import main
from understudy.client import Client
from understudy.client.handles import Job

SELECTION = (
    *("--candidate", "steps=40", "--candidate", "steps=60,anchor=false"),
    *("--selection-epsilon", 0.5, "--choice-epsilon", 0.2),
)
GUARANTEE = ("--epsilon", 1, "--delta", 1e-6)
Run = Callable[..., int]


@pytest.fixture
def run(world: World, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the command on the application of the test."""
    connection = everybody(world)
    monkeypatch.setattr("understudy.cli.service.find_connection", lambda **_named: connection)
    monkeypatch.setattr("understudy.cli.publish.existing_connection", lambda **_named: connection)

    def run_words(*words: object) -> int:
        monkeypatch.setattr("sys.argv", ["understudy", *map(str, words)])
        with pytest.raises(SystemExit) as caught:
            main()
        return int(caught.value.code or 0)

    return run_words


def test_a_quote_of_a_selection_tells_both_prices(
    world: World, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    dataset_id = world.declare()
    world.set_budget(dataset_id)
    assert run("quote", dataset_id, *GUARANTEE, *SELECTION) == 0
    said = capsys.readouterr().out
    assert "selecting among 2 candidates: epsilon 0.5" in said
    assert "training the winner on all units: epsilon 1.0" in said
    assert "fits into the budget: yes" in said

    assert run("quote", dataset_id, *GUARANTEE, *SELECTION, "--json") == 0
    quote = json.loads(capsys.readouterr().out)
    assert quote["selection"]["choice_epsilon"] == 0.2
    assert quote["epsilon"]["reported"] > quote["final"]["epsilon"]["reported"]
    assert run("quote", dataset_id, *GUARANTEE, *SELECTION[:2]) == 1
    assert "--selection-epsilon" in capsys.readouterr().err


def test_publishing_asks_for_the_whole_price_and_tells_it_before_the_order(
    world: World,
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows, domain = tmp_path / "wards.csv", tmp_path / "domain.json"
    rows.write_bytes(CSV)
    domain.write_text(json.dumps(DOMAIN))

    def ordered_only(_analyst: Client, job: Job, _screen: object) -> Job:
        assert job.state == "queued"
        raise ApprovalPending("no worker runs in this test")

    monkeypatch.setattr("understudy.publishing.publish.watch", ordered_only)
    words = ("--domain", domain, "--out", tmp_path / "out", "--declared-size", 1000)
    assert run("publish", rows, *words, *GUARANTEE, *SELECTION) == 1
    answer = capsys.readouterr()
    assert "no worker runs in this test" in answer.err
    assert not (tmp_path / "out").exists(), "nothing was published"
    told = [line.strip() for line in answer.out.splitlines()]
    prices = next(number for number, line in enumerate(told) if line.startswith("selecting among"))
    ordered = next(number for number, line in enumerate(told) if "its charge is reserved" in line)
    assert prices < ordered

    (request,) = world.admin.get("/v1/budget-requests").json()["items"]
    (reserved,) = world.movements(request["dataset_id"])
    assert float(reserved["epsilon"]) > 1
    assert request["epsilon"] >= float(reserved["epsilon"])
    assert request["epsilon"] - float(reserved["epsilon"]) < 1e-4, "no more is asked for than the job costs"
    connection: Wired = everybody(world)
    with connection.client("analyst") as analyst:
        (job,) = analyst.list_jobs()
    assert job.dataset_id == request["dataset_id"]
