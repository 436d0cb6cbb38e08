"""Views of everybody but the owner are the same to the byte on neighbouring tables, outputs of mechanisms excepted.

The two stages differ by three persons, one of them extreme, of an unknown category and with a value that is no number, by all
refused rows, by a training that crashed and was resumed, and by the way in which another failed. Nobody else is told any of it.
"""

import pytest

from service.edge.request_counters import Recorder
from service.jobs.schemas import JobView
from tests.privacy.leaks.answers import READING, read_all
from tests.privacy.leaks.comparing import differences, is_refusal
from tests.service.matrix import operations


def test_all_answers_are_the_same(played):
    assert not list(differences(played["canaries"].answers, played["neighbour"].answers))


def test_everybody_was_asked_for_everything(played):
    """Every operation of the document, so that a new one is compared from its first day."""
    one = played["canaries"]
    document = {entry.name for entry in operations(one.stage.world.app)}
    asked = {(answer.caller, answer.operation) for answer in one.answers}
    callers = {"analyst", "auditor", "admin", "another analyst", "another owner"}
    assert asked == {(caller, name) for caller in callers for name in document}


def test_most_reads_were_answered(played):
    """Refusals are the same easily: whatever only reads was answered to somebody, but for what is the owner's alone."""
    one = played["canaries"]
    reading = {entry.name for entry in operations(one.stage.world.app) if entry.method in READING}
    told = {answer.operation for answer in one.answers if not is_refusal(answer)} & reading
    sealed = {
        "list_sealed_reports",
        "read_sealed_report",
        "read_sealed_report_summary",
        "download_sealed_report",
    }
    # These take the token of a member of a federation, and answer what members have handed in: no row lies behind them.
    of_members = {"read_membership", "read_round", "read_state"}
    assert reading - told == {"read_intake_report", "read_upload", "read_failure_note"} | sealed | of_members


def test_three_jobs_were_seen_to_end_in_three_ways(played):
    for one in played.values():
        seen = {
            a.about: a.fields()["state"]
            for a in one.answers
            if (a.caller, a.operation) == ("analyst", "read_job")
        }
        assert seen == {"job_id": ["succeeded"], "failed": ["failed"], "cancelled": ["cancelled"]}


def test_a_new_operation_is_compared(played):
    """The list of questions is made of the document, not by hand."""
    app = played["neighbour"].stage.world.app
    assert "read_job" in {entry.name for entry in operations(app)}
    assert len(operations(app)) == sum(len(methods) for methods in app.openapi()["paths"].values())


PLANTED = {
    "finished_at": lambda row: row.finished_at and row.finished_at.replace(microsecond=row.fence),
    "plan_digest": lambda row: f"{row.plan_digest}{row.fence}",
}
"""What a view could tell besides: the first training of one stage needed two attempts."""


@pytest.mark.parametrize("field", PLANTED)
def test_a_leak_in_a_view_of_jobs_is_noticed(played, monkeypatch, field):
    real = JobView.of

    def leaking(row, **further):
        shown = real(row, **further)
        return shown.model_copy(update={field: PLANTED[field](row)})

    before = [read_all(one.stage, only={"list_jobs"}) for one in played.values()]
    monkeypatch.setattr(JobView, "of", leaking)
    after = [read_all(one.stage, only={"list_jobs"}) for one in played.values()]
    assert not list(differences(*before))
    assert any(field in line for line in differences(*after))


def test_a_leak_in_the_order_of_a_list_is_noticed(played):
    first, second = (list(one.answers) for one in played.values())
    number = next(
        n for n, answer in enumerate(first) if answer.operation == "list_jobs" and len(answer.content) > 100
    )
    body = first[number].content
    reordered = (
        body.replace(b'"failed"', b'"x"', 1)
        .replace(b'"cancelled"', b'"failed"', 1)
        .replace(b'"x"', b'"cancelled"', 1)
    )
    assert reordered != body
    first[number] = type(first[number])(**{**vars(first[number]), "content": reordered})
    assert list(differences(first, second))


def test_a_number_of_requests_that_depends_on_the_size_of_an_upload_is_not_counted():
    """Parts of an upload are as many as its size demands; how long they take tells the rest, and so does what it is refused for."""
    seen = []
    for parts in (1, 3):
        recorder = Recorder()
        for _ in range(parts):
            recorder.answered(
                method="PUT", route="/v1/uploads/{upload_id}/parts/{number}", status=200, seconds=parts
            )
        for status in [*[201] * parts, *[409, 413, 415, 422] * (parts - 1), 403]:
            recorder.answered(
                method="POST", route="/v1/datasets/{dataset_id}/rows", status=status, seconds=0.1 * parts
            )
        recorder.answered(
            method="POST",
            route="/v1/uploads/{upload_id}/complete",
            status=200 if parts == 1 else 422,
            seconds=0.1 * parts,
        )
        seen.append(
            [
                (sample.name, sample.labels, sample.value)
                for family in recorder.registry().collect()
                for sample in family.samples
                if not sample.name.endswith("_created")
            ]
        )
    assert seen[0] == seen[1]
    assert any(labels.get("route") == "/v1/datasets/{dataset_id}/rows" for _, labels, _ in seen[0])
