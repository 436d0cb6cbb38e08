"""Owner reports on neighbouring tables: one was made, the other failed among the rows; only their owner can tell."""

import json

from core.artifacts.reports.owner_files import STEP_BYTES
from core.artifacts.reports.owner_page import FAILED, MARK


def test_one_was_made_and_the_other_failed(played):
    failed, made = played["canaries"].sealed, played["neighbour"].sealed
    assert FAILED in failed
    assert FAILED not in made
    assert "Privacy attacks" in made
    assert MARK in failed
    assert MARK in made


def test_rows_of_the_database_and_objects_are_alike(played):
    looked = {name: _looked(one) for name, one in played.items()}
    assert looked["canaries"] == looked["neighbour"]
    (rows, objects) = looked["canaries"]
    assert rows["state"] == "made"
    assert len(objects) == 1
    assert abs(objects[0] - STEP_BYTES) < 100


def test_logs_say_the_same_of_both(played):
    """That work began and ended; not how, not even that a process stopped early."""
    for one in played.values():
        said = [
            json.loads(line) for _, line in one.looked_at["log"] if isinstance(line, str) and line[:1] == "{"
        ]
        about = [entry for entry in said if str(entry.get("event", "")).startswith("report-")]
        assert [entry["event"] for entry in about] == ["report-begins", "report-ended"]
        assert all("outcome" not in entry for entry in about)


def test_no_view_of_anybody_else_names_it(played):
    for one in played.values():
        told = [
            answer
            for answer in one.answers
            if one.stage.ids["sealed_report_id"] in answer.text
            and answer.operation not in {"list_audit_events", "export_audit_log"}
        ]
        assert not told


def _looked(one):
    """The report's row without ids, and the sizes of its objects as they were kept."""
    report_id = one.stage.ids["sealed_report_id"]
    known = ("state", "fence", "attempts", "failure_code", "target", "created_at", "finished_at")
    cells = {
        name.removeprefix("sealed_reports."): value
        for name, value in one.looked_at["database"]
        if name.startswith("sealed_reports.")
    }
    sizes = [
        len(content)
        for name, content in one.looked_at["objects"]
        if report_id in name and isinstance(content, bytes)
    ]
    return {name: str(cells[name]).strip('"') for name in known}, sizes
