import hashlib
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from uuid import UUID, uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from core.canonical import canonical
from core.ledger import ledger, ledger_queries
from core.ledger.entries import LEDGER_CHAIN, LedgerState, next_entry, verify_entries
from core.ledger.hash_chain import EMPTY, NO_HASH, Head
from core.ledger.reservation import NOTHING, EntryKind
from tests.core.ledger.support import (
    CLOCK,
    EVERY_FILTER,
    MECHANISM,
    NOON,
    charge,
    charges,
    movement,
    new_population,
    reserve,
)

POPULATION = UUID(int=7)


def chain_of(*movements):
    entries, head = [], EMPTY
    for each in movements:
        reserved = each.kind is EntryKind.RESERVED
        entry = next_entry(
            head,
            population_id=POPULATION,
            content=each,
            mechanism=MECHANISM if reserved else None,
            fence=1 if each.kind is EntryKind.SPENT else None,
            at=NOON,
            balance=None,
        )
        entries.append(entry)
        head = entry.head
    return entries


def a_long_chain():
    first, second = UUID(int=1), UUID(int=2)
    return chain_of(
        movement(EntryKind.RESERVED, first, charge(1.0)),
        movement(EntryKind.SPENT, first, charge(1.0)),
        movement(EntryKind.RESERVED, second, charge(0.5)),
        movement(EntryKind.VOIDED, second, NOTHING),
        movement(EntryKind.SETTLED, first, charge(0.25)),
    )


def check(entries, *, head, witnesses=()):
    return verify_entries(
        entries,
        head=head,
        state=LedgerState(rule=EVERY_FILTER),
        witnesses=witnesses,
    )


LONG = a_long_chain()
END = LONG[-1].head


def test_an_intact_chain():
    found = check(LONG, head=END)
    assert (found.intact, found.checked, found.problem) == (True, 5, None)
    assert check([], head=EMPTY).intact


@given(st.integers(0, 4), st.data())
def test_every_edit_is_found_where_it_was_made(place, data):
    entry = LONG[place]
    edited = data.draw(
        st.sampled_from(
            [
                replace(entry, movement=replace(entry.movement, charge=charge(0.01))),
                replace(entry, movement=replace(entry.movement, job_id=uuid4())),
                replace(entry, movement=replace(entry.movement, kind=EntryKind.VOIDED, charge=charge(0.125))),
                replace(entry, mechanism={"version": 1}),
                replace(entry, fence=99),
                replace(entry, at=NOON + timedelta(microseconds=1)),
                replace(entry, population_id=UUID(int=8)),
                replace(entry, previous_hash=bytes(31) + b"x"),
                replace(entry, hash=bytes(31) + b"x"),
                replace(entry, sequence=entry.sequence + 10),
            ]
        )
    )
    found = check([*LONG[:place], edited, *LONG[place + 1 :]], head=END)
    assert found.broken_at == place + 1
    assert found.checked == place


@given(st.integers(0, 4))
def test_every_removal_is_found(place):
    assert not check([*LONG[:place], *LONG[place + 1 :]], head=END).intact


@given(st.permutations(LONG))
def test_every_reordering_is_found(entries):
    assert check(entries, head=END).intact == (entries == LONG)


def test_a_rehashed_tail_is_found_by_the_head_and_by_a_witness():
    forged = chain_of(*(entry.movement for entry in LONG[:2]))
    assert check(forged, head=END).problem == "the end of the chain is not the head on the budget"
    assert check(forged, head=forged[-1].head).intact
    found = check(forged, head=forged[-1].head, witnesses=[END])
    assert (found.problem, found.broken_at) == ("entries that were witnessed are missing", 3)


def test_a_rewritten_history_is_found_by_a_witness():
    forged = chain_of(
        movement(EntryKind.RESERVED, UUID(int=1), charge(0.1)), *(each.movement for each in LONG[2:4])
    )
    witness = LONG[1].head
    assert check(forged, head=forged[-1].head).intact
    found = check(forged, head=forged[-1].head, witnesses=[witness])
    assert (found.problem, found.broken_at) == ("history differs from the one witnessed", 2)
    assert check(LONG, head=END, witnesses=[witness]).intact


def test_a_chain_of_illegal_entries_is_broken_though_its_hashes_are_right():
    job = UUID(int=1)
    entries = chain_of(
        movement(EntryKind.RESERVED, job, charge(1.0)), movement(EntryKind.SETTLED, job, charge(0.1))
    )
    found = check(entries, head=entries[-1].head)
    assert (found.problem, found.broken_at) == (
        "the entry may not follow the ones before it: SETTLED after RESERVED",
        2,
    )


@given(charges(), st.datetimes(timezones=st.just(UTC)))
def test_the_hash_does_not_depend_on_how_the_time_is_written(amount, at):
    entry = next_entry(
        EMPTY,
        population_id=POPULATION,
        content=movement(EntryKind.RESERVED, UUID(int=1), amount),
        mechanism=MECHANISM,
        at=at,
        balance=None,
    )
    assert (entry.sequence, entry.previous_hash) == (1, NO_HASH)
    if datetime(2, 1, 1, tzinfo=UTC) < at < datetime(9998, 1, 1, tzinfo=UTC):
        elsewhere = at.astimezone(timezone(timedelta(hours=-5)))
        assert LEDGER_CHAIN.hash_of(replace(entry, at=elsewhere)) == entry.hash


