"""Two owners with a stack each: own database, own key, own ledger. One model, one generator, and rows that never leave; and an owner that freezes."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.faults.processes import wait_until
from tests.system.conftest import Up, understudy
from understudy.connection import Connection
from understudy.simulation import write_table
from understudy.table_files import read_table_files

pytestmark = [pytest.mark.system, pytest.mark.long]

SIZES = {"north": 600, "south": 400}


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
    _require_one_release(federation, tmp_path)
    _require_that_a_frozen_owner_is_refused(federation)


def test_two_owners_with_a_stack_each_hold_one_generator(stacks: dict[str, Up], tmp_path: Path) -> None:
    federation = Federation(stacks, tmp_path)
    federation.create(generator={})
    certificates = _require_one_release(federation, tmp_path)
    counts = {one["artefacts"]["counts.bin"]["sha256"] for one in certificates}
    assert len(counts) == 1, "one set of sums"


def _require_one_release(federation: Federation, folder: Path) -> list[dict[str, Any]]:
    """Run both members to their end, and verify what each holds."""
    with ThreadPoolExecutor(2) as threads:
        for finished in threads.map(federation.member, SIZES):
            assert finished.returncode == 0, finished.stderr
    found = federation.shown()
    assert found["state"] == "done"
    certificates = {one["name"]: one["certificate"] for one in found["members"]}
    places = {name: certificate["ledger"] for name, certificate in certificates.items()}
    assert places["north"] != places["south"], "each ledger is its own"
    for name in SIZES:
        listed = understudy("signing-keys", "--data-folder", federation.stacks[name].data_folder, "--json")
        (folder / "keys.json").write_text(listed.stdout)
        verified = understudy("verify", folder / f"{name}.zip", "--keys", folder / "keys.json")
        assert verified.returncode == 0, verified.stdout + verified.stderr
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
