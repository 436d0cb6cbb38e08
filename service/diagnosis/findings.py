"""What the doctor can find: a stable code, how grave it is, what is wrong and what to do.

docs/operations.md lists them; a test compares.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

Grade = Literal["problem", "warning", "note"]


class Entry(NamedTuple):
    """One row of the catalogue."""

    part: str
    grade: Grade
    detail: str
    remedy: str


CATALOGUE: Final[Mapping[str, Entry]] = {
    "settings-invalid": Entry(
        "settings",
        "problem",
        "A setting is missing or malformed: {which}.",
        "Set it; the documentation lists every setting under Reference, Settings.",
    ),
    "secret-weak": Entry(
        "settings",
        "problem",
        "A secret can be guessed or is known: {which}.",
        "Make new ones (openssl rand -hex 32), and rotate what was sealed or signed with the old.",
    ),
    "database-away": Entry(
        "database",
        "problem",
        "Postgres does not answer.",
        "Start it; check UNDERSTUDY_DATABASE_URL, its password, the network and the disk of the database.",
    ),
    "schema-behind": Entry(
        "migrations",
        "problem",
        "The database is at migration {at}, this software needs {needed}.",
        "Run `python -m migrations.upgrade`; the previous release may go on meanwhile.",
    ),
    "schema-ahead": Entry(
        "migrations",
        "problem",
        "The database is at migration {at}, which this software does not know.",
        "Run the release that made it, or a newer one; never downgrade a database that has served.",
    ),
    "broker-away": Entry(
        "broker",
        "problem",
        "Redis does not answer.",
        "Start it; check UNDERSTUDY_BROKER_URL. Orders are safe: upkeep sends waiting jobs again once it is back.",
    ),
    "storage-away": Entry(
        "storage",
        "problem",
        "An object cannot be written, read back and removed.",
        "Check UNDERSTUDY_STORAGE_URL, its keys, that the bucket or folder exists, and its free space.",
    ),
    "disk-full": Entry(
        "disk",
        "problem",
        "The disk of {which} has {free_megabytes} MB left.",
        "Free or add space now: uploads and checkpoints fail without it.",
    ),
    "disk-low": Entry(
        "disk",
        "warning",
        "The disk of {which} has {free_megabytes} MB left.",
        "Free or add space; one upload may need several GB.",
    ),
    "worker-none": Entry(
        "workers",
        "problem",
        "No worker has given a sign of life lately.",
        "Start one (`docker compose --profile cpu up`), or read its log; jobs wait and nothing is lost.",
    ),
    "worker-silent": Entry(
        "workers",
        "warning",
        "{which} has been silent for {seconds} s.",
        "If it was stopped on purpose this goes away within the hour; else read its log and start it again.",
    ),
    "upkeep-silent": Entry(
        "upkeep",
        "problem",
        "Upkeep has given no sign of life lately.",
        "Start it: without it lost messages, expired leases and broken ledgers stay unnoticed.",
    ),
    "chore-failing": Entry(
        "upkeep",
        "problem",
        "Upkeep's chore {which} fails.",
        "Its log names the class of the error under `chore-failed`; it is tried again every round.",
    ),
    "queue-stuck": Entry(
        "queue",
        "problem",
        "The oldest of {waiting} waiting jobs has waited {minutes} minutes, and nothing runs.",
        "See the findings on workers, broker and upkeep; a job of a frozen dataset waits until it is unfrozen.",
    ),
    "leases-expired": Entry(
        "queue",
        "warning",
        "{which} running jobs have lost their worker.",
        "Upkeep hands them to another within a lease; if this stays, see the findings on workers and upkeep.",
    ),
    "clock-skewed": Entry(
        "clock",
        "problem",
        "This machine's clock is {seconds} s away from the database's.",
        "Synchronise both (NTP): leases, grants and sessions end by the clock.",
    ),
    "ledger-broken": Entry(
        "ledger",
        "problem",
        "The ledger of population {which} does not verify from entry {entry} on.",
        "Release nothing more from it. Compare with backups and the outside witness: docs/operations.md, Restore.",
    ),
    "ledger-behind": Entry(
        "ledger",
        "problem",
        "The ledger of population {which} lacks what was noted outside the database: {problem}.",
        "A backup was restored, or entries were removed: nothing is admitted. docs/operations.md, Restore, says what to do.",
    ),
    "ledger-unverified": Entry(
        "ledger",
        "note",
        "{which} ledgers are too long to be verified on request.",
        "Upkeep verifies all of them every day; `python -m workers.ledger_audit` does it now.",
    ),
    "dataset-frozen": Entry(
        "ledger",
        "note",
        "{which} budgets are frozen: their datasets take no order.",
        "The audit log says who froze them and why; an admin unfreezes.",
    ),
    "witness-none": Entry(
        "ledger",
        "warning",
        "No second place outside this machine keeps the heads of the ledgers.",
        "Set UNDERSTUDY_WITNESS_URL: else who restores database and objects together can hide what was spent.",
    ),
    "witness-away": Entry(
        "ledger",
        "problem",
        "A place where heads of ledgers are noted does not answer.",
        "Check UNDERSTUDY_WITNESS_URL, its keys and the way there: no training opens rows before its spend is noted.",
    ),
    "mail-away": Entry(
        "notifications",
        "problem",
        "The mail server cannot be used as the settings say.",
        "Check UNDERSTUDY_SMTP_HOST, _PORT, _SECURITY, _USER and the password; messages wait and are tried again.",
    ),
    "endpoints-paused": Entry(
        "notifications",
        "note",
        "{which} endpoints for notifications are paused.",
        "Their owners see why and resume them; many at once point to this machine's way out to the network.",
    ),
    "metrics-off": Entry(
        "metrics",
        "note",
        "Nobody can read /metrics.",
        "Set UNDERSTUDY_METRICS_TOKEN and let Prometheus send it.",
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong, or that an operator should know.

    Args:
        code: Stable, from the catalogue.
        facts: Public facts, which the sentence names.
    """

    code: str
    facts: Mapping[str, str | int]

    @property
    def entry(self) -> Entry:
        """Its row of the catalogue."""
        return CATALOGUE[self.code]

    @property
    def detail(self) -> str:
        """What is wrong, in a sentence."""
        return self.entry.detail.format(**self.facts)


def finding(code: str, **facts: str | int) -> Finding:
    """Make a finding."""
    return Finding(code=code, facts=facts)
