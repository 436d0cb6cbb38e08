"""Checks after every round of a consortium in which an owner vanishes, freezes or lies."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

import numpy as np
from sqlalchemy import select, text
from sqlalchemy.orm import Session

from core.artifacts.bundle import unpack
from core.artifacts.counts import ReleasedCounts
from core.db.tables import Dataset, Job, Release
from core.dp.charge import Charge, charge_of
from core.ledger import ledger_queries
from core.ledger.reservation import NOTHING
from core.plan.ordered_plan import ordered_plan_from_json
from core.plan.private_models.plan import ModelPlan
from core.plan.several_owners.member_plan import MemberPlan
from models.dp.count_noise import GRID
from tests.faults.checks import of_chain, of_job
from tests.faults.consortium import Federation, Member
from tests.faults.owners_checks import covers, of_cap
from tests.faults.stack import Stack

STATES_HISTORY: Final = """
CREATE TABLE IF NOT EXISTS drill_states (
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    federation_id uuid NOT NULL, round integer NOT NULL, place integer NOT NULL, change text NOT NULL
);
CREATE OR REPLACE FUNCTION drill_note_state() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO drill_states (federation_id, round, place, change) VALUES (new.federation_id, new.round, new.place,
        CASE WHEN TG_OP = 'INSERT' THEN 'new' WHEN new.sha256 <> old.sha256 THEN 'replaced'
             WHEN new.content IS NOT NULL AND old.content IS NULL THEN 'back' ELSE 'forgotten' END);
    RETURN new;
END $$;
CREATE OR REPLACE TRIGGER drill_note_state AFTER INSERT OR UPDATE ON federation_states
    FOR EACH ROW EXECUTE FUNCTION drill_note_state();
