"""The heartbeat against a real database, and without one."""

import pytest

from core.db.session import Database
from core.db.tables import Job
from core.jobs import claims
from core.jobs.visible_progress import Edges
from workers.attempts import Heartbeat
from workers.child import Outcome


class Watch:
    def __init__(self):
        self.seconds = 0.0

    def __call__(self):
        return self.seconds


@pytest.fixture
def watch():
    return Watch()


def heartbeat(workshop, job_id, watch, *, database=None):
    claim, database = workshop.claim(job_id), database or workshop.database

    def renew(show_marks):
        with database.transaction() as session:
            return claims.heartbeat(
                session, claim, clock=workshop.clock, lease_seconds=60.0, show_marks=show_marks
            )

    return Heartbeat(
        renew,
        clock=workshop.clock,
        lease_seconds=60.0,
        edges=Edges(claimed_at=workshop.clock.now(), seconds=3600.0),
        monotonic=watch,
    )


def test_it_renews_the_lease(workshop, watch):
    job_id = workshop.order()
    beat = heartbeat(workshop, job_id, watch)
    before = workshop.job(job_id).lease_expires_at
    assert beat() is None
    assert workshop.job(job_id).lease_expires_at > before


def test_it_tells_of_a_cancel_request(workshop, watch):
    job_id = workshop.order()
    beat = heartbeat(workshop, job_id, watch)
    workshop.cancel(job_id)
    assert beat() is Outcome.CANCELLED


def test_it_tells_that_another_worker_took_over(workshop, watch):
    job_id = workshop.order()
    beat = heartbeat(workshop, job_id, watch)
    with workshop.database.transaction() as session:
        session.get_one(Job, job_id).fence += 1
    assert beat() is Outcome.LEASE_LOST


def test_a_database_that_is_away_is_waited_for_until_the_lease_has_run_out(workshop, watch):
    job_id = workshop.order()
    nowhere = Database("postgresql://nobody@127.0.0.1:1/none")
    beat = heartbeat(workshop, job_id, watch, database=nowhere)
    watch.seconds = 59.0
    assert beat() is None
    watch.seconds = 60.0
    assert beat() is Outcome.LEASE_LOST
