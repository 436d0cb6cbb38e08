"""What jobs and releases do themselves: wait, sample, save, show their certificate; by both clients."""

import asyncio
import io
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pytest
from rich.console import Console

from tests.understudy.scripted import JOB, AsyncScript, Script
from understudy import AsyncClient, Client, InputUnusable, Job, JobFailed, NotInstalled, Release
from understudy.training_bar import training_bar

DONE = JOB | {"state": "succeeded", "release_id": "r"}
RELEASE = {"id": "r", "job_id": "j", "dataset_id": "d"}


def arrow() -> bytes:
    table, sink = pa.table({"age": [1, 2]}), io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def answers() -> list[Any]:
    documents = [JOB, JOB, JOB | {"state": "running"}, DONE, RELEASE, {"schema": "s"}]
    return [
        *(httpx.Response(200, json=document) for document in documents),
        httpx.Response(200, content=arrow()),
        httpx.Response(200, content=arrow()),
        httpx.Response(200, content=b"PK"),
    ]


def test_a_job_is_waited_for_and_its_release_drawn_from_and_saved(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = Script(*answers())
    transport = httpx.MockTransport(script)
    with Client("http://service", key="k", transport=transport, sleep=lambda _seconds: None) as client:
        release = client.order_job("d", epsilon=1.0).wait()
        assert release.certificate == {"schema": "s"}
        assert release.sample(2, form="arrow", where={"sick": "yes"})["age"].to_pylist() == [1, 2]
        assert list(release.sample(2)["age"]) == [1, 2]
        assert release.save(tmp_path / "b.zip").read_bytes() == b"PK"
    query = script.requests[6].url.params
    assert (query["format"], query["rows"], query["where"]) == ("arrow", "2", '{"sick": "yes"}')
    assert capsys.readouterr().out == "", "no bar where nobody looks"


def test_the_same_is_awaited(tmp_path: Path) -> None:
    script = AsyncScript(*answers())

    async def all_of_it() -> None:
        async def no_sleep(_seconds: float) -> None:
            return None

        transport = httpx.MockTransport(script.answer)
        async with AsyncClient("http://service", key="k", transport=transport, sleep=no_sleep) as client:
            job = await client.order_job("d", epsilon=1.0)
            release = await job.wait()
            assert await release.certificate == {"schema": "s"}
            table = await release.sample(2, form="arrow")
            assert table["age"].to_pylist() == [1, 2]
            await release.sample(2)
            assert (await release.save(tmp_path / "b.zip")).read_bytes() == b"PK"

    asyncio.run(all_of_it())
    assert script.answers == []


def test_waiting_for_a_job_that_failed_says_so() -> None:
    failed = JOB | {"state": "failed", "failure": {"code": "out-of-memory"}}
    script = Script(*(httpx.Response(200, json=failed) for _ in range(3)))
    with Client("http://service", key="k", transport=httpx.MockTransport(script)) as client:
        job = client.read_job("j")
        with pytest.raises(JobFailed, match="out-of-memory"):
            job.wait()


def test_what_no_client_gave_says_so() -> None:
    with pytest.raises(InputUnusable, match="ask a client"):
        Job.from_json(JOB).wait()
    with pytest.raises(InputUnusable, match="ask a client"):
        Release.from_json(RELEASE).sample(1)


def test_what_is_missing_is_named_before_anything_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    script = Script()
    with Client("http://service", key="k", transport=httpx.MockTransport(script)) as client:
        for missing, form in (("pandas", "pandas"), ("pyarrow", "arrow")):
            monkeypatch.setitem(__import__("sys").modules, missing, None)
            with pytest.raises(NotInstalled, match=f"needs {missing}: "):
                client.sample_release("r", rows=1, form=form)
        with pytest.raises(InputUnusable, match="unknown form"):
            client.sample_release("r", rows=1, form="csv")
    assert script.requests == []


def test_a_terminal_is_shown_the_stage_and_a_pipe_nothing() -> None:
    running = JOB | {"state": "running", "progress": JOB["progress"] | {"stage": "train", "percent": 40}}  # type: ignore[operator]
    shown = {}
    for terminal in (True, False):
        console = Console(file=io.StringIO(), force_terminal=terminal, width=100)
        with training_bar(console) as look:
            look(Job.from_json(running))
        shown[terminal] = console.file.getvalue()  # type: ignore[attr-defined]
    assert "train" in shown[True]
    assert "40 %" in shown[True]
    assert shown[False].strip() == ""
