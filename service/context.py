"""Everything an endpoint can reach, made once per process and injected."""

from dataclasses import dataclass

from anyio import Semaphore

from core.access.directory import KeyDirectory
from core.access.enrolments import Enrolments
from core.access.keys import Entropy
from core.access.sessions import BrowserSessions
from core.access.throttle import LoginThrottle
from core.asking.answer import OpenedCounts
from core.clock import Clock
from core.db.session import Database
from core.jobs.queue import Queue
from core.releases.samples import Samples
from core.settings import Settings
from core.storage.objects import ObjectStore
from core.witness.keeping import LedgerWitness
from service.auth.authenticator import Authenticator
from service.edge.concurrency import ConcurrencyLimit
from service.edge.rate_limit import RateLimits
from service.jobs.watching import JobWatch
from service.metrics.recording import Recorder
from service.quotes.planner import Planner
from service.releases.opened import OpenedCache
from service.releases.streaming import Streams


@dataclass(frozen=True, slots=True, kw_only=True)
class AppContext:
    """The parts of one API process.

    Args:
        settings: What the operator set.
        database: Where transactions come from.
        queue: Where trainings are announced after a commit.
        store: Where sealed objects lie.
        witness: Holds ledgers against what was noted of them outside the database.
        clock: Tells the time.
        entropy: Random bytes of the operating system.
        keys: The directory of API keys.
        enrolments: People, and the tokens with which they make their first key.
        sessions: The sessions of browsers.
        throttle: How long failed logins wait.
        authenticator: Recognises whoever asks.
        rates: How often each key may ask.
        job_watch: Shows jobs, once or for as long as somebody watches.
        planner: Makes plans; pure, cached, a few at a time.
        samplers: Opened generators.
        counts: Opened noisy counts.
        streams: The bounded room in which samples are drawn.
        uploads: How many uploads run at once.
        intakes: How many uploads in parts are taken in at once.
        transactions: How many requests hold a transaction across threads at once.
        recorder: Counts what this process answers and the ledger refuses.
    """

    settings: Settings
    database: Database
    queue: Queue
    store: ObjectStore
    witness: LedgerWitness
    clock: Clock
    entropy: Entropy
    keys: KeyDirectory
    enrolments: Enrolments
    sessions: BrowserSessions
    throttle: LoginThrottle
    authenticator: Authenticator
    rates: RateLimits
    job_watch: JobWatch
    planner: Planner
    samplers: OpenedCache[Samples]
    counts: OpenedCache[OpenedCounts]
    streams: Streams
    uploads: ConcurrencyLimit
    intakes: ConcurrencyLimit
    transactions: Semaphore
    recorder: Recorder
