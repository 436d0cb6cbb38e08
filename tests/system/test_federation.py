"""Two owners with a stack each: own database, own key, own ledger. One model, and rows that never leave."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

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
            admin.set_budget(dataset.id, epsilon=3.0, delta=1e-5)
            asked = analyst.governance.file_request(
                dataset.id, epsilon=2.0, delta=1e-5, purpose="One model over two owners."
            )
            admin.governance.approve_request(asked.id)
    return dataset.id


def test_two_owners_with_a_stack_each_hold_one_model(stacks: dict[str, Up], tmp_path: Path) -> None:
    datasets, domain = {}, {}
    for seed, (name, size) in enumerate(SIZES.items()):
        rows, declared = write_table(tmp_path / f"rows-{name}", rows=size, seed=seed)
        domain = json.loads(declared.read_text())
        domain.pop("declared_size", None)
        datasets[name] = _ready(stacks[name].connection, rows, declared, size)

    board = stacks["north"].connection
    with board.client("analyst") as analyst:
        made = analyst.federations.create(
            "readmissions", domain=domain, epsilon=2.0, delta=1e-6, members=SIZES,
            model={"steps": 40, "averaging_rounds": 4},
        )  # fmt: skip

    def member(name: str) -> None:
        finished = understudy(
            "member", datasets[name], "--join", f"{board.url}/v1/federations/{made['id']}",
            "--token", made["tokens"][name], "--data-folder", stacks[name].data_folder,
            "--out", tmp_path / f"{name}.zip", timeout=500,
        )  # fmt: skip
        assert finished.returncode == 0, finished.stderr

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(member, SIZES))

    with board.client("analyst") as analyst:
        found = analyst.federations.read(made["id"])
    assert found["state"] == "done"
    certificates = {one["name"]: one["certificate"] for one in found["members"]}
    places = {name: certificate["ledger"] for name, certificate in certificates.items()}
    assert places["north"] != places["south"], "each ledger is its own"
    for name in SIZES:
        listed = understudy("signing-keys", "--data-folder", stacks[name].data_folder, "--json")
        (tmp_path / "keys.json").write_text(listed.stdout)
        verified = understudy("verify", tmp_path / f"{name}.zip", "--keys", tmp_path / "keys.json")
        assert verified.returncode == 0, verified.stdout + verified.stderr
