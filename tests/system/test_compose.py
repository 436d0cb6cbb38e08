"""docker-compose.yml, run: a table goes up, a job trains, a sample comes down, through S3 and several API processes.

The containers run weekly. What they are made of is held daily: the files (`tests/architecture/test_containers.py`), what is sealed in
the objects and what no log says (`tests/privacy/leaks/test_canaries.py`), metrics of several processes (`tests/service/test_metrics.py`),
and the request that leads to the child (`tests/workers/test_correlation.py`).
"""

import csv
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import boto3
import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.system.conftest import COMMAND, FAST, Table
from tests.system.processes import descendants
from tests.system.test_publish import FEW_STEPS
from tests.system.twin import Twin, interpolate

pytestmark = pytest.mark.system


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twin]:
    twin = Twin(tmp_path_factory.mktemp("compose"), profile="cpu", extra=FAST)
    try:
        yield twin.start()
    finally:
        twin.stop()


@pytest.fixture(scope="module")
def keys(twin: Twin) -> dict[str, str]:
    """API keys as an operator has them made: the first admin's by the command, the others by those who enrol."""
    admin = twin.run("api", "python", "-m", "service.provision", "--first-admin").strip()
    made = {"admin": admin}
    for role in ("owner", "analyst"):
        answer = httpx.post(
            f"{twin.url}/v1/people",
            json={"name": role, "roles": [role]},
            headers={"Authorization": f"Bearer {admin}"},
            trust_env=False,
            timeout=600,
        )
        assert answer.status_code == 201, answer.text
        answer = httpx.post(
            f"{twin.url}/v1/enrolments",
            json={"token": answer.json()["enrolment"]["token"]},
            trust_env=False,
            timeout=60,
        )
        assert answer.status_code == 201, answer.text
        made[role] = answer.json()["key"]
    return made


@pytest.fixture(scope="module")
def published(
    twin: Twin, keys: dict[str, str], table: Table, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    out = tmp_path_factory.mktemp("published")
    words = [
        *("publish", table.rows, "--domain", table.domain, "--epsilon", "1", "--delta", "1e-6"),
        *("--out", out, "--rows", "120", "--url", twin.url, *FEW_STEPS),
    ]
    environment = twin.environment("migrations") | {
        f"UNDERSTUDY_{role.upper()}_KEY": key for role, key in keys.items()
    }
    finished = subprocess.run(
        [*COMMAND, *map(str, words)],
        env=environment, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    logs = "\n".join(twin.log(name)[-3000:] for name in ("api", "worker", "reports", "upkeep"))
    assert finished.returncode == 0, finished.stdout + finished.stderr + logs
    return out


@pytest.mark.long
def test_a_table_is_published_through_the_whole_stack(published: Path) -> None:
    with (published / "synthetic.csv").open(newline="") as stream:
        assert len(list(csv.DictReader(stream))) == 120
    assert (published / "bundle.zip").stat().st_size > 0


@pytest.mark.long
def test_everything_stored_in_s3_is_sealed_or_published(twin: Twin, published: Path, table: Table) -> None:
    told = twin.environment("api")
    store = boto3.client(
        "s3",
        endpoint_url=f"http://127.0.0.1:{twin.ports['objects']}",
        aws_access_key_id=told["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=told["AWS_SECRET_ACCESS_KEY"],
        region_name="us-east-1",
    )
    listed = store.list_objects_v2(Bucket="understudy")
    contents = {
        one["Key"]: store.get_object(Bucket="understudy", Key=one["Key"])["Body"].read()
        for one in listed["Contents"]
    }
    kinds = {key.partition("/")[0] for key in contents}
    assert {"datasets", "releases"} <= kinds
    line = table.rows.read_bytes().splitlines()[1]
    for key, content in contents.items():
        assert line not in content, key


@pytest.mark.long
def test_every_part_is_ready_and_several_processes_answer(twin: Twin, published: Path) -> None:
    answer = httpx.get(f"{twin.url}/readyz", trust_env=False, timeout=600)
    assert answer.json()["checks"] == dict.fromkeys(("database", "migrations", "broker", "storage"), "ok")
    serving = [process for process in descendants(twin.children["api"].pid) if "spawn" in process.name]
    assert len(serving) >= 2


@pytest.mark.long
def test_metrics_want_their_token_and_count_what_all_processes_did(twin: Twin, published: Path) -> None:
    url = f"{twin.url}/metrics"
    assert httpx.get(url, trust_env=False, timeout=600).status_code == 401
    token = twin.variables["UNDERSTUDY_METRICS_TOKEN"]
    answer = httpx.get(url, headers={"Authorization": f"Bearer {token}"}, trust_env=False, timeout=600)
    found = [sample for family in text_string_to_metric_families(answer.text) for sample in family.samples]
    ordered = [
        sample.value
        for sample in found
        if sample.name == "understudy_http_requests_total"
        and sample.labels == {"method": "POST", "route": "/v1/jobs", "status": "202"}
    ]
    assert ordered == [1]
    values = {(sample.name, *sample.labels.values()): sample.value for sample in found}
    assert values["understudy_jobs", "succeeded"] == 1
    assert values["understudy_workers_alive", "worker"] == 1
    assert values["understudy_workers_alive", "reports"] == 1
    assert values["understudy_workers_alive", "upkeep"] == 1
    assert values["understudy_chore_runs_total", "resend"] >= 1


@pytest.mark.long
def test_one_request_id_leads_from_the_order_to_the_worker_and_its_child(twin: Twin, published: Path) -> None:
    (ordered,) = [
        event
        for event in twin.events("api")
        if event.get("route") == "/v1/jobs" and event.get("method") == "POST"
    ]
    begun = [event for event in twin.events("worker") if event["event"] == "attempt-begins"]
    assert {event["request_id"] for event in begun} == {ordered["request_id"]}


@pytest.mark.long
def test_no_log_holds_a_secret_or_a_row(
    twin: Twin, published: Path, keys: dict[str, str], table: Table
) -> None:
    line = table.rows.read_text().splitlines()[1]
    for name in twin.services:
        log = twin.log(name)
        for secret in (*twin.variables.values(), *keys.values(), line):
            assert secret not in log, name


def test_a_secret_that_is_not_given_stops_the_start() -> None:
    text = (Path(__file__).parents[2] / "docker-compose.yml").read_text()
    for name in set(re.findall(r"\$\{(\w+):\?", text)):
        with pytest.raises(KeyError, match=name):
            interpolate(re.search(rf"\$\{{{name}:\?[^}}]*\}}", text)[0], {})
    assert interpolate("a $$b ${C:-}${D:-e}", {"D": "d"}) == "a $b d"
