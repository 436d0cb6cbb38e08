import pytest

from core.jobs.endings import end, move
from core.jobs.errors import IllegalTransition, JobEnded, LeaseLost, NotCancelled
from core.jobs.states import ENDED, SUCCESSORS, Cause, JobState
from core.jobs.visible_progress import PARTS
from core.ledger.reservation import NOTHING, EntryKind
from tests.core.jobs.support import ATTEMPTS, STEPS, cost, plan


def stands(desk, job_id):
    reservation = desk.reservation(job_id)
    return desk.job(job_id).state, reservation.state, reservation.in_force


class TestFinish:
    def test_the_release_and_the_end_come_together(self, desk):
        claim = desk.claimed(desk.order())
        release = desk.finish(claim)
        job = desk.job(claim.job_id)
        assert stands(desk, claim.job_id) == ("succeeded", EntryKind.SPENT, cost(plan()))
        assert (release.job_id, release.dataset_id) == (claim.job_id, desk.dataset.id)
        assert (job.sealed_randomness_key, job.lease_expires_at) == (None, None)
        assert job.finished_at == desk.clock.now()

    def test_work_that_was_done_before_the_cancel_arrived_is_published(self, desk):
        claim = desk.claimed(desk.order())
        desk.cancel(claim.job_id)
        desk.finish(claim)
        assert stands(desk, claim.job_id) == ("succeeded", EntryKind.SPENT, cost(plan()))


class TestFail:
    def test_what_could_depend_on_rows_is_charged_in_full_under_one_code(self, desk):
        claim = desk.claimed(desk.order())
        desk.advance(claim, "train", 5)
        assert desk.fail(claim, code="row-17-is-odd", cause=Cause.ROWS) is JobState.FAILED
        assert stands(desk, claim.job_id) == ("failed", EntryKind.SPENT, cost(plan()))
        assert desk.job(claim.job_id).failure_code == "training-failed"

    def test_not_even_a_cancel_makes_that_cheaper(self, desk):
        claim = desk.claimed(desk.order())
        desk.cancel(claim.job_id)
        desk.fail(claim, cause=Cause.ROWS)
        assert stands(desk, claim.job_id) == ("failed", EntryKind.SPENT, cost(plan()))

    def test_the_machinery_gets_another_attempt(self, desk):
        claim = desk.claimed(desk.order())
        desk.queue.sent.clear()
        assert desk.fail(claim) is JobState.QUEUED
        assert desk.queue.sent == [claim.job_id]
        assert desk.job(claim.job_id).failure_code is None
        again = desk.claimed(claim.job_id)
        assert (again.fence, again.attempts) == (2, 2)
        assert desk.spends(claim.job_id) == 1

    def test_the_last_attempt_settles_what_had_begun(self, desk):
        job_id = desk.order()
        for steps in (12, 8, 4):
            claim = desk.claimed(job_id)
            desk.advance(claim, "train", steps)
            ended = desk.fail(claim)
        assert ended is JobState.FAILED
        assert claim.attempts == ATTEMPTS
        assert stands(desk, job_id) == ("failed", EntryKind.SETTLED, cost(plan(), 12))
        assert desk.job(job_id).failure_code == "infrastructure-failed"

    def test_a_cancelled_job_gets_no_other_attempt(self, desk):
        claim = desk.claimed(desk.order())
        desk.advance(claim, "train", 4)
        desk.cancel(claim.job_id)
        assert desk.fail(claim) is JobState.CANCELLED
        assert stands(desk, claim.job_id) == ("cancelled", EntryKind.SETTLED, cost(plan(), 4))


class TestHandBack:
    def test_a_stop_that_was_announced_costs_no_attempt(self, desk):
        job_id = desk.order()
        for fence in range(1, 3 * ATTEMPTS):
            claim = desk.claimed(job_id)
            assert (claim.fence, claim.attempts) == (fence, 1)
            desk.advance(claim, "pretrain", 1)
            desk.queue.sent.clear()
            assert desk.hand_back(claim) is JobState.QUEUED
            assert desk.queue.sent == [job_id]
        assert stands(desk, job_id) == ("queued", EntryKind.SPENT, cost(plan()))
        desk.finish(desk.claimed(job_id))
        assert desk.spends(job_id) == 1

    def test_it_takes_back_no_crash(self, desk):
        job_id = desk.order()
        for attempts in range(1, ATTEMPTS):
            assert desk.claimed(job_id).attempts == attempts
            desk.lease_runs_out()
            stopped = desk.claimed(job_id)
            assert stopped.attempts == attempts + 1
            desk.hand_back(stopped)
        desk.claimed(job_id)
        desk.lease_runs_out()
        assert desk.claim(job_id) is None
        assert desk.job(job_id).state == "failed"

    def test_a_cancelled_job_is_not_handed_back(self, desk):
        claim = desk.claimed(desk.order())
        desk.advance(claim, "train", 7)
        desk.cancel(claim.job_id)
        assert desk.hand_back(claim) is JobState.CANCELLED
        assert stands(desk, claim.job_id) == ("cancelled", EntryKind.SETTLED, cost(plan(), 7))

    def test_who_lost_the_lease_hands_nothing_back(self, desk):
        claim = desk.claimed(desk.order())
        desk.lease_runs_out()
        desk.claimed(claim.job_id)
        with pytest.raises(LeaseLost):
            desk.hand_back(claim)


