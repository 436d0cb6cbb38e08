"""A job that somebody watches: through a restart of the service, and when the watcher is interrupted."""

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.understudy.scripted import DATASET, JOB, Answer, Script, client_of, sent
from understudy import Dataset, ServiceUnreachable
from understudy.publishing.order import Order
from understudy.publishing.publish import results_folder, train
from understudy.table_files import TableFiles

DONE = JOB | {"state": "succeeded", "release_id": "r"}
RELEASE = {"id": "r", "job_id": "j", "dataset_id": "d"}
CANCELLED = JOB | {"state": "cancelled"}


def _ledger(*moves: tuple[str, str]) -> httpx.Response:
    """The ledger of a dataset on which the job `j` reserved epsilon 0.5, and another job moves after it."""
    entries = [
        {"job_id": job, "kind": kind, "epsilon": epsilon, "delta": "0.000001"}
        for job, kind, epsilon in [
            ("j", "RESERVED", "0.5"),
            *(("j", *move) for move in moves),
            ("k", "SETTLED", "0.1"),
        ]
    ]
    nothing = {"epsilon": "0", "delta": "0"}
    statement = {"spent": nothing, "reserved": nothing, "cap": None, "carried_by": None, "entries": entries}
    return httpx.Response(200, json=statement)


QUOTE = httpx.Response(200, json={"fits": True, "refusal": None})


class Screen:
    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, line: str) -> None:
        self.lines.append(line)

    def transfer(self, _title: str, _total: int | None) -> AbstractContextManager[Any]:
        return nullcontext(lambda _count: None)

    def training(self) -> AbstractContextManager[Any]:
        return nullcontext(lambda _job: None)


class Interrupted(Script):
    """Ctrl-C comes where an answer would."""

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if self.answers[0] is INTERRUPT:
            self.requests.append(request)
            self.answers.pop(0)
            raise KeyboardInterrupt
        return super().__call__(request)


INTERRUPT: Any = object()


def test_both_clients_watch_a_job_through_a_restart_of_the_service() -> None:
    def answers() -> list[Answer]:
        down: list[Answer] = [httpx.ConnectError("refused") for _ in range(8)]
        found = [httpx.Response(200, json=document) for document in (JOB, JOB, DONE, RELEASE)]
        return [*found[:2], *down, *found[2:]]

    requests, releases = sent(answers, "wait_for_release", ("j",), {})
    assert [release.id for release in releases] == ["r", "r"]
    assert [len(each) for each in requests] == [12, 12]


def training(
    monkeypatch: pytest.MonkeyPatch, *answers: Any
) -> tuple[Interrupted, Screen, pytest.ExceptionInfo[BaseException]]:
    monkeypatch.setattr("understudy.publishing.publish.quote_lines", lambda _quote: ())
    script, screen = Interrupted(*answers), Screen()
    table = TableFiles(rows=Path("rows.csv"), domain={}, declared_size=10)
    order = Order(table=table, name="n", epsilon=1.0, delta=1e-6, sample_rows=1, out=Path())
    with client_of(script) as client, pytest.raises((KeyboardInterrupt, ServiceUnreachable)) as ended:
        train(client, Dataset.from_json(DATASET), order, "g", screen)
    return script, screen, ended


def test_who_interrupts_the_watching_cancels_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    script, _, ended = training(
        monkeypatch,
        QUOTE,
        httpx.Response(202, json=JOB),
        INTERRUPT,
        httpx.Response(200, json=CANCELLED),
        _ledger(("VOIDED", "0.5")),
    )
    assert ended.type is KeyboardInterrupt
    assert [request.url.path for request in script.requests[3:]] == [
        "/v1/jobs/j/cancel",
        "/v1/datasets/d/ledger",
    ]


@pytest.mark.parametrize(
    ("moves", "told"),
    [
        ([("VOIDED", "0.500000")], "Job j was cancelled; nothing was charged."),
        ([("SPENT", "0.500000"), ("SETTLED", "0")], "Job j was cancelled; nothing was charged."),
        (
            [("SPENT", "0.500000"), ("SETTLED", "0.250000")],
            "Job j was cancelled; charged: epsilon 0.25, delta 1e-06.",
        ),
        (
            [("SPENT", "0.500000"), ("SETTLED", "0.500000")],
            "Job j was cancelled; charged: epsilon 0.5, delta 1e-06, the whole order.",
        ),
    ],
)
def test_who_cancels_learns_what_was_charged(
    monkeypatch: pytest.MonkeyPatch, moves: list[tuple[str, str]], told: str
) -> None:
    _, screen, _ = training(
        monkeypatch, QUOTE, httpx.Response(202, json=JOB), INTERRUPT,
        httpx.Response(200, json=JOB | {"state": "running"}), httpx.Response(200, json=CANCELLED), _ledger(*moves),
    )  # fmt: skip
    assert screen.lines[-2:] == ["Cancelling job j ...", told]


