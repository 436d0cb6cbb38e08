"""The child that helps a training to count: `python -m workers.counting_runner JOB_ID FENCE --parent PID`.

It opens private rows under the claim of the training, which it reads again before every shard: once the claim is lost or
the job has ended, it counts no more. It picks at random a shard that nobody has handed over, counts it, and hands its
counts over, sealed. It never claims, marks, spends or releases anything, so it may be started twice, die at any moment,
or never run. Like a training's child it says nothing but an exit code.
"""

import secrets
import sys
from collections.abc import Sequence
from contextlib import closing
from uuid import UUID

from core.db.session import Database
from core.domain.table import TableDomain
from core.settings import Settings
from core.storage.objects import ObjectStore, open_store
from core.storage.private_rows import PrivateShards
from models.counting.streamed import count_shard
from workers.assignment import read_assignment
from workers.attempt import AttemptEnded, machinery, storage
from workers.child import run_child
from workers.count_board import CountBoard
from workers.lifeline import limit_memory
from workers.outcomes import ExitCode


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
        AttemptEnded: The claim is lost, or a part does not answer.
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
                shards = PrivateShards(
                    store, work.rows_key, work.data_key, work.domain, shard_bytes=asked.shard_bytes
                )
            if shards.cut != asked.cut:
                return done  # another version of this program cuts otherwise: a record could be counted twice
            weights = board.weights(shard) if asked.weighted else None
            if asked.weighted and weights is None:
                return done
            counts = count_shard(shards.read(shard), work.domain, asked.questions, weights)
        with machinery():
            read_assignment(database, job_id=job_id, fence=fence, master_keys=settings.master_keys)
            board.put_counts(asked, shard, counts)
        done += 1


def run(settings: Settings, job_id: UUID, fence: int) -> None:
    """Make this process ready to open rows, and help.

    Args:
        settings: What the operator set.
        job_id: The claimed job.
        fence: The claim's fence.

    Raises:
        AttemptEnded: Why it helped no further.
    """
    limit_memory(settings.training_memory_bytes)
    with closing(Database(settings.database_url, pool_size=1, max_overflow=1)) as database:
        store = open_store(settings.storage_url)
        try:
            help_counting(settings, database=database, store=store, job_id=job_id, fence=fence)
        except AttemptEnded:
            raise
        except Exception:  # noqa: BLE001 - rows may have had a part in it: no log says that it happened
            raise AttemptEnded(ExitCode.DATA) from None


def main(words: Sequence[str]) -> ExitCode:
    """Help in this process, which is then of no further use.

    Args:
        words: The command line without the program.
    """
    return run_child(words, run, program="workers.counting_runner", claimed="job_id")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