def test_the_hashed_document_to_the_letter():
    entry = next_entry(
        EMPTY,
        population_id=UUID(int=1),
        content=movement(EntryKind.RESERVED, UUID(int=2), charge(1.0, rdp=(1, 2, 3, 4, 5, 6))),
        mechanism={"version": 1, "kind": "gaussian", "noise_multiplier": 4.0},
        at=NOON,
        balance=None,
    )
    document = (
        b'{"at":"2026-03-01T12:00:00.000000+00:00",'
        b'"charge":{"delta_femtos":1000000,"epsilon_micros":1000000,'
        b'"rdp_micros":{"12":4,"16":5,"32":6,"4":1,"6":2,"8":3}},'
        b'"fence":null,"job_id":"00000000-0000-0000-0000-000000000002","kind":"RESERVED",'
        b'"mechanism":{"kind":"gaussian","noise_multiplier":4.0,"version":1},'
        b'"population_id":"00000000-0000-0000-0000-000000000001",'
        b'"schema":"understudy.ledger-entry/1","sequence":1}'
    )
    assert entry.hash == hashlib.sha256(bytes(32) + document).digest()


def test_canonical_json_has_one_spelling():
    assert canonical({"b": 1.0, "a": ["é", None]}) == b'{"a":["\\u00e9",null],"b":1.0}'
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical({"a": float("nan")})


class TestInTheDatabase:
    def verify(self, database, population, *witnesses):
        with database.read_only() as session:
            return ledger_queries.verify_chain(session, population, witnesses=witnesses)

    def tamper(self, database, *statements):
        with database.transaction() as session:
            session.execute(text("ALTER TABLE ledger_entries DISABLE TRIGGER ALL"))
            for statement in statements:
                session.execute(text(statement))

    @pytest.fixture
    def population(self, database):
        population = new_population(database)
        job = reserve(database, population, charge(0.5))
        with database.transaction() as session:
            ledger.spend(session, job, fence=1, clock=CLOCK)
        reserve(database, population, charge(0.25))
        return population

    def test_untouched(self, database, population):
        assert self.verify(database, population).checked == 4
        assert self.verify(database, population).intact

    @pytest.mark.parametrize(
        ("statement", "broken_at"),
        [
            ("UPDATE ledger_entries SET epsilon_micros = 1 WHERE sequence = 2", 2),
            ("UPDATE ledger_entries SET rdp_micros[3] = 1 WHERE sequence = 4", 4),
            ("UPDATE ledger_entries SET at = at + interval '1 second' WHERE sequence = 3", 3),
            ("UPDATE ledger_entries SET fence = 2 WHERE sequence = 3", 3),
            ("""UPDATE ledger_entries SET mechanism = '{"version": 1}' WHERE sequence = 4""", 4),
            ("DELETE FROM ledger_entries WHERE sequence = 2", 2),
            ("DELETE FROM ledger_entries WHERE sequence = 3", 3),
            ("DELETE FROM ledger_entries WHERE sequence = 4", 4),
            ("UPDATE budgets SET head_sequence = 3", 5),
        ],
    )
    def test_touched_by_somebody_who_can_switch_the_trigger_off(
        self, database, population, statement, broken_at
    ):
        self.tamper(database, statement)
        assert self.verify(database, population).broken_at == broken_at

    def test_a_restored_backup_is_found_by_a_witness(self, database, population):
        with database.read_only() as session:
            head = ledger_queries.statement(session, population).summary.head
        self.tamper(
            database,
            "DELETE FROM ledger_entries WHERE sequence = 4",
            "UPDATE budgets SET head_sequence = 3, head_hash = e.hash FROM ledger_entries e WHERE e.sequence = 3",
        )
        assert self.verify(database, population).intact
        assert self.verify(database, population, head).broken_at == 4

    def test_an_empty_ledger(self, database):
        population = new_population(database)
        assert self.verify(database, population).intact
        assert not self.verify(database, population, Head(sequence=2, hash=bytes(32))).intact

    # The fixture's database is shared by all examples on purpose: each one uses a population of its own.
    @settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        mechanism=st.recursive(
            st.floats(allow_nan=False, allow_infinity=False)
            | st.integers(-(2**60), 2**60)
            | st.text("aé\n\\", max_size=4),
            lambda inner: (
                st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
            ),
            max_leaves=8,
        )
    )
    def test_every_mechanism_keeps_its_hash(self, database, mechanism):
        population = new_population(database)
        with database.transaction() as session:
            ledger.reserve(
                session,
                population_id=population,
                job_id=uuid4(),
                charge=charge(0.1),
                mechanism_json={"version": 1, "parts": mechanism},
                grant_id=None,
                clock=CLOCK,
            )
        assert self.verify(database, population).intact
