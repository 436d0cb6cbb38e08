"""Hashes of fixed entries and audit events, recorded once: chains that exist must verify for ever."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from core.canonical import canonical
from core.dp.charge import Charge
from core.ledger.audit_log import Event, Link
from core.ledger.entries import GrantState, cap_set, frozen, grant_closed, granted, next_entry, unfrozen
from core.ledger.hash_chain import EMPTY
from core.ledger.reservation import EMPTY_BALANCE, NOTHING, Balance, EntryKind, Movement

NOON = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)
POPULATION, GRANT, HOLDER, JOB = (UUID(int=number) for number in range(1, 5))
AMOUNT = Charge(epsilon_micros=1_250_000, delta_femtos=1_000_000, rdp_micros=(1, 2, 3, 4, 5, 6))
SETTLED = Charge(epsilon_micros=250_000, delta_femtos=1_000_000, rdp_micros=(1, 1, 1, 1, 1, 1))
MECHANISM = {"version": 1, "kind": "gaussian", "noise_multiplier": 1e22, "note": "é\n\\"}
RESERVED = Balance(spent=NOTHING, reserved=AMOUNT)
SPENT = Balance(spent=AMOUNT, reserved=NOTHING)


def moved(kind, charge, *, grant_id=GRANT):
    return Movement(kind=kind, job_id=JOB, charge=charge, grant_id=grant_id)


FIRST_RELEASE = [
    {"content": moved(EntryKind.RESERVED, AMOUNT, grant_id=None), "balance": None, "mechanism": MECHANISM},
    {"content": moved(EntryKind.SPENT, AMOUNT, grant_id=None), "balance": None, "fence": 3},
]
SECOND_SCHEMA = [
    {"content": cap_set(epsilon=3.0, delta=1e-5, by="an-admin", reason=None), "balance": EMPTY_BALANCE},
    {
        "content": granted(
            grant_id=GRANT, holder=HOLDER, epsilon=1.5, delta=1e-6, expires_at=NOON, by="an-admin"
        ),
        "balance": EMPTY_BALANCE,
    },
    {
        "content": moved(EntryKind.RESERVED, AMOUNT),
        "balance": RESERVED,
        "grant_balance": RESERVED,
        "mechanism": MECHANISM,
    },
    {"content": moved(EntryKind.SPENT, AMOUNT), "balance": SPENT, "grant_balance": SPENT, "fence": 2},
    {"content": frozen(by="an-admin", reason="é"), "balance": SPENT},
    {"content": unfrozen(by="an-admin", reason="looked at"), "balance": SPENT},
    {
        "content": moved(EntryKind.SETTLED, SETTLED),
        "balance": Balance(spent=SETTLED, reserved=NOTHING),
        "grant_balance": Balance(spent=SETTLED, reserved=NOTHING),
    },
    {
        "content": grant_closed(grant_id=GRANT, outcome=GrantState.REVOKED, by="an-admin"),
        "balance": EMPTY_BALANCE,
    },
]
EVENTS = [
    Event(
        sequence=7,
        at=NOON,
        actor="a-person/a-key",
        action="budget.set",
        object="é",
        outcome="done",
        client_address="192.0.2.1",
        request_id="r-1",
    ),
    Event(
        sequence=4,
        at=NOON + timedelta(days=1),
        actor="upkeep",
        action="grant.expire",
        object=str(GRANT),
        outcome="done",
        client_address=None,
        request_id=None,
    ),
]


def hashes(*rows):
    head, found = EMPTY, []
    for number, row in enumerate(rows):
        entry = next_entry(head, population_id=POPULATION, at=NOON + timedelta(hours=number), **row)
        head = entry.head
        found.append(entry.hash.hex())
    return found


def test_entries_of_the_first_release():
    assert hashes(*FIRST_RELEASE) == [
        "0fd8bff9f6dd02295c2806c729da328cceac2d831f58de7c71cb2292fe6b40c8",
        "367905f5b6ff1236a18c23fb6a8faca3cba5ec53cd489b34e52de3ff37dd7a13",
    ]


def test_entries_with_balances_and_decisions():
    assert hashes(*SECOND_SCHEMA) == [
        "67b7b6b513a631bfb451cd17fcff789015bd5be6cab2474f74d8edbdaca5001b",
        "f76cf0e73ccbd9f39260550128876af1a393f4e4279ee907aa39a6b6bf8f8c4a",
        "450a21e68b3e0610665cd4d8edff998e4b22cd1db01e3548d2f565e466cc1cbf",
        "39f460656fa41cecf6a4f0d7b0d58879b37a08888a4e0b1155ff79022e4a76e3",
        "eea692e8cb3215bd49dfd5fc0723eb86b2f06113a6f54fc994ffad678b26a564",
        "2f89e9014806dabdc725cd045f71970f8f8c5b3fe4e2dc3d40096f9eb6862f2a",
        "3c7ceb7553e2964439984214bf7ea7a7d64c9ff3fca82b1d404759f3409b2bbd",
        "12ed02741c74d5377d62f440a9beaf3b7585a1b66ac739bec14c18f888afe7de",
    ]


def test_audit_events():
    first = Link.after(EMPTY, EVENTS[0])
    second = Link.after(first.head, EVENTS[1])
    assert [first.hash.hex(), second.hash.hex()] == [
        "4b8b6fce27a646594ab476fa2804289a05e285949218f31d20cd238814b96832",
        "b852a17d4e885c1f5cf001292485916af077b6a856e08a94f65e330c3150f75e",
    ]


def test_canonical_bytes():
    document = {"b": 1e22, "a": ["é\n\\", None, True], "c": {"z": 0.1, "y": -1}}
    assert canonical(document) == b'{"a":["\\u00e9\\n\\\\",null,true],"b":1e+22,"c":{"y":-1,"z":0.1}}'
