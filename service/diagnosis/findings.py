"""The doctor's catalogue of findings: stable code, severity, problem and remedy.

docs/operations.md lists them; a test compares the two.
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
        "Set it. The documentation lists all settings under Reference, Settings.",
    ),
    "secret-weak": Entry(
        "settings",
        "problem",
        "A secret is guessable or publicly known: {which}.",
        "Generate new secrets (openssl rand -hex 32) and rotate everything sealed or signed with the old ones.",
    ),
    "database-away": Entry(
        "database",
        "problem",
        "Postgres does not respond.",
        "Start Postgres. Check UNDERSTUDY_DATABASE_URL, the password, the network and the database disk.",
    ),
    "schema-behind": Entry(
        "migrations",
        "problem",
        "The database is at migration {at}; this software requires {needed}.",
        "Run `python -m migrations.upgrade`. The previous release can keep running meanwhile.",
    ),
    "schema-too-old": Entry(
        "migrations",
        "problem",
        "The database is at migration {at}, from which this software cannot upgrade.",
        "Upgrade first with the last commit that has this migration: `python -m migrations.upgrade` prints how to find it.",
    ),
    "schema-ahead": Entry(
        "migrations",
        "problem",
        "The database is at migration {at}, which is unknown to this software.",
        "Run the release that created it, or a newer one. Never downgrade a database that has been in use.",
    ),
    "broker-away": Entry(
        "broker",
        "problem",
        "Redis does not respond.",
        "Start Redis and check UNDERSTUDY_BROKER_URL. Orders are safe: upkeep announces waiting jobs again once Redis is back.",
    ),
    "storage-away": Entry(
        "storage",
        "problem",
        "Writing, reading back and removing a test object failed.",
        "Check UNDERSTUDY_STORAGE_URL, its keys, the existence of the bucket or folder, and its free space.",
    ),
    "disk-full": Entry(
        "disk",
        "problem",
        "The disk of {which} has {free_megabytes} MB left.",
        "Free or add disk space now: uploads and checkpoints fail without it.",
    ),
    "disk-low": Entry(
        "disk",
        "warning",
        "The disk of {which} has {free_megabytes} MB left.",
        "Free or add disk space: a single upload may need several GB.",
    ),
    "worker-none": Entry(
        "workers",
        "problem",
        "No recent heartbeat from any worker.",
        "Start a worker (`docker compose --profile cpu up`) or read its log. Jobs wait; nothing is lost.",
    ),
    "reports-none": Entry(
        "workers",
        "problem",
        "No recent heartbeat from a worker of the queue `reports`.",
        "Start one (`docker compose --profile cpu up`, or a worker with `--queues reports`). Owner reports and utility reports"
        " wait; nothing is lost.",
    ),
    "worker-silent": Entry(
        "workers",
        "warning",
        "No heartbeat from {which} for {seconds} s.",
        "If it was stopped on purpose, this finding disappears within an hour. Otherwise read its log and restart it.",
    ),
    "upkeep-silent": Entry(
        "upkeep",
        "problem",
        "No recent heartbeat from upkeep.",
        "Start upkeep: without it, lost messages, expired leases and broken ledgers go unnoticed.",
    ),
    "chore-failing": Entry(
        "upkeep",
        "problem",
        "The upkeep task {which} is failing.",
        "The upkeep log names the error class under `chore-failed`. The task is retried every round.",
    ),
    "queue-unserved": Entry(
        "queue",
        "problem",
        "No live worker serves the queue {which}, on which {jobs} jobs wait or have begun.",
        "Start a worker with `--queues {which}`, on a machine with a GPU for `train.gpu`. A job that has begun stays on its kind of device;"
        " a cancelled one is charged for the steps it began.",
    ),
    "queue-stuck": Entry(
        "queue",
        "problem",
        "Queued jobs: {waiting}. The oldest has waited {minutes} minutes, and no job is running.",
        "See the findings on workers, broker and upkeep. Jobs of a frozen dataset wait until it is unfrozen.",
    ),
    "leases-expired": Entry(
        "queue",
        "warning",
        "Running jobs that have lost their worker: {which}.",
        "Upkeep requeues them within one lease period. If this persists, see the findings on workers and upkeep.",
    ),
    "clock-skewed": Entry(
        "clock",
        "problem",
        "The clocks of this machine and the database differ by {seconds} s.",
        "Synchronise both clocks (NTP): leases, grants and sessions depend on them.",
    ),
    "ledger-broken": Entry(
        "ledger",
        "problem",
        "The ledger of population {which} does not verify from entry {entry} on.",
        "Release nothing more from it. Compare it with backups and the external witness: docs/operations.md, Restore.",
    ),
    "ledger-behind": Entry(
        "ledger",
        "problem",
        "The ledger of population {which} does not match the heads recorded outside the database: {problem}.",
        "A backup was restored or entries were removed, so no order is admitted. Follow docs/operations.md, Restore.",
    ),
    "ledger-unverified": Entry(
        "ledger",
        "note",
        "Ledgers that are too long to be verified on request: {which}.",
        "Upkeep verifies all of them daily. Run `python -m workers.ledger_audit` to verify them now.",
    ),
    "dataset-frozen": Entry(
        "ledger",
        "note",
        "Frozen budgets: {which}. Their datasets accept no orders.",
        "The audit log shows who froze them and why. An admin can unfreeze them.",
    ),
    "witness-none": Entry(
        "ledger",
        "warning",
        "Ledger heads are not recorded outside this machine.",
        "Set UNDERSTUDY_WITNESS_URL: without it, anyone who restores database and objects together can hide spent budget.",
    ),
    "witness-away": Entry(
        "ledger",
        "problem",
        "A witness store for ledger heads does not respond.",
        "Check UNDERSTUDY_WITNESS_URL, its keys and the network: no training reads rows before its spend is recorded there.",
    ),
    "mail-away": Entry(
        "notifications",
        "problem",
        "The mail server does not work with the current settings.",
        "Check UNDERSTUDY_SMTP_HOST, _PORT, _SECURITY, _USER and the password. Messages are kept and retried.",
    ),
    "endpoints-paused": Entry(
        "notifications",
        "note",
        "Paused notification endpoints: {which}.",
        "Their owners can see the reason and resume them. Many at once suggest a problem with outbound network access.",
    ),
    "metrics-off": Entry(
        "metrics",
        "note",
        "Nobody can read /metrics.",
        "Set UNDERSTUDY_METRICS_TOKEN and configure Prometheus to send it.",
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One problem or note for the operator: its code in the catalogue, and the public facts that the message mentions."""

    code: str
    facts: Mapping[str, str | int]

    @property
    def entry(self) -> Entry:
        """Its catalogue entry."""
        return CATALOGUE[self.code]

    @property
    def detail(self) -> str:
        """The problem, as a sentence."""
        return self.entry.detail.format(**self.facts)

    @property
    def remedy(self) -> str:
        """Advice to the operator."""
        return self.entry.remedy.format(**self.facts)


def finding(code: str, **facts: str | int) -> Finding:
    """Create a finding."""
    return Finding(code=code, facts=facts)
