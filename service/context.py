"""Dependencies shared by endpoints: created once per process, injected into each request."""

from dataclasses import dataclass
from datetime import datetime

from anyio import Semaphore

from core.artifacts.asking.answer import OpenedCounts
from core.artifacts.sampling.samples import Samples
from core.clock import Clock
from core.data.objects import ObjectStore
from core.db.session import Database
from core.jobs.queue import Queue
from core.platform.access.directory import KeyDirectory
from core.platform.access.enrolments import Enrolments
from core.platform.access.keys import Entropy
from core.platform.access.sessions import BrowserSessions
from core.platform.access.sign_in_links import SignInLinks
from core.platform.access.throttle import LoginThrottle
from core.platform.settings import Settings
from core.platform.witness.ledger_witness import LedgerWitness
from service.auth.authenticator import Authenticator
from service.auth.provider_sign_in import ProviderSignIn
from service.caches import OpenedCache
from service.edge.concurrency import ConcurrencyLimit
from service.edge.rate_limit import RateLimits
from service.edge.request_counters import Recorder
from service.edge.streaming import Streams
from service.edge.watching import JobWatch
from service.planning.planner import Planner


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Authentication and rate limiting.

    Args:
        enrolments: Invitations of people, and the tokens with which they create their first key.
        links: Sign-in links of the embedded stack.
        provider: Sign-in of browsers at the identity provider; None where it is not configured.
    """

    keys: KeyDirectory
    enrolments: Enrolments
    sessions: BrowserSessions
    links: SignInLinks
    provider: ProviderSignIn | None
    throttle: LoginThrottle
    authenticator: Authenticator
    rates: RateLimits


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """Opened releases, and the bounded worker threads that sample rows from them and stream them."""

    samplers: OpenedCache[Samples]
    counts: OpenedCache[OpenedCounts]
    streams: Streams


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Concurrency limits per kind of request.

    Args:
        uploads: Uploads sent in one request.
        intakes: Multipart uploads whose rows are being ingested.
        states: States of federations that are being handed in; the share is a member's.
        transactions: Requests that hold a transaction across threads.
    """

    uploads: ConcurrencyLimit
    intakes: ConcurrencyLimit
    states: ConcurrencyLimit
    transactions: Semaphore


@dataclass(frozen=True, slots=True, kw_only=True)
class AppContext:
    """The dependencies of one API process.

    Args:
        queue: Announces jobs to workers after the commit.
        witness: Compares ledgers with their heads recorded outside the database.
        planner: Makes plans and quotes: pure, cached, with bounded concurrency.
        recorder: Counts responses of this process and refusals by the ledger.
    """

    settings: Settings
    clock: Clock
    started_at: datetime
    entropy: Entropy
    database: Database
    queue: Queue
    store: ObjectStore
    witness: LedgerWitness
    planner: Planner
    job_watch: JobWatch
    recorder: Recorder
    access: Access
    sampling: Sampling
    limits: Limits
