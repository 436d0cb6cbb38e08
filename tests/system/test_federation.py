"""Two owners with a stack each: own database, own key, own ledger. One model, one generator, and rows that never leave; and an owner that freezes."""

import json
import os
import shlex
import signal
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.docs.code_blocks import weekly_blocks
from tests.docs.stage import run_shell
from tests.faults.processes import wait_until
from tests.system.conftest import COMMAND, Up, environment, understudy
from understudy.connection import Connection
from understudy.simulation import write_table
from understudy.table_files import read_table_files

pytestmark = [pytest.mark.system, pytest.mark.long]

SIZES = {"north": 600, "south": 400}
ORDERS, MEMBER = weekly_blocks("docs/federated.md", __name__)


@pytest.fixture
def stacks(tmp_path: Path) -> Iterator[dict[str, Up]]:
    # A member's worker calls the board; here both are on the loopback interface, which has to be allowed.
    networks = json.dumps(["127.0.0.0/8"])
    started = {name: Up.start(tmp_path / name, UNDERSTUDY_NOTIFY_NETWORKS=networks) for name in SIZES}
    try:
        yield {name: up.ready() for name, up in started.items()}
    finally:
        for up in started.values():
            up.end()


def _ready(connection: Connection, rows: Path, domain: Path, size: int) -> str:
    """A dataset with rows, a cap and a grant, in the owner's own service."""
    files = read_table_files(rows, domain, declared_size=size)
    with connection.client("owner") as owner, connection.client("analyst") as analyst:
        dataset = owner.declare_dataset(name="admissions", domain=files.domain, declared_size=size)
        owner.governance.add_member(dataset.id, analyst.governance.who_am_i().principal_id)
        owner.upload_rows(dataset.id, rows)
        with connection.client("admin") as admin:
            admin.set_budget(dataset.id, epsilon=5.0, delta=1e-5)
            asked = analyst.governance.file_request(
                dataset.id, epsilon=5.0, delta=1e-5, purpose="One model over two owners."
            )
            admin.governance.approve_request(asked.id)
    return dataset.id


def as_a_reader(up: Up, folder: Path) -> dict[str, str]:
    """Return the environment variables with which a page's commands reach one stack; make the folder, with the command in it."""
    (command := folder / "bin").mkdir(parents=True, exist_ok=True)
    (command / "understudy").write_text(f'#!/bin/sh\nexec {shlex.join(COMMAND)} "$@"\n')
    (command / "understudy").chmod(0o755)
    path = f"{command}:{os.environ['PATH']}"
    return environment() | {"PATH": path, "UNDERSTUDY_DATA_FOLDER": str(up.data_folder)}


def _verify(up: Up, bundle: Path) -> None:
    """Check a bundle with the command and the keys of the service that made it."""
    keys = bundle.with_suffix(".keys.json")
    keys.write_text(understudy("signing-keys", "--data-folder", up.data_folder, "--json").stdout)
    verified = understudy("verify", bundle, "--keys", keys)
    assert verified.returncode == 0, verified.stdout + verified.stderr


class Federation:
    """A federation of both owners, whose board is the stack of north."""

    def __init__(self, stacks: dict[str, Up], folder: Path) -> None:
        self.stacks, self.folder = stacks, folder
        self.datasets: dict[str, str] = {}
        for seed, (name, size) in enumerate(SIZES.items()):
            rows, declared = write_table(folder / f"rows-{name}", rows=size, seed=seed)
            self.domain = json.loads(declared.read_text())
            self.domain.pop("declared_size", None)
            self.datasets[name] = _ready(stacks[name].connection, rows, declared, size)

    def create(self, **terms: dict[str, Any]) -> None:
        with self.stacks["north"].connection.client("analyst") as analyst:
            self.made = analyst.federations.create(
                "readmissions", domain=self.domain, epsilon=2.0, delta=1e-6, members=SIZES, round_seconds=120.0, **terms
            )  # fmt: skip

    def member(self, name: str) -> subprocess.CompletedProcess[str]:
        return understudy(
            "member", self.datasets[name], "--join",
            f"{self.stacks['north'].connection.url}/v1/federations/{self.made['id']}",
            "--token", self.made["tokens"][name], "--data-folder", self.stacks[name].data_folder,
            "--out", self.folder / f"{name}.zip", timeout=500,
        )  # fmt: skip

    def member_as_the_page_says(self, name: str) -> None:
        """Run the page's commands for one member."""
        text = MEMBER.text.replace("uf_...", self.made["tokens"][name]).replace(
            "DATASET", self.datasets[name]
        )
        board = f"{self.stacks['north'].connection.url}/v1/federations/{self.made['id']}"
        text = text.replace("https://board.example.org/v1/federations/ID", board)
        folder = self.folder / name
        run_shell(text, MEMBER.place, folder, as_a_reader(self.stacks[name], folder))

    def shown(self) -> dict[str, Any]:
        with self.stacks["north"].connection.client("analyst") as analyst:
            return dict(analyst.federations.read(self.made["id"]))

    def last_movements(self, name: str) -> list[str]:
        """What the owner's ledger says of its newest job."""
        with self.stacks[name].connection.client("owner") as owner:
            entries = owner.read_ledger(self.datasets[name]).entries
        moves = [one for one in entries if one.get("job_id") is not None]
        return [str(one["kind"]) for one in moves if one["job_id"] == moves[-1]["job_id"]]


