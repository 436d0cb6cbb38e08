"""Large files in parts, with answers written by the test; resuming against the real service is tested there."""

from pathlib import Path

import httpx
import pytest

from tests.understudy.scripted import Script, client_of, sent
from understudy import InputUnusable
from understudy.http.uploads import note_of

PART = 4
UPLOAD = {"id": "u", "dataset_id": "d", "state": "open", "part_bytes": PART, "parts_total": 2, "parts": []}
REPORT = {"rows_accepted": 1, "rows_refused": 0}


def test_a_file_that_changes_while_it_is_sent_is_given_up(tmp_path: Path) -> None:
    """Else the first part of one table and the second of another would be taken in as one."""
    rows = tmp_path / "rows.csv"
    rows.write_bytes(b"a\n1\n2\n3\n")
    answers = (
        httpx.Response(201, json=UPLOAD),
        *(httpx.Response(200, json={}) for _ in range(2)),
        httpx.Response(204),
    )
    script = Script(*answers)

    def changed(_count: int) -> None:
        rows.write_bytes(b"a\n1\n2\n3\n4\n")

    with client_of(script) as client, pytest.raises(InputUnusable, match="has changed"):
        client.upload_rows("d", rows, seen=changed, resumable_from=1)
    assert [request.method for request in script.requests] == ["POST", "PUT", "PUT", "DELETE"]
    assert not note_of(rows).exists(), "nothing goes on with it"


def test_a_file_that_stays_is_taken_in(tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_bytes(b"a\n1\n2\n3\n")
    lost = httpx.ReadTimeout("lost")
    answers = (
        httpx.Response(201, json=UPLOAD), httpx.Response(200, json={}), *(lost,) * 6, httpx.Response(200, json={}),
        httpx.Response(200, json={"intake_report": REPORT}),
    )  # fmt: skip
    script = Script(*answers)
    with client_of(script) as client:
        assert client.upload_rows("d", rows, resumable_from=1).rows_accepted == 1
    parts = [request for request in script.requests if request.method == "PUT"]
    assert len(parts) == 8, "a part is sent again for longer than a question"
    assert {request.content for request in parts} == {b"a\n1\n", b"2\n3\n"}
    assert not note_of(rows).exists()


def test_the_share_that_may_be_refused_goes_with_a_small_file_too(tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_bytes(b"a\n1\n")
    arguments = {"dataset_id": "d", "rows": rows, "max_refused": 0.5}
    requests, _ = sent(lambda: [httpx.Response(201, json=REPORT)], "upload_rows", (), arguments)
    assert [str(request.url) for (request,) in requests] == [
        "http://service/v1/datasets/d/rows?max_refused=0.5"
    ] * 2
