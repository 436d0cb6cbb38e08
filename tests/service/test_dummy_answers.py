"""Dummy answers have every member that the real service's have, so that code which reads one reads the other."""

from collections.abc import Mapping
from typing import Any

from tests.core.artifacts.stand_in import DOMAIN
from tests.service.test_obtaining import wired
from tests.service.test_selections import SELECTION
from tests.service.world import OPTIONS, World
from understudy import Client, dummy

OPEN = frozenset({"filters", "rdp_micros", "noise", "domain"})
"""Objects and lists whose members follow from a plan or a budget, or are what the caller declared."""


def answers(client: Client, dataset_id: str, release_id: str | None) -> dict[str, Any]:
    """The documents that one short script meets."""
    terms = {"epsilon": 0.5, "delta": 1e-6}
    found: dict[str, Any] = {
        "dataset": client.read_dataset(dataset_id),
        "budget": client.read_budget(dataset_id),
        "quote": client.ask_quote(dataset_id, **terms, options=OPTIONS),
        "selection": client.ask_quote(dataset_id, **terms, selection=SELECTION),
        "request": client.governance.file_request(dataset_id, **terms, purpose="to learn"),
        "session": client.governance.who_am_i(),
    }
    job = client.order_job(dataset_id, **terms, options=OPTIONS)
    found |= {"job": job, "ledger": client.read_ledger(dataset_id)}
    found["release"] = client.read_release(release_id) if release_id else job.wait()
    return {name: answer.document for name, answer in found.items()}


def lacking(real: object, made_up: object, place: str) -> list[str]:
    """Members of the real answer that the made-up one has not."""
    if not isinstance(real, Mapping) or not isinstance(made_up, Mapping):
        return []
    missing = [f"{place}/{name}" for name in real if name not in made_up]
    inner = [
        place_of
        for name in real.keys() & made_up.keys() - OPEN
        for place_of in lacking(real[name], made_up[name], f"{place}/{name}")
    ]
    return missing + inner


def test_no_member_is_missing(world: World) -> None:
    dataset_id, release_id = world.ready(), world.release()
    with wired(world, analyst=world.analyst).client("analyst") as client:
        real = answers(client, dataset_id, release_id)
    made_up = answers(dummy(DOMAIN, dataset_id="d"), "d", None)
    assert lacking(real, made_up, "") == []
    assert lacking({"a": {"b": 1}}, {"a": {}}, "") == ["/a/b"]
