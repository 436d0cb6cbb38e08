"""The first order on a population waits until its ledger was held against what was noted outside the database."""

from uuid import UUID

import pytest
from obstore.exceptions import GenericError

from core.artifacts.signing import keyring
from core.data.objects import ObjectStore
from core.ledger import repository as ledger
from core.ledger.hash_chain import Head
from core.platform.witness.ledger_witness import LedgerWitness, compare_at_start
from core.platform.witness.signed_heads import signed_ledger_head
from core.platform.witness.witness_store import Witnesses, head_key
from service.diagnosis.examination import Examination
from tests.service.world import World, require_problem


def note(world: World, dataset_id: str, *, ahead: int) -> UUID:
    """Note a head that the ledger has not: as if the database had been restored from a backup."""
    context = world.app.state.context
    with world.database.transaction() as session:
        population_id = UUID(world.owner.get(f"/v1/datasets/{dataset_id}").json()["population_id"])
        signer = keyring.signer(session, master_keys=context.settings.master_keys, clock=world.clock)
        sequence = ledger.budget_of(session, population_id).head_sequence + ahead
    head = Head(sequence=sequence, hash=bytes(range(32)))
    signed = signed_ledger_head(signer, population_id, head, at=world.clock.now())
    Witnesses(world.store).add(head_key(population_id, head), signed)
    return population_id


@pytest.mark.parametrize("ahead", [0, 3], ids=["another history", "entries lost"])
def test_an_order_on_a_restored_ledger_is_refused_and_freezes_the_population(
    world: World, ahead: int
) -> None:
    dataset_id = world.ready()
    note(world, dataset_id, ahead=ahead)
    require_problem(world.order(dataset_id), status=409, code="dataset-frozen")
    kinds = [entry["kind"] for entry in world.movements(dataset_id)]
    assert "RESERVED" not in kinds
    require_problem(world.order(dataset_id, key="another"), status=409, code="dataset-frozen")


def test_an_order_waits_for_a_store_that_is_away(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset_id = world.ready()

    def away(_self: ObjectStore, _prefix: str) -> None:
        raise GenericError("away")

    with monkeypatch.context() as patched:
        patched.setattr(ObjectStore, "list", away)
        require_problem(world.order(dataset_id), status=503, code="storage-unavailable")
        compare_at_start(world.app.state.context.witness)
    assert world.order(dataset_id).status_code == 202
    with monkeypatch.context() as patched:
        patched.setattr(ObjectStore, "list", away)
        assert world.order(dataset_id, key="second").status_code == 202, "this process has compared it"


def test_a_process_compares_every_ledger_when_it_starts(world: World) -> None:
    dataset_id, other = world.ready(), world.ready(name="other")
    population_id = note(world, dataset_id, ahead=2)
    witness: LedgerWitness = world.app.state.context.witness
    compare_at_start(witness)
    require_problem(world.order(dataset_id), status=409, code="dataset-frozen")
    assert world.order(other, key="second").status_code == 202
    assert witness.require_all() == [population_id]


def test_the_report_on_health_names_the_ledger_that_has_forgotten_something(world: World) -> None:
    dataset_id = world.ready()
    population_id = note(world, dataset_id, ahead=2)
    found = Examination(
        world.app.state.context.settings, database=world.database, store=world.store, clock=world.clock
    ).findings()
    (behind,) = [one for one in found if one.code == "ledger-behind"]
    assert str(population_id) in behind.detail
    assert behind.entry.grade == "problem"
