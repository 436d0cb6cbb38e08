"""Whose turn it is when a worker is free, and when a running job makes room."""

from uuid import uuid4

from core.db.tables import Job
from core.jobs.turns import announce, announce_all, next_in_turn, should_make_room
from core.ledger import governance
from tests.core.jobs.support import plan


def serve(desk, *, without=(), reports=False):
    """Claim whatever is next, as a free worker does."""
    with desk.database.read_only() as session:
        job_id = next_in_turn(session, now=desk.clock.now(), reports=reports, without=without)
    return None if job_id is None else desk.claim(job_id)


def order(desk, person, count=1):
    jobs = []
    for _ in range(count):
        desk.clock.advance(seconds=1)
        jobs.append(desk.order(plan(0.1), by=person))
    return jobs


def test_the_one_job_of_the_second_person_runs_second(desk):
    ada, ben = uuid4(), uuid4()
    backlog = order(desk, ada, 20)
    [single] = order(desk, ben)
    served = []
    for _ in range(4):
        claim = serve(desk)
        served.append(claim.job_id)
        desk.finish(claim)
    assert served == [backlog[0], single, *backlog[1:3]]


def test_two_backlogs_alternate_and_a_third_person_comes_in_at_once(desk):
    ada, ben, cleo = uuid4(), uuid4(), uuid4()
    order(desk, ada, 3)
    order(desk, ben, 3)
    served = []
    for turn in range(5):
        if turn == 3:
            order(desk, cleo)
        desk.clock.advance(seconds=10)
        claim = serve(desk)
        served.append(claim.ordered_by)
        desk.finish(claim)
    assert served == [ada, ben, ada, cleo, ben]


def test_a_second_worker_goes_to_who_has_none(desk):
    ada, ben = uuid4(), uuid4()
    order(desk, ada, 3)
    assert serve(desk).ordered_by == ada
    assert serve(desk).ordered_by == ada, "nobody else waits"
    order(desk, ben, 2)
    assert [serve(desk).ordered_by for _ in range(3)] == [ben, ben, ada]
    assert serve(desk) is None


def test_a_job_that_was_handed_back_waits_for_its_next_turn(desk):
    ada, ben = uuid4(), uuid4()
    [long] = order(desk, ada)
    first = serve(desk)
    [short] = order(desk, ben)
    desk.hand_back(first)
    second = serve(desk)
    assert (first.job_id, second.job_id) == (long, short)
    desk.clock.advance(seconds=1)
    desk.hand_back(second)
    assert serve(desk).job_id == long, "who was served the longest ago"


def test_a_silent_workers_job_has_a_turn_and_a_frozen_one_stands_in_nobodys_way(desk):
    ada, ben = uuid4(), uuid4()
    [job_id] = order(desk, ada)
    desk.claimed(job_id)
    order(desk, ben)
    with desk.database.transaction() as session:
        governance.freeze(session, desk.population, by="admin", reason="an investigation", clock=desk.clock)
    assert serve(desk) is None
    desk.lease_runs_out()
    assert serve(desk).job_id == job_id, "it has spent before the freeze"


def test_what_could_not_be_claimed_is_left_out(desk):
    [one, other] = order(desk, uuid4(), 2)
    assert serve(desk, without=[one]).job_id == other
    assert serve(desk, without=[one]) is None


def test_room_is_made_for_whoever_has_fewer_jobs_running(desk):
    ada, ben = uuid4(), uuid4()

    def ada_makes_room():
        with desk.database.read_only() as session:
            return should_make_room(session, ada, now=desk.clock.now())

    order(desk, ada, 2)
    serve(desk)
    assert not ada_makes_room(), "only jobs of the same person wait"
    order(desk, ben, 2)
    assert ada_makes_room()
    assert serve(desk).ordered_by == ben
    assert not ada_makes_room(), "each has one"


def as_report(desk, job_id):
    """What tells a utility report from a training in the stored plan."""
    with desk.database.transaction() as session:
        job = session.get_one(Job, job_id)
        job.plan = job.plan | {"kind": "report"}
        announce(desk.queue, job_id, job.plan, job.device)


def test_a_report_waits_for_no_training_and_no_training_for_a_report(desk):
    ada = uuid4()
    training, report, later = order(desk, ada, 3)
    as_report(desk, report)
    assert desk.queue.sent_measurings == [report]
    with desk.database.read_only() as session:
        announce_all(session, desk.queue, [training, report])
        assert desk.queue.sent_measurings == [report, report]
        now = desk.clock.now()
        assert next_in_turn(session, now=now, reports=True) == report
        assert next_in_turn(session, now=now, reports=True, without={report}) is None
    assert [serve(desk).job_id, serve(desk).job_id] == [training, later]
    assert serve(desk) is None