"""


def note_states(stack: Stack) -> None:
    """Have the database of a board itself note every change of a state."""
    with stack.connected() as connection:
        connection.execute(STATES_HISTORY)


def federation_violations(
    federation: Federation,
    members: Sequence[tuple[Member, frozenset[str]]],
    *,
    state: str,
    vanished: str | None = None,
) -> list[str]:
    """Everything that does not hold for a federation whose members' jobs have ended.

    Args:
        federation: on its board.
        members: those with a service of their own, and how their jobs may have ended.
        state: of the federation.
        vanished: the members that it names.
    """
    with federation.board.database() as database, database.read_only() as session:
        found = [*of_board(session, federation)]
    if federation.state()[:2] != (state, vanished):
        found.append(f"the federation is {federation.state()}, and not {state} {vanished or ''}")
    handed_in = federation.handed_in()
    artefacts: list[dict[str, str]] = []
    for member, ends in members:
        place = federation.names.index(member.name)
        used = sum(owner == place for _, owner in handed_in)
        with member.stack.database() as database, database.read_only() as session:
            found += [f"{member.name}: {each}" for each in of_member(session, member, ends, rounds=used)]
            artefacts += artefacts_of(session, member)
    return [*found, *differing(artefacts)]


def of_board(session: Session, federation: Federation) -> Iterator[str]:
    """A state is written once, in its round, and never after the end."""
    changes = session.execute(
        text(
            "SELECT round, place, change, count(*) FROM drill_states WHERE federation_id = :id GROUP BY 1, 2, 3"
        ),
        {"id": federation.id},
    )
    for number, place, change, count in changes:
        if change in {"replaced", "back"} or count != 1:
            yield f"the state of member {place} in round {number} was {change} {count} times"
    kept = session.execute(
        text(
            "SELECT kept.round, kept.place, kept.created_at > one.ended_at AS late,"
            " one.state IN ('failed', 'ended') AND kept.content IS NOT NULL AS left"
            " FROM federation_states AS kept JOIN federations AS one ON one.id = kept.federation_id"
            " WHERE one.id = :id"
        ),
        {"id": federation.id},
    ).all()
    if any(one.late for one in kept):
        yield "a state was taken after the federation was over"
    if any(one.left for one in kept):
        yield "a federation that is over keeps states"
    here = {(one.round, one.place) for one in kept}
    for number, _ in here:
        if number and any((number - 1, place) not in here for place in range(len(federation.names))):
            yield f"round {number} began before the round before was complete"


def of_member(session: Session, member: Member, ends: frozenset[str], *, rounds: int) -> Iterator[str]:
    """Violations at a member that handed in so many states."""
    dataset = session.get_one(Dataset, UUID(str(member.dataset_id)))
    yield from of_chain(session, dataset.population_id)
    yield from of_cap(session, dataset.population_id)
    jobs = session.scalars(select(Job).where(Job.dataset_id == dataset.id)).all()
    if len(jobs) != 1:
        yield f"{len(jobs)} jobs came of one membership"
        return
    (job,) = jobs
    yield from of_job(member.stack, session, job, ends)
    charged = ledger_queries.reservation_of(session, job.id).in_force
    plan = ordered_plan_from_json(job.plan)
    assert isinstance(plan, ModelPlan | MemberPlan), "a plan of a federation"
    used = used_by(plan, rounds)
    if not covers(charged, used):
        yield f"charged {charged.epsilon_micros} for {rounds} rounds that cost {used.epsilon_micros}"
    for release in session.scalars(select(Release).where(Release.job_id == job.id)):
        yield from _of_certificate(release.certificate, member, charged)


def charged_to(member: Member) -> Charge:
    """Charges in force in the ledger of a member."""
    with member.stack.database() as database, database.read_only() as session:
        return ledger_queries.reservation_of(session, UUID(str(member.job_id))).in_force


def _of_certificate(stated: Mapping[str, Any], member: Member, charged: Charge) -> Iterator[str]:
    if stated["charge"] != charged.to_json():
        yield "the certificate states another charge than the ledger"
    sizes = {one["name"]: one["declared_size"] for one in stated["plan"]["federation"]["members"]}
    if sizes != member.federation.sizes:
        yield "the certificate states other sizes than were declared"
    kept = member.federation.board.ask(
        "SELECT certificate FROM federation_members WHERE federation_id = %s AND name = %s",
        member.federation.id,
        member.name,
    )
    if kept != (stated,):
        yield "the board has another certificate"


def used_by(plan: ModelPlan | MemberPlan, rounds: int) -> Charge:
    """Charge for the uses of a member's rows, if it handed in so many states."""
    if not rounds:
        return NOTHING
    if isinstance(plan, MemberPlan):
        return charge_of(plan.mechanism, delta=plan.guarantee.delta)
    each = plan.steps // (plan.options.averaging_rounds or 1)
    return charge_of(plan.executed(rounds * each), delta=plan.guarantee.delta)


def sums_violations(states: Sequence[bytes], member: Member) -> list[str]:
    """Whether the released counts of a generator are the sum of every member's last state, each of them once."""
    summed = sum(np.frombuffer(each, "<i8").astype(np.int64) for each in states)
    with member.stack.database() as database, database.read_only() as session:
        job = select(Job.id).where(Job.dataset_id == UUID(str(member.dataset_id)))
        key = session.scalars(select(Release.bundle_key).where(Release.job_id.in_(job))).one()
    counts = ReleasedCounts.from_bytes(unpack(member.stack.store.get_bytes(key)).counts or b"")
    pairs = [one.cells.ravel() for one in counts.tables if len(one.columns) > 1]
    released = np.concatenate(pairs) * counts.step
    same = released.shape == np.shape(summed) and np.abs(released - summed * GRID).max() <= counts.step
    return [] if same else ["the released counts are not the sums of all states"]


def artefacts_of(session: Session, member: Member) -> list[dict[str, str]]:
    """The digests of what a member holds, if its job succeeded."""
    wanted = (
        select(Release)
        .join(Job, Job.id == Release.job_id)
        .where(Job.dataset_id == UUID(str(member.dataset_id)))
    )
    names = ("weights.safetensors", "generator.safetensors", "counts.bin")
    found = [release.certificate["artefacts"] for release in session.scalars(wanted)]
    return [{name: one[name]["sha256"] for name in names if name in one} for one in found]


def differing(artefacts: Sequence[Mapping[str, str]]) -> list[str]:
    """Members that succeeded hold one model or generator."""
    same = all(one and one == artefacts[0] for one in artefacts)
    return [] if same else ["the members hold different artefacts, or none"]
