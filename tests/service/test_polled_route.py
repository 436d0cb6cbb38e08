"""A poll that is served by hand answers what the ordinary way answers."""

from uuid import uuid4

import pytest

from tests.service.world import World, require_problem


def test_both_ways_answer_the_same(world: World) -> None:
    job_id = world.job()["id"]
    plain = world.analyst.get(f"/v1/jobs/{job_id}")
    # An id in capitals, or a scheme in small letters, is valid and goes the ordinary way.
    capitals = world.analyst.get(f"/v1/jobs/{job_id.upper()}")
    small = world.client.get(f"/v1/jobs/{job_id}", headers={"Authorization": f"bearer {world.analyst.key}"})
    for other in (capitals, small):
        assert other.status_code == plain.status_code == 200
        assert other.content == plain.content
        assert other.headers["content-type"] == plain.headers["content-type"] == "application/json"


def test_both_ways_refuse_the_same(world: World) -> None:
    job_id = world.job()["id"]
    for path in (f"/v1/jobs/{job_id}", f"/v1/jobs/{job_id.upper()}"):
        require_problem(world.stranger.get(path), status=404, code="job-not-found")
        require_problem(world.client.get(path), status=401, code="key-missing")
        wrong = {"Authorization": "Bearer us_00000000_" + "A" * 43}
        require_problem(world.client.get(path, headers=wrong), status=401, code="key-refused")
        twice = [("Authorization", f"Bearer {world.analyst.key}")] * 2
        require_problem(world.client.get(path, headers=twice), status=400, code="malformed-request")
        require_problem(world.analyst.get(path + "?surprise=1"), status=422)
    require_problem(world.analyst.get("/v1/jobs/one"), status=422)


@pytest.mark.parametrize("spelling", [str, lambda job_id: str(job_id).upper()], ids=["by-hand", "ordinary"])
def test_what_is_not_there_is_not_found(world: World, spelling) -> None:
    require_problem(world.analyst.get(f"/v1/jobs/{spelling(uuid4())}"), status=404, code="job-not-found")
