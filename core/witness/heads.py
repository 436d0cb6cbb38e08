"""Signed heads: what a chain came to at a moment, in a form that can be kept anywhere and compared later."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from core.audit.chain import AuditHead
from core.ledger.chain import Head
from core.signing.contexts import AUDIT_HEAD, LEDGER_HEAD
from core.signing.signed import SignedDocument, Signer
from core.witness.errors import WitnessInvalid


def signed_ledger_head(signer: Signer, population_id: UUID, head: Head, *, at: datetime) -> SignedDocument:
    """Sign the head of a population's ledger."""
    document = {
        "population_id": str(population_id),
        "sequence": head.sequence,
        "hash": head.hash.hex(),
        "at": _text(at),
    }
    return signer.sign(document, context=LEDGER_HEAD)


def ledger_head_of(document: Mapping[str, Any], population_id: UUID) -> Head:
    """The head that a verified document states.

    Raises:
        WitnessInvalid: it states something else, or the head of another population.
    """
    try:
        if document["population_id"] != str(population_id):
            raise WitnessInvalid
        return Head(sequence=int(document["sequence"]), hash=bytes.fromhex(document["hash"]))
    except (KeyError, TypeError, ValueError):
        raise WitnessInvalid from None


def signed_audit_head(signer: Signer, head: AuditHead, *, at: datetime) -> SignedDocument:
    """Sign the head of the audit log."""
    document = {"position": head.position, "hash": head.hash.hex(), "at": _text(at)}
    return signer.sign(document, context=AUDIT_HEAD)


def audit_head_of(document: Mapping[str, Any]) -> AuditHead:
    """The head that a verified document states.

    Raises:
        WitnessInvalid: it states something else.
    """
    try:
        return AuditHead(position=int(document["position"]), hash=bytes.fromhex(document["hash"]))
    except (KeyError, TypeError, ValueError):
        raise WitnessInvalid from None


def _text(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="microseconds")