def test_two_owners_with_a_stack_each_hold_one_model(stacks: dict[str, Up], tmp_path: Path) -> None:
    federation = Federation(stacks, tmp_path)
    federation.create(model={"steps": 40, "averaging_rounds": 4})
    certificates = _require_one_release(federation, tmp_path)
    assert len({one["artefacts"]["weights.safetensors"]["sha256"] for one in certificates}) == 1
    _require_that_a_frozen_owner_is_refused(federation)


def test_two_owners_with_a_stack_each_hold_one_generator(stacks: dict[str, Up], tmp_path: Path) -> None:
    federation = Federation(stacks, tmp_path)
    federation.create(generator={})
    certificates = _require_one_release(federation, tmp_path)
    counts = {one["artefacts"]["counts.bin"]["sha256"] for one in certificates}
    assert len(counts) == 1, "one set of sums"


def test_the_orders_of_the_page_over_datasets_of_one_service(tmp_path: Path) -> None:
    up = Up.start(tmp_path / "stack")
    try:
        connection = up.ready().connection
        datasets = {}
        for seed, name in enumerate(("DATASET", "OTHER", "THIRD")):
            rows, declared = write_table(tmp_path / name, rows=600, seed=seed)
            datasets[name] = _ready(connection, rows, declared, 600)
        run_shell(ORDERS.text, ORDERS.place, tmp_path, as_a_reader(up, tmp_path) | datasets)
        for name in ("model.zip", "averaged.zip", "generator.zip"):
            _verify(up, tmp_path / name)
    finally:
        up.end()


def _require_one_release(federation: Federation, folder: Path) -> list[dict[str, Any]]:
    """Run both members to their end, and verify what each holds."""
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(federation.member_as_the_page_says, SIZES))
    found = federation.shown()
    assert found["state"] == "done"
    certificates = {one["name"]: one["certificate"] for one in found["members"]}
    places = {name: certificate["ledger"] for name, certificate in certificates.items()}
    assert places["north"] != places["south"], "each ledger is its own"
    for name in SIZES:
        _verify(federation.stacks[name], folder / name / "model.zip")
    return list(certificates.values())


def _require_that_a_frozen_owner_is_refused(federation: Federation) -> None:
    """Stop everything that trains at south in the middle of a round, until north has given up."""
    federation.create(model={"steps": 400, "averaging_rounds": 40})
    with ThreadPoolExecutor(2) as threads:
        running = {name: threads.submit(federation.member, name) for name in SIZES}
        assert wait_until(lambda: federation.shown()["rounds_done"] >= 1, seconds=300)
        family = federation.stacks["south"].family()
        frozen = [one for one in family if "celery" in one.name or "workers.runner" in one.name]
        for process in frozen:
            os.kill(process.pid, signal.SIGSTOP)
        given_up = running["north"].result()
        assert given_up.returncode != 0
        assert "member-vanished" in given_up.stdout + given_up.stderr
        late = federation.shown()
        assert (late["state"], late["vanished"]) == ("failed", "south")
        assert 1 <= late["rounds_done"] < 40
        for process in frozen:
            os.kill(process.pid, signal.SIGCONT)
        refused = running["south"].result()
        assert refused.returncode != 0
        assert "training-failed" in refused.stdout + refused.stderr
    assert federation.last_movements("north") == ["RESERVED", "SPENT", "SETTLED"]
    assert federation.last_movements("south") == ["RESERVED", "SPENT"], "charged in full, once"
    assert federation.shown() == late, "the late state is refused"
