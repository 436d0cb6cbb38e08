"""Trainings wait for a kind of device, and move to the other kind only while nothing private has begun."""

from dataclasses import replace
from uuid import uuid4

import pytest

from core.jobs.endings import move_unserved
from core.jobs.errors import LeaseLost
from core.jobs.turns import next_in_turn, should_make_room
from core.plan.devices import RECORDS_OF_IMAGES, RECORDS_OF_TABLES, device_by_rule, device_of
from tests.core.jobs.support import STEPS, plan


def turn(desk, *devices):
    with desk.database.read_only() as session:
        return next_in_turn(session, now=desk.clock.now(), devices=devices)


def moved(desk, *served):
    with desk.database.transaction() as session:
        return move_unserved(session, served=served, now=desk.clock.now(), queue=desk.queue)


def test_a_worker_takes_the_trainings_of_its_kinds_and_those_without_a_kind(desk):
    cpu, gpu = desk.order(plan(0.1), device="cpu"), desk.order(plan(0.1), device="gpu")
    assert desk.queue.sent_to == [(cpu, "cpu"), (gpu, "gpu")]
    assert (turn(desk, "cpu"), turn(desk, "gpu"), turn(desk)) == (cpu, gpu, None)
    assert desk.claim(gpu, devices=["cpu"]) is None
    assert desk.claim(gpu, devices=["gpu"]).device == "gpu"
    assert desk.claim(cpu, devices=["gpu", "cpu"]).device == "cpu"
    older = desk.order(plan(0.1))
    assert turn(desk, "cpu") == turn(desk, "gpu") == older
    assert desk.queue.sent_to[-1] == (older, None)


def test_room_is_made_only_for_a_job_that_this_worker_serves(desk):
    ada, ben = uuid4(), uuid4()
    desk.claimed(desk.order(plan(0.1), by=ada, device="cpu"))
    desk.order(plan(0.1), by=ben, device="gpu")
    with desk.database.read_only() as session:
        for devices, makes_room in ((["cpu"], False), (["cpu", "gpu"], True)):
            assert should_make_room(session, ada, now=desk.clock.now(), devices=devices) is makes_room


def test_a_job_that_nobody_began_moves_to_the_kind_that_is_served(desk):
    job_id = desk.order(plan(0.1), device="gpu", wish="auto")
    wished = desk.order(plan(0.1), device="gpu", wish="gpu")
    assert moved(desk, "cpu", "gpu") == moved(desk) == moved(desk, "gpu") == []
    assert moved(desk, "cpu") == [job_id]
    assert (desk.job(job_id).device, desk.job(wished).device) == ("cpu", "gpu")
    assert desk.queue.sent_to[-1] == (job_id, "cpu")
    assert moved(desk, "cpu") == []


def test_a_job_whose_worker_only_opened_its_rows_moves(desk):
    job_id = desk.order(plan(0.1), device="gpu", wish="auto")
    desk.advance(desk.claimed(job_id), "measure", 0, 1)
    desk.lease_runs_out()
    assert moved(desk, "cpu") == [job_id]


def test_a_job_that_has_begun_something_private_stays(desk):
    job_id = desk.order(plan(0.1), device="gpu", wish="auto")
    claim = desk.claimed(job_id)
    desk.advance(claim, "measure", 1, 1)
    desk.hand_back(claim)
    assert moved(desk, "cpu") == []
    assert desk.job(job_id).device == "gpu"
    assert desk.queue.sent_to[-1] == (job_id, "gpu"), "it is announced to its own kind again"


def test_a_late_worker_of_a_job_that_moved_can_begin_nothing(desk):
    job_id = desk.order(plan(0.1), device="gpu", wish="auto")
    claim = desk.claimed(job_id)
    assert moved(desk, "cpu") == [], "its worker lives"
    desk.lease_runs_out()
    assert moved(desk, "cpu") == [job_id]
    with pytest.raises(LeaseLost):
        desk.advance(claim, "measure", 1, 1)
    with pytest.raises(LeaseLost):
        desk.heartbeat(claim)
    again = desk.claim(job_id, devices=["cpu"])
    assert (again.device, again.fence) == ("cpu", claim.fence + 1)


@pytest.mark.parametrize(("images", "records"), [(True, RECORDS_OF_IMAGES), (False, RECORDS_OF_TABLES)])
def test_the_rule_compares_the_records_of_all_steps(images, records):
    enough = replace(plan(), expected_batch_size=records // STEPS)
    few = replace(enough, expected_batch_size=enough.expected_batch_size - 1)
    assert [device_by_rule(one, images=images) for one in (enough, few)] == ["gpu", "cpu"]
    served = {(): "gpu", ("cpu",): "cpu", ("gpu",): "gpu", ("cpu", "gpu"): "gpu"}
    for kinds, chosen in served.items():
        assert device_of(enough, "auto", images=images, served=kinds) == chosen
        assert device_of(enough, "gpu", images=images, served=kinds) == "gpu", "a wish is kept"
    assert device_of(few, "auto", images=images, served=["gpu"]) == "gpu"
