"""Entries of the ledger and of the audit log with their hashes, and signatures over fixed documents."""

from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from core.artifacts.signing import contexts
from core.artifacts.signing.signed import Signer
from core.db.outbox import Kind
from core.dp import mechanism as mechanisms
from core.dp.charge import Charge
from core.dp.filters import AdmissionRule
from core.ledger import audit_log, entries
from core.ledger.hash_chain import EMPTY
from core.ledger.ledger_queries import entry_json
from core.ledger.reservation import EMPTY_BALANCE, NOTHING, Balance, EntryKind, Movement
from core.platform.notifications.messages import Message
from core.platform.notifications.webhook import signed_headers
from core.platform.witness.signed_heads import signed_ledger_head, signed_publication
from tests.goldens.privacy import CHARGE, SAMPLED
from understudy.local.ledger.lines import Header, line_of
from understudy.local.ledger.lines import entry_json as local_entry_json

POPULATION, GRANT, HOLDER = UUID(int=2), UUID(int=5), UUID(int=6)
AT: Final = datetime(2026, 11, 20, 12, 30, 15, 123456, tzinfo=UTC)
SIGNER: Final = Signer.of(Ed25519PrivateKey.from_private_bytes(bytes(range(32))))
LESS: Final = Charge(epsilon_micros=1_000_000, delta_femtos=1_000_000_000, rdp_micros=(1, 1, 2, 2, 3, 3))


def ledger() -> dict[str, object]:
    """One entry of each kind in one chain, an entry of the first release, and the file of a local ledger."""
    members: dict[str, object] = {}
    head = EMPTY
    for number, (name, content, further) in enumerate(_entries(), start=1):
        entry = entries.next_entry(head, population_id=POPULATION, content=content, at=AT, **further)
        members[f"entry {number:02d}: {name}"] = entry_json(entry)
        members[f"local line {number:02d}: {name}"] = line_of(local_entry_json(entry))
        head = entry.head
    kinds = {entry["kind"] for name, entry in members.items() if isinstance(entry, dict)}
    assert kinds == {kind.value for kind in (*EntryKind, *entries.DecisionKind)}, "one of each kind"
    members["head"] = [head.sequence, head.hash.hex()]
    for rule in AdmissionRule:
        header = Header(dataset="wards", population_id=POPULATION, rule=rule)
        members[f"local line 00: header, {rule.value}"] = header.line()
    members["signed head"] = signed_ledger_head(SIGNER, POPULATION, head, at=AT).to_json()
    members["signed publication"] = signed_publication(SIGNER, POPULATION, UUID(int=3), head, at=AT).to_json()
    return members


def _entries() -> list[tuple[str, Any, dict[str, Any]]]:
    def moved(kind: EntryKind, job: int, charge: Charge, *, grant: UUID | None = None) -> Movement:
        return Movement(kind=kind, job_id=UUID(int=job), charge=charge, grant_id=grant)

    reserved = Balance(spent=NOTHING, reserved=CHARGE)
    spent = Balance(spent=CHARGE, reserved=NOTHING)
    settled = Balance(spent=LESS, reserved=NOTHING)
    plan = {"mechanism": mechanisms.to_json(SAMPLED)}
    granted = entries.granted(
        grant_id=GRANT, holder=HOLDER, epsilon=0.5, delta=1e-7, expires_at=AT, by="principal:6"
    )
    closed = [
        entries.grant_closed(grant_id=GRANT, outcome=state, by="upkeep")
        for state in (entries.GrantState.EXPIRED, entries.GrantState.REVOKED)
    ]
    return [
        ("reserved by the first release", moved(EntryKind.RESERVED, 1, CHARGE), {"balance": None} | plan),
        (
            "cap set",
            entries.cap_set(epsilon=2.0, delta=1e-6, by="principal:6", reason="a year's budget"),
            {"balance": reserved},
        ),
        ("granted", granted, {"balance": reserved}),
        ("spent", moved(EntryKind.SPENT, 1, CHARGE), {"balance": spent, "fence": 1}),
        ("settled", moved(EntryKind.SETTLED, 1, LESS), {"balance": settled}),
        (
            "reserved under a grant",
            moved(EntryKind.RESERVED, 7, CHARGE, grant=GRANT),
            {"balance": Balance(spent=LESS, reserved=CHARGE), "grant_balance": reserved} | plan,
        ),
        (
            "voided",
            moved(EntryKind.VOIDED, 7, NOTHING, grant=GRANT),
            {"balance": settled, "grant_balance": EMPTY_BALANCE},
        ),
        ("frozen", entries.frozen(by="principal:6", reason="Umlaut: ü"), {"balance": settled}),
        ("unfrozen", entries.unfrozen(by="principal:6", reason="looked at"), {"balance": settled}),
        *((f"grant closed, {one.terms['outcome']}", one, {"balance": settled}) for one in closed),
    ]


def audit() -> dict[str, object]:
    """Links of the audit log: one with every member, one with the fewest."""
    events = (
        audit_log.Event(
            sequence=4,
            at=AT,
            actor="key:6",
            action="create_job",
            object=f"job:{UUID(int=3)}",
            outcome="done",
            client_address="192.0.2.1",
            request_id="5f0c6f0e9f5d4f0bb4a1c1f0a1b2c3d4",
        ),
        audit_log.Event(
            sequence=9,
            at=AT,
            actor="anonymous",
            action="read_job",
            object="ü",
            outcome="not-found",
            client_address=None,
            request_id=None,
        ),
    )
    members: dict[str, object] = {}
    head = EMPTY
    for event in events:
        link = audit_log.Link.after(head, event)
        members[f"link {link.position}"] = {
            "event": event.to_json(),
            "previous_hash": link.previous_hash.hex(),
            "hash": link.hash.hex(),
        }
        head = link.head
    return members


def signatures() -> dict[str, object]:
    """A signature for every purpose, and those of webhooks."""
    document = {"text": "ü", "number": 0.1, "whole": 3, "none": None, "list": [True, {"b": 1, "a": 2}]}
    purposes = sorted(
        value for name, value in vars(contexts).items() if name.isupper() and isinstance(value, str)
    )
    members: dict[str, object] = {
        f"signed for {purpose}": SIGNER.sign(document, context=purpose).to_json() for purpose in purposes
    }
    for kind in Kind:
        message = Message(
            fence=1,
            delivery_id=UUID(int=8),
            event_id=UUID(int=9),
            kind=kind,
            at=AT.replace(second=0, microsecond=0),
            ids={"job_id": str(UUID(int=3)), "dataset_id": str(UUID(int=1))},
            attempts=0,
        )
        members[f"webhook {kind.value}"] = {
            "body": message.body.decode(),
            "headers": dict(
                signed_headers(message.event_id, message.body, secrets=[b"1" * 24, b"2" * 24], at=AT)
            ),
        }
    return members