def test_a_job_that_was_done_before_its_cancelling_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    late = httpx.Response(409, json={"code": "job-ended", "detail": "The job has succeeded.", "status": 409})
    _, screen, _ = training(
        monkeypatch, QUOTE, httpx.Response(202, json=JOB), INTERRUPT, late, httpx.Response(200, json=DONE),
        _ledger(("SPENT", "0.5")),
    )  # fmt: skip
    assert screen.lines[-1] == (
        "Job j had succeeded before; charged: epsilon 0.5, delta 1e-06, the whole order. `understudy status j` names its release."
    )


def test_a_job_that_does_not_stop_leaves_a_way_to_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("understudy.publishing.publish.CANCEL_SECONDS", 0)
    _, screen, _ = training(
        monkeypatch, QUOTE, httpx.Response(202, json=JOB), INTERRUPT, httpx.Response(200, json=JOB)
    )
    assert screen.lines[-1] == "Job j has not stopped yet; `understudy ledger d` will say what it is charged."
    gone = [httpx.ConnectError("refused") for _ in range(12)]
    _, screen, _ = training(monkeypatch, QUOTE, httpx.Response(202, json=JOB), INTERRUPT, *gone)
    assert (
        screen.lines[-1] == "The service does not answer; `understudy ledger d` says what job j was charged."
    )


@pytest.mark.parametrize(
    ("quote", "told"),
    [
        ({"steps": 0}, "From then on the whole order is charged."),
        (
            {"steps": 500},
            "From then on what has begun is charged: its measurements at once, its steps in twentieths.",
        ),
        ({}, "From then on what has begun is charged: its measurements at once, its steps in twentieths."),
    ],
)
def test_an_order_says_what_cancelling_costs(
    monkeypatch: pytest.MonkeyPatch, quote: dict[str, int], told: str
) -> None:
    quoted = httpx.Response(200, json={"fits": True, "refusal": None, **quote})
    _, screen, _ = training(
        monkeypatch,
        quoted,
        httpx.Response(202, json=JOB),
        INTERRUPT,
        httpx.Response(200, json=CANCELLED),
        _ledger(),
    )
    assert (
        "Job j ordered; its charge is reserved. Ctrl-C cancels it, at no cost until it reads the rows. "
        + told
        in screen.lines
    )


def test_who_interrupts_the_order_itself_cancels_what_arrived(monkeypatch: pytest.MonkeyPatch) -> None:
    """The service may have taken the order although its answer was not waited for."""
    others = [JOB | {"id": "other", "dataset_id": "e"}, CANCELLED | {"id": "ended"}]
    listed = httpx.Response(200, json={"items": [JOB, *others]})
    script, screen, ended = training(
        monkeypatch, QUOTE, INTERRUPT, listed, httpx.Response(200, json=CANCELLED), _ledger(("VOIDED", "0.5"))
    )
    assert ended.type is KeyboardInterrupt
    paths = [request.url.path for request in script.requests[2:]]
    assert paths == ["/v1/jobs", "/v1/jobs/j/cancel", "/v1/datasets/d/ledger"]
    assert screen.lines[-2:] == ["Cancelling job j ...", "Job j was cancelled; nothing was charged."]


@pytest.mark.parametrize("is_there", [False, True])
def test_a_refused_order_leaves_no_empty_folder(tmp_path: Path, *, is_there: bool) -> None:
    out = tmp_path / "new" / "out"
    if is_there:
        out.mkdir(parents=True)
    with pytest.raises(KeyboardInterrupt), results_folder(out):
        raise KeyboardInterrupt
    assert out.exists() is is_there

    def fail_late() -> None:
        (out / "bundle.zip").touch()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), results_folder(out):
        fail_late()
    assert (out / "bundle.zip").exists(), "what was written stays"


def test_a_service_that_does_not_answer_any_more_leaves_a_way_to_look(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gone = [httpx.ConnectError("refused") for _ in range(12)]
    _, screen, ended = training(monkeypatch, QUOTE, httpx.Response(202, json=JOB), *gone)
    assert ended.type is ServiceUnreachable
    assert "Job j goes on" in screen.lines[-1]
    assert "understudy status" in screen.lines[-1]
