"""The child process that helps a training to count.

It opens private rows under the claim of the training, which it reads again before every shard: once the claim is lost or
the job has ended, it counts no more. It picks a random shard whose counts are missing, counts it, and submits
its counts, sealed. It never claims, marks, spends or releases anything, so it may be started twice, die at any moment, or
never run.
"""

import secrets
from uuid import UUID

from core.data.objects import ObjectStore
from core.data.private_rows import PrivateShards
from core.db.session import Database
from core.plan.domain.table import TableDomain
from core.platform.settings import Settings
from models.counting.streamed import count_shard
from workers.assignment import read_assignment
from workers.outcomes import AttemptEnded, ExitCode, machinery, storage
from workers.process_limits import limit_memory
from workers.shared_counting import CountBoard


def help_counting(
    settings: Settings, *, database: Database, store: ObjectStore, job_id: UUID, fence: int
) -> int:
    """Count shards until none is missing. Returns how many.

    Args:
        settings: What the operator set.
        database: Where the claim is.
        store: Where rows and counts are.
        job_id: The claimed job.
        fence: The claim's fence.

    Raises:
        AttemptEnded: The claim is lost, or database or object store do not answer.
    """
    shards: PrivateShards | None = None
    done = 0
    while True:
        with machinery():
            work = read_assignment(database, job_id=job_id, fence=fence, master_keys=settings.master_keys)
            board = CountBoard(store, job_id=job_id, fence=fence, randomness_key=work.randomness_key)
            asked = board.asked()
            missing = [] if asked is None else board.missing(asked)
        if asked is None or not missing:
            return done
        assert isinstance(work.domain, TableDomain), "only tables are counted"
        shard = secrets.choice(missing)
        with storage():
            if shards is None:
                shards = PrivateShards(store, *work.only_rows, work.domain, shard_bytes=asked.shard_bytes)
            if shards.cut != asked.cut:
                return done  # another version of this program cuts the rows otherwise: a record could be counted twice
            weights = board.weights(shard) if asked.weighted else None
            if asked.weighted and weights is None:
                return done
            counts = count_shard(shards.read(shard), work.domain, asked.questions, weights)
        with machinery():
            read_assignment(database, job_id=job_id, fence=fence, master_keys=settings.master_keys)
            board.put_counts(asked, shard, counts)
        done += 1


def run(settings: Settings, *, database: Database, store: ObjectStore, claimed: UUID, fence: int) -> None:
    """Make this process ready to open rows, and help (workers.runner.Work)."""
    limit_memory(settings.training_memory_bytes)
    try:
        help_counting(settings, database=database, store=store, job_id=claimed, fence=fence)
    except AttemptEnded:
        raise
    except Exception:  # noqa: BLE001 - rows may have had a part in it: no log says that it happened
        raise AttemptEnded(ExitCode.DATA) from None
