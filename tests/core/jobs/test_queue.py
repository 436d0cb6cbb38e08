import json
import time
from uuid import uuid4

import pytest
import redis

from core.db.session import on_commit
from core.jobs.leases import JOBS, take_overdue
from core.jobs.queue import CeleryQueue, Queue, broker_transport_options
from tests.core.jobs.support import Desk
from tests.memory_queue import MemoryQueue


@pytest.fixture
def celery_queue(broker_url):
    queue = CeleryQueue(broker_url)
    yield queue
    queue.close()


def messages(redis_server, queue="celery"):
    with redis.Redis(unix_socket_path=str(redis_server.socket_path)) as client:
        return [json.loads(raw) for raw in client.lrange(queue, 0, -1)]


def test_a_message_names_the_task_and_the_job(celery_queue, redis_server):
    job_id = uuid4()
    celery_queue.enqueue_training(job_id)
    (message,) = messages(redis_server)
    assert message["headers"]["task"] == "understudy.train"
    assert message["headers"]["ignore_result"] is True
    assert str(job_id) in message["headers"]["argsrepr"]


def test_both_kinds_of_report_wait_where_no_training_does(celery_queue, redis_server):
    measured, compared = uuid4(), uuid4()
    celery_queue.enqueue_measuring(measured)
    celery_queue.enqueue_report(compared)
    assert messages(redis_server) == []
    waiting = {
        message["headers"]["task"]: message["headers"]["argsrepr"]
        for message in messages(redis_server, "reports")
    }
    assert str(measured) in waiting["understudy.measure"]
    assert str(compared) in waiting["understudy.report"]


@pytest.mark.parametrize(
    "url", ["redis://127.0.0.1:1/0", "redis+socket:///nowhere/redis.sock", "redis://name.invalid:6379/0"]
)
def test_a_broker_that_is_away_neither_raises_nor_hangs(url):
    queue = CeleryQueue(url)
    begun = time.monotonic()
    queue.enqueue_training(uuid4())
    assert time.monotonic() - begun < 100, "a hang would last for ever"
    queue.close()


def test_an_order_stands_when_the_broker_is_away(database, desk):
    queue = CeleryQueue("redis+socket:///nowhere/redis.sock")
    offline = Desk(database=database, queue=queue, clock=desk.clock)
    job_id = offline.order()
    assert offline.job(job_id).state == "queued"
    offline.clock.advance(seconds=61)
    assert offline.overdue() == [job_id]
    queue.close()


def test_the_broker_comes_back(redis_server, broker_url):
    queue = CeleryQueue(broker_url)
    queue.enqueue_training(uuid4())
    with redis.Redis(unix_socket_path=str(redis_server.socket_path)) as client:
        client.client_kill_filter(skipme=True, _type="normal")
    queue.enqueue_training(uuid4())
    assert len(messages(redis_server)) == 2
    queue.close()


def test_twins_keep_the_same_promise():
    kept, job_id = MemoryQueue(), uuid4()
    twins: list[Queue] = [kept, CeleryQueue("memory://")]
    for twin in twins:
        twin.enqueue_training(job_id)
    assert kept.sent == [job_id]


def test_unacknowledged_messages_are_looked_for_often():
    options = broker_transport_options()
    assert options["unacked_restore_throttle"] == 1
    assert options["visibility_timeout"] >= 60


class TestOverdue:
    def test_a_fresh_message_is_given_time(self, desk):
        desk.order()
        desk.clock.advance(seconds=59)
        assert desk.overdue() == []

    def test_a_lost_message_is_sent_again_but_not_by_everybody(self, desk):
        job_id = desk.order()
        desk.clock.advance(seconds=61)
        assert desk.overdue() == [job_id]
        assert desk.overdue() == []
        desk.clock.advance(seconds=61)
        assert desk.overdue() == [job_id]

    def test_a_live_worker_is_left_alone_and_a_silent_one_is_not(self, desk):
        claim = desk.claimed(desk.order())
        desk.clock.advance(seconds=59)
        assert desk.overdue() == []
        desk.heartbeat(claim)
        desk.clock.advance(seconds=59)
        assert desk.overdue() == []
        desk.clock.advance(seconds=2)
        assert desk.overdue() == [claim.job_id]

    def test_ended_jobs_are_over(self, desk):
        desk.finish(desk.claimed(desk.order()))
        desk.cancel(desk.order())
        desk.clock.advance(seconds=3600)
        assert desk.overdue() == []

    def test_rows_that_somebody_works_on_are_skipped(self, desk):
        busy, free = desk.order(), desk.order()
        desk.clock.advance(seconds=61)
        with desk.database.transaction() as session:
            from core.jobs import repository

            repository.lock(session, busy)
            assert desk.overdue() == [free]

    def test_sending_happens_after_the_stamp_is_committed(self, desk):
        job_id = desk.order()
        desk.clock.advance(seconds=61)
        desk.queue.sent.clear()
        with desk.database.transaction() as session:
            now = desk.clock.now()
            for late in take_overdue(session, JOBS, now=now, resend_seconds=60, is_dead=lambda _: False):
                on_commit(session, lambda job_id=late: desk.queue.enqueue_training(job_id))
            assert desk.queue.sent == []
        assert desk.queue.sent == [job_id]


def test_a_dead_lease_owner_is_not_waited_for_and_a_live_or_unknown_one_is(desk):
    claims_of = {owner: desk.claimed(desk.order(), lease_owner=owner) for owner in ("dead", "alive", None)}
    desk.clock.advance(seconds=1)
    dead = claims_of["dead"].job_id
    assert desk.overdue(dead="dead") == [dead], "before its last message is old"
    assert desk.overdue(dead="dead") == [], "once"
    job = desk.job(dead)
    assert (job.state, job.lease_owner) == ("running", None)
    again = desk.claimed(dead, lease_owner="next")
    assert (again.fence, again.attempts) == (2, 2)
    for owner in ("alive", None):
        assert desk.claim(claims_of[owner].job_id) is None
    desk.finish(again)
    assert desk.job(dead).lease_owner is None
