"""Signed heads: where a chain ended at a moment, in a form that can be kept anywhere and compared later."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from core.artifacts.signing.contexts import AUDIT_HEAD, LEDGER_ACCEPTANCE, LEDGER_HEAD, PUBLICATION
from core.artifacts.signing.signed import SignedDocument, Signer
from core.ledger.hash_chain import Head
from core.platform.witness.errors import WitnessInvalid


@dataclass(frozen=True, slots=True)
class Acceptance:
    """A loss that an operator has reviewed and accepted; it no longer counts as a witness.

    Attributes:
        heads: Heads through which the chain does not pass.
        jobs: Jobs that published something which the database does not know.
    """

    heads: frozenset[Head] = frozenset()
    jobs: frozenset[UUID] = frozenset()

    def __or__(self, other: "Acceptance") -> "Acceptance":
        """Return the union."""
        return Acceptance(heads=self.heads | other.heads, jobs=self.jobs | other.jobs)


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
    """Return the ledger head that a verified document states.

    Raises:
        WitnessInvalid: the document states something else, or the head of another population.
    """
    try:
        if document["population_id"] != str(population_id):
            raise WitnessInvalid
        return Head(sequence=int(document["sequence"]), hash=bytes.fromhex(document["hash"]))
    except (KeyError, TypeError, ValueError):
        raise WitnessInvalid from None


def signed_publication(
    signer: Signer,
    population_id: UUID,
    job_id: UUID,
    spent: Head,
    *,
    at: datetime,
    content_sha256: str | None = None,
) -> SignedDocument:
    """Sign that the output of a job is published, and which entry of the ledger paid for it.

    Args:
        content_sha256: of what was made of rows and noise; None where that is not known any more.
    """
    content = {} if content_sha256 is None else {"content_sha256": content_sha256}
    document = content | {
        "population_id": str(population_id),
        "job_id": str(job_id),
        "sequence": spent.sequence,
        "hash": spent.hash.hex(),
        "at": _text(at),
    }
    return signer.sign(document, context=PUBLICATION)


def signed_acceptance(
    signer: Signer, population_id: UUID, head: Head, accepted: Acceptance, *, at: datetime
) -> SignedDocument:
    """Sign that an operator accepts the ledger that ends at `head` as the true one."""
    heads = sorted(accepted.heads, key=lambda each: (each.sequence, each.hash))
    document = {
        "population_id": str(population_id),
        "sequence": head.sequence,
        "hash": head.hash.hex(),
        "heads": [{"sequence": each.sequence, "hash": each.hash.hex()} for each in heads],
        "jobs": sorted(str(job_id) for job_id in accepted.jobs),
        "at": _text(at),
    }
    return signer.sign(document, context=LEDGER_ACCEPTANCE)


def acceptance_of(document: Mapping[str, Any], population_id: UUID) -> Acceptance:
    """Return the acceptance that a verified document states.

    Raises:
        WitnessInvalid: the document states something else, or the acceptance of another population's ledger.
    """
    try:
        if document["population_id"] != str(population_id):
            raise WitnessInvalid
        heads = [
            Head(sequence=each["sequence"], hash=bytes.fromhex(each["hash"])) for each in document["heads"]
        ]
        return Acceptance(heads=frozenset(heads), jobs=frozenset(map(UUID, document["jobs"])))
    except (KeyError, TypeError, ValueError, AttributeError):
        raise WitnessInvalid from None


def signed_audit_head(signer: Signer, head: Head, *, at: datetime) -> SignedDocument:
    """Sign the head of the audit log."""
    document = {"position": head.sequence, "hash": head.hash.hex(), "at": _text(at)}
    return signer.sign(document, context=AUDIT_HEAD)


def audit_head_of(document: Mapping[str, Any]) -> Head:
    """Return the audit head that a verified document states.

    Raises:
        WitnessInvalid: the document states something else.
    """
    try:
        return Head(sequence=int(document["position"]), hash=bytes.fromhex(document["hash"]))
    except (KeyError, TypeError, ValueError):
        raise WitnessInvalid from None


def _text(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="microseconds")
