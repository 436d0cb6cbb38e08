"""Upkeep: `python -m workers.upkeep`. Repairs what a lost message, a dead worker or a restored backup broke.

| chore                     | when                       | what                                                            |
|---------------------------|----------------------------|-----------------------------------------------------------------|
| witness                   | start, every minute        | compares ledgers with their witnesses, notes decisions there    |
| resend, resend-reports    | every round                | ends leases of dead workers, sends again what waits without one |
| link                      | every round                | links new events into the chain of the audit log                |
| devices                   | every round                | moves jobs whose kind of device no live worker serves          |
| notify, erase             | every round                | sends notifications; finishes deletions                         |
| expire, uploads           | every minute               | ends requests, grants and uploads whose time is over            |
| sweep, forget             | every hour                 | sweeps after ended jobs; forgets old notifications              |
| orphans, audit, audit-log | start, every day           | removes orphaned objects, verifies the ledgers and the audit log |
| rounds                    | start, every day           | finds rounds of federations that a restored database forgot     |

Every chore is due at the start. Any number of upkeeps may run at once. `python -m workers.upkeep --alive` reports by its
exit status whether the one with this scratch folder is making rounds.
"""

import argparse
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence, Sized
from datetime import timedelta
from pathlib import Path
from typing import Final, NoReturn

from core import startup
from core.artifacts.reports.owner_orders import REPORTS
from core.clock import Clock, SystemClock
from core.crashes import leave_no_core
from core.data.objects import ObjectStore, open_store
from core.data.uploads.ending import sweep_uploads
from core.data.uploads.repository import UPLOADS
from core.db.session import UPKEEP_STATEMENT_SECONDS, Database
from core.jobs.endings import move_unserved
from core.jobs.leases import JOBS, is_dead, take_overdue
from core.jobs.queue import CeleryQueue, Queue
from core.jobs.turns import announce_all
from core.ledger.audit_log import link_waiting
from core.logs import configure_logs, get_logger
from core.platform.budget_requests.requests import expire_grants, expire_requests
from core.platform.deletion import finish_deletions
from core.platform.health.signs import HealthReporter, served_devices
from core.platform.notifications.dispatch import Dispatcher, Transport
from core.platform.notifications.mail import MailTransport, mail_server
from core.platform.notifications.repository import DELIVERIES
from core.platform.notifications.webhook import WebhookTransport
from core.platform.settings import Settings, read_settings
from core.platform.stored_objects import sweep_orphans, sweep_recent
from core.platform.witness.ledger_witness import LedgerWitness
from workers.ledger_audit import LedgerAudit
from workers.round_notes import mark_forgotten_rounds

startup.imported()

EXPIRE_SECONDS: Final = 60.0
SWEEP_SECONDS: Final = 3600.0
AUDIT_SECONDS: Final = 86400.0
_ROUNDS_MISSED: Final = 4
_SLACK_SECONDS: Final = 60.0
# An upload has as many parts as its size demands, and owner reports are their owners' alone. So metrics do not count the objects that these
# chores remove; the operator, who has the object store, finds them in the log.
_UNCOUNTED: Final = frozenset({"uploads", "orphans"})


