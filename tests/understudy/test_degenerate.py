"""What the client and its commands say of a generator that collapsed, and of an order that no plan can be made of."""

from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from core.plan.domain.columns.document import MAXIMUM_CODES
from tests.understudy.scripted import DATASET, JOB, Script, client_of
from understudy import Dataset, InvalidInput, Job
from understudy.cli import app, publish
from understudy.cli.jobs import job_line
from understudy.drafts.tables import MOST_CODES
from understudy.publishing.order import Order
from understudy.publishing.publish import quoted
from understudy.table_files import TableFiles

DONE = JOB | {"state": "succeeded", "release_id": "r"}
COLUMNS = [{"name": "ward", "kind": "categorical", "categories": ["north", "south"]}]
WARNING = {"code": "degenerate-generator", "detail": "All alike.", "remedy": "Order more steps."}


def test_a_job_carries_the_warning_and_the_line_shows_it() -> None:
    job = Job.from_json(DONE | {"warning": WARNING})
    assert job.warning == "All alike. Order more steps. [degenerate-generator]"
    assert "WARNING: All alike. Order more steps." in job_line(job)


@pytest.mark.parametrize("document", [DONE, DONE | {"warning": None}])
def test_there_is_none_where_all_is_well_or_the_service_is_older(document: dict[str, Any]) -> None:
    job = Job.from_json(document)
    assert job.warning is None
    assert "WARNING" not in job_line(job)


@pytest.mark.parametrize(("warning", "status"), [(None, 0), (WARNING, 3)])
def test_publish_ends_with_status_3_where_the_generator_is_degenerate(
    warning: dict[str, str] | None, status: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    published = SimpleNamespace(
        dataset=SimpleNamespace(id="d"),
        job=Job.from_json(DONE | {"warning": warning}),
        release_id="r",
        certificate={"privacy_parameters": {"epsilon": 1.0, "delta": 1e-6}},
        rows=10,
        statement=SimpleNamespace(spent={}, cap=None, carried_by="basic"),
        files=(),
        sheet=None,
    )
    domain = {"schema": "understudy.domain/1", "privacy_unit": None, "columns": COLUMNS}
    table = SimpleNamespace(declared_size=10, domain=domain)
    monkeypatch.setattr(publish, "read_table_files", lambda *_files, **_size: table)
    monkeypatch.setattr(publish, "some_service", lambda *_given: nullcontext(None))
    monkeypatch.setattr(publish, "publish_order", lambda *_given: published)
    monkeypatch.setattr(publish, "write_owner_summary", lambda *_given: None)
    monkeypatch.setattr(publish, "offer_utility_report", lambda *_given, **_more: published)
    words = ["publish", "rows.csv", "--domain", "d.json", "--epsilon", "1", "--delta", "1e-6"]
    ended = CliRunner().invoke(app, [*words, "--out", str(tmp_path)])
    assert ended.exit_code == status, ended.output
    assert ("WARNING: All alike. Order more steps." in ended.output) == (status == 3)


def test_what_no_plan_can_be_made_of_is_refused_before_a_row_is_sent() -> None:
    problem = {"code": "invalid-options", "detail": "4,100 codes", "remedy": "Declare fewer bins."}
    script = Script(httpx.Response(422, json=problem))
    table = TableFiles(rows=Path("rows.csv"), domain={}, declared_size=10)
    order = Order(table=table, name="n", epsilon=1.0, delta=1e-6, sample_rows=1, out=Path())
    with client_of(script) as client, pytest.raises(InvalidInput, match="fewer bins"):
        quoted(client, Dataset.from_json(DATASET), order)
    assert [request.url.path for request in script.requests] == ["/v1/quotes"]


def test_a_draft_says_when_an_order_would_be_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert MOST_CODES == MAXIMUM_CODES
    monkeypatch.setattr("understudy.cli.domain.MOST_CODES", 3_276)  # files beyond the real limit take long
    for columns, told in ((110, True), (20, False)):
        rows = tmp_path / f"{columns}.csv"
        head = ",".join(f"c{number}" for number in range(columns))
        rows.write_text("\n".join([head, *(",".join([str(row)] * columns) for row in (0, 500, 9, 9))]) + "\n")
        made = CliRunner().invoke(
            app, ["domain", "draft", str(rows), "--out", str(tmp_path / f"{columns}.json")]
        )
        assert made.exit_code == 0, made.output
        assert ("an order takes at most 3,276" in made.output) == told