class TestUnknownCause:
    def test_before_the_first_step_the_steps_are_not_charged(self, desk):
        job_id = desk.order()
        for _ in range(ATTEMPTS):
            claim = desk.claimed(job_id)
            desk.advance(claim, "pretrain", 1)
            ended = desk.fail(claim, cause=Cause.UNKNOWN)
        assert ended is JobState.FAILED
        assert stands(desk, job_id) == ("failed", EntryKind.SETTLED, cost(plan(), 0))
        assert desk.job(job_id).failure_code == "training-failed"
        assert 0 < cost(plan(), 0).epsilon_micros < cost(plan()).epsilon_micros

    def test_the_measurement_is_charged_though_no_mark_says_that_it_began(self, desk):
        job_id = desk.order()
        for _ in range(ATTEMPTS):
            desk.fail(desk.claimed(job_id), cause=Cause.UNKNOWN)
        assert stands(desk, job_id) == ("failed", EntryKind.SETTLED, cost(plan(), 0))

    def test_after_the_first_step_everything_is_charged(self, desk):
        job_id = desk.order()
        for _ in range(ATTEMPTS):
            claim = desk.claimed(job_id)
            desk.advance(claim, "train", 1)
            desk.fail(claim, cause=Cause.UNKNOWN)
        assert stands(desk, job_id) == ("failed", EntryKind.SPENT, cost(plan()))

    @pytest.mark.parametrize("died", [1, 2])
    def test_a_cancel_after_a_worker_died_gives_no_measurement_back(self, desk, died):
        """Or an order could learn for nothing how much memory the rows take: nothing is shown of it, so it is cancelled in time."""
        job_id = desk.order()
        for _ in range(died):
            desk.fail(desk.claimed(job_id), cause=Cause.UNKNOWN)
        assert desk.cancel(job_id) is JobState.CANCELLED
        assert stands(desk, job_id) == ("cancelled", EntryKind.SETTLED, cost(plan(), 0))

    def test_a_cancel_while_the_next_worker_runs_gives_none_back(self, desk):
        job_id = desk.order()
        desk.fail(desk.claimed(job_id), cause=Cause.UNKNOWN)
        claim = desk.claimed(job_id)
        desk.cancel(job_id)
        assert desk.stop(claim) == cost(plan(), 0)

    def test_nor_does_a_cancel_before_the_worker_dies(self, desk):
        claim = desk.claimed(desk.order())
        desk.cancel(claim.job_id)
        desk.fail(claim, cause=Cause.UNKNOWN)
        assert stands(desk, claim.job_id) == ("cancelled", EntryKind.SETTLED, cost(plan(), 0))

    def test_nor_after_a_worker_fell_silent(self, desk):
        claim = desk.claimed(desk.order())
        desk.lease_runs_out()
        desk.cancel(claim.job_id)
        assert stands(desk, claim.job_id) == ("cancelled", EntryKind.SETTLED, cost(plan(), 0))

    @pytest.mark.parametrize("anchor", [True, False])
    def test_nor_does_the_machinery_on_the_last_attempt(self, desk, anchor):
        """Workers that die of the rows, and then a database that is away, are no free question about memory."""
        job_id = desk.order(plan(anchor=anchor))
        for _ in range(ATTEMPTS - 1):
            claim = desk.claimed(job_id)
            desk.advance(claim, "measure", 0, 1)
            desk.fail(claim, cause=Cause.UNKNOWN)
        desk.fail(desk.claimed(job_id), cause=Cause.MACHINERY)
        least = cost(plan(anchor=anchor), 0 if anchor else STEPS // PARTS)
        assert least.epsilon_micros > 0
        assert stands(desk, job_id) == ("failed", EntryKind.SETTLED, least)

    def test_where_nothing_precedes_the_steps_they_are_charged(self, desk):
        whole = plan(anchor=False)
        job_id = desk.order(whole)
        desk.fail(desk.claimed(job_id), cause=Cause.UNKNOWN)
        desk.cancel(job_id)
        assert stands(desk, job_id) == ("cancelled", EntryKind.SETTLED, cost(whole))

    def test_a_worker_that_was_stopped_has_not_died(self, desk):
        job_id = desk.order()
        desk.hand_back(desk.claimed(job_id))
        desk.cancel(job_id)
        assert stands(desk, job_id) == ("cancelled", EntryKind.SETTLED, NOTHING)


class TestCancel:
    def test_in_the_queue_everything_is_given_back(self, desk):
        job_id = desk.order()
        assert desk.cancel(job_id) is JobState.CANCELLED
        assert stands(desk, job_id) == ("cancelled", EntryKind.VOIDED, NOTHING)
        assert desk.claim(job_id) is None

    def test_under_way_the_worker_is_asked_and_settles(self, desk):
        claim = desk.claimed(desk.order())
        desk.advance(claim, "train", 7)
        assert desk.cancel(claim.job_id) is JobState.RUNNING
        assert desk.reservation(claim.job_id).state is EntryKind.SPENT
        assert desk.stop(claim) == cost(plan(), 7)
        assert stands(desk, claim.job_id) == ("cancelled", EntryKind.SETTLED, cost(plan(), 7))
        assert desk.job(claim.job_id).sealed_randomness_key is None

    def test_before_the_first_mark_nothing_is_charged(self, desk):
        claim = desk.claimed(desk.order())
        desk.cancel(claim.job_id)
        assert desk.stop(claim) == NOTHING

    def test_after_the_first_mark_the_measurements_are_charged(self, desk):
        claim = desk.claimed(desk.order())
        desk.advance(claim, "measure", 0, 1)
        desk.cancel(claim.job_id)
        charged = desk.stop(claim)
        assert charged == cost(plan(), 0)
        assert charged.epsilon_micros > 0

    @pytest.mark.parametrize("handed_back", [False, True])
    def test_without_measurements_a_plan_costs_its_first_part_once_rows_are_opened(self, desk, handed_back):
        """Or a cancel at a chosen time would show for nothing whether the rows were read by then."""
        claim = desk.claimed(desk.order(plan(anchor=False)))
        desk.advance(claim, "measure", 0, 1)
        if handed_back:
            desk.hand_back(claim)
        desk.cancel(claim.job_id)
        if not handed_back:
            desk.stop(claim)
        first = cost(plan(anchor=False), STEPS // PARTS)
        assert first.epsilon_micros > 0
        assert stands(desk, claim.job_id) == ("cancelled", EntryKind.SETTLED, first)

    def test_all_steps_begun_cost_the_whole_plan(self, desk):
        claim = desk.claimed(desk.order())
        desk.advance(claim, "train", STEPS)
        desk.cancel(claim.job_id)
        assert desk.stop(claim) == cost(plan())

    def test_a_silent_worker_is_not_waited_for(self, desk):
        claim = desk.claimed(desk.order())
        desk.advance(claim, "train", 3)
        desk.lease_runs_out()
        assert desk.cancel(claim.job_id) is JobState.CANCELLED
        assert stands(desk, claim.job_id) == ("cancelled", EntryKind.SETTLED, cost(plan(), 3))

    def test_a_worker_that_fell_silent_after_the_request(self, desk):
        claim = desk.claimed(desk.order())
        desk.advance(claim, "train", 3)
        desk.cancel(claim.job_id)
        desk.lease_runs_out()
        assert desk.overdue() == [claim.job_id]
        assert desk.claim(claim.job_id) is None
        assert stands(desk, claim.job_id) == ("cancelled", EntryKind.SETTLED, cost(plan(), 3))

    def test_back_in_the_queue_the_prefix_is_settled(self, desk):
        claim = desk.claimed(desk.order())
        desk.advance(claim, "train", 6)
        desk.fail(claim)
        assert desk.cancel(claim.job_id) is JobState.CANCELLED
        assert stands(desk, claim.job_id) == ("cancelled", EntryKind.SETTLED, cost(plan(), 6))

    def test_twice_is_once(self, desk):
        claim = desk.claimed(desk.order())
        desk.cancel(claim.job_id)
        asked_at = desk.job(claim.job_id).cancel_requested_at
        desk.clock.advance(seconds=1)
        desk.cancel(claim.job_id)
        assert desk.job(claim.job_id).cancel_requested_at == asked_at
        desk.stop(claim)
        assert desk.cancel(claim.job_id) is JobState.CANCELLED

    def test_what_has_ended_cannot_be_cancelled(self, desk):
        claim = desk.claimed(desk.order())
        desk.finish(claim)
        with pytest.raises(JobEnded):
            desk.cancel(claim.job_id)

    def test_a_worker_cannot_cancel_by_itself(self, desk):
        claim = desk.claimed(desk.order())
        with pytest.raises(NotCancelled):
            desk.stop(claim)


def test_ended_states_lead_nowhere(desk):
    job = desk.job(desk.order())
    for state in ENDED:
        job.state = state.value
        for target in JobState:
            with pytest.raises(IllegalTransition):
                move(job, target)
    assert {JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED} == ENDED


def test_a_waiting_job_cannot_succeed(desk):
    job = desk.job(desk.order())
    with pytest.raises(IllegalTransition):
        end(job, JobState.SUCCEEDED, at=desk.clock.now())
    assert JobState.SUCCEEDED not in SUCCESSORS[JobState.QUEUED]