class Upkeep:
    """The chores and when each is due.

    Args:
        queue: Where waiting jobs are announced.
        clock: Judges leases.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        database: Database,
        store: ObjectStore,
        queue: Queue,
        clock: Clock,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._database = database
        self._store = store
        self._queue = queue
        self._clock = clock
        self._monotonic = monotonic
        dispatcher = _dispatcher_of(settings, database=database, clock=clock)
        audit = LedgerAudit.of(settings, database=database, store=store, clock=clock)
        witness = LedgerWitness.of(settings, database=database, store=store, clock=clock)
        self._chores: dict[str, tuple[float, Callable[[], object]]] = {
            # The first two, so that a restored database is found before any of its jobs is continued.
            "witness": (EXPIRE_SECONDS, witness.note_decisions),
            "rounds": (
                AUDIT_SECONDS,
                lambda: mark_forgotten_rounds(settings, database=database, store=store),
            ),
            "devices": (0.0, self.move_unserved),
            "resend": (0.0, self.resend),
            "resend-reports": (0.0, self.resend_reports),
            "expire": (EXPIRE_SECONDS, self.expire),
            "sweep": (SWEEP_SECONDS, lambda: sweep_recent(database, store, clock=clock)),
            "link": (0.0, lambda: link_waiting(database)),
            "notify": (0.0, dispatcher.round),
            "forget": (SWEEP_SECONDS, dispatcher.forget),
            "orphans": (AUDIT_SECONDS, lambda: sweep_orphans(database, store, clock=clock)),
            "uploads": (EXPIRE_SECONDS, lambda: sweep_uploads(database, store, clock=clock)),
            "erase": (0.0, lambda: finish_deletions(database, store, clock=clock)),
            "audit": (AUDIT_SECONDS, audit.ledgers),
            "audit-log": (AUDIT_SECONDS, audit.audit_log),
        }
        self._done_at: dict[str, float] = {}
        self._health = HealthReporter(database, clock=clock, role="upkeep")

    def resend(self) -> int:
        """End the leases of dead processes, and send jobs again that wait without a live worker. Returns how many jobs.

        An upload is claimed again by its client's next request, a delivery by the next round.
        """
        now, seconds = self._clock.now(), self._settings.lease_seconds
        with self._database.transaction() as session:
            UPLOADS.end_dead(session, now=now, is_dead=is_dead)
            DELIVERIES.end_dead(session, now=now, is_dead=is_dead)
            waiting = take_overdue(session, JOBS, now=now, resend_seconds=seconds, is_dead=is_dead)
        for job_id in waiting:
            get_logger().info("sent-again", job_id=str(job_id))
        with self._database.read_only() as session:
            announce_all(session, self._queue, waiting)
        return len(waiting)

    def move_unserved(self) -> int:
        """Move jobs without a private step to the kind of device that live workers serve. Returns how many."""
        now = self._clock.now()
        with self._database.transaction() as session:
            served = served_devices(session, at=now)
            moved = move_unserved(session, served=served, now=now, queue=self._queue)
        for job_id in moved:
            get_logger().info("moved-to-served-device", job_id=str(job_id))
        return len(moved)

    def resend_reports(self) -> None:
        """Send owner reports again that wait without a worker. Their number is private to their owners, so nothing counts them."""
        now, seconds = self._clock.now(), self._settings.lease_seconds
        with self._database.transaction() as session:
            waiting = take_overdue(session, REPORTS, now=now, resend_seconds=seconds, is_dead=is_dead)
        for report_id in waiting:
            self._queue.enqueue_report(report_id)

    def expire(self) -> int:
        """End budget requests and grants whose time is over. Returns how many."""
        with self._database.transaction() as session:
            expired = expire_requests(session, clock=self._clock)
        with self._database.transaction() as session:
            return expired + expire_grants(session, clock=self._clock)

    def round(self) -> None:
        """Do every chore that is due. One that fails is logged and tried again in the next round."""
        for name, (interval, chore) in self._chores.items():
            now = self._monotonic()
            if name in self._done_at and now - self._done_at[name] < interval:
                continue
            try:
                handled = _handled(chore())
            except Exception:  # noqa: BLE001 - upkeep must survive the failures that it repairs
                get_logger().error("chore-failed", chore=name, exc_info=True)
                self._health.chore(name, seconds=self._monotonic() - now, handled=None)
            else:
                self._done_at[name] = now
                if handled:
                    get_logger().info("chore-done", chore=name, handled=handled)
                shown = 0 if name in _UNCOUNTED else handled
                self._health.chore(name, seconds=self._monotonic() - now, handled=shown)
        self._health.sign()
        sign_of_life(self._settings).touch()

    def run(self) -> NoReturn:
        """Make rounds until the process is asked to stop; every chore can be interrupted at any moment."""
        while True:
            self.round()
            time.sleep(self._settings.upkeep_seconds)


def _dispatcher_of(settings: Settings, *, database: Database, clock: Clock) -> Dispatcher:
    """The dispatcher of notifications that the settings describe."""
    transports: dict[str, Transport] = {
        "webhook": WebhookTransport(
            networks=settings.notify_networks, plain_allowed=settings.mode == "embedded"
        )
    }
    server = mail_server(settings)
    if server is not None:
        transports["email"] = MailTransport(server)
    return Dispatcher(
        database,
        master_keys=settings.master_keys,
        clock=clock,
        transports=transports,
        entropy=os.urandom,
        digest=timedelta(minutes=settings.notify_digest_minutes),
        retention=timedelta(days=settings.notification_days),
    )


def _handled(done: object) -> int:
    """Number of objects that a chore repaired or examined, from its return value."""
    if isinstance(done, int):
        return int(done)
    return len(done) if isinstance(done, Sized) else 0


def sign_of_life(settings: Settings) -> Path:
    """The empty file whose modification time is the end of the last round."""
    return settings.scratch_folder / "upkeep.alive"


def is_alive(settings: Settings) -> bool:
    """Whether a round ended recently."""
    try:
        age = time.time() - sign_of_life(settings).stat().st_mtime
    except FileNotFoundError:
        return False
    return age < _ROUNDS_MISSED * settings.upkeep_seconds + _SLACK_SECONDS


def main(words: Sequence[str]) -> int:
    """Run upkeep, or check whether it runs. Returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="workers.upkeep", description="Keeps jobs moving and ledgers honest."
    )
    parser.add_argument("--alive", action="store_true", help="only report whether upkeep makes its rounds")
    arguments = parser.parse_args(words)
    settings = read_settings()
    if arguments.alive:
        return 0 if is_alive(settings) else 1
    leave_no_core()
    configure_logs(role="upkeep")
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(0))
    settings.scratch_folder.mkdir(parents=True, exist_ok=True)
    upkeep = Upkeep(
        settings,
        database=Database(
            settings.database_url, pool_size=1, max_overflow=1, statement_seconds=UPKEEP_STATEMENT_SECONDS
        ),
        store=open_store(settings.storage_url),
        queue=CeleryQueue(settings.broker_url),
        clock=SystemClock(),
    )
    get_logger().info("upkeep-begins", pid=os.getpid())
    return upkeep.run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
