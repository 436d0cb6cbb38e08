"""Orders that would train noise are refused, and generators that collapsed are told of."""

import json
from typing import Any

from core.artifacts.private_models.constancy_check import MEMBER as MODEL_MEMBER
from core.artifacts.private_models.constancy_check import ModelCheck
from core.artifacts.sampling.generator_check import CODE, MEMBER, GeneratorCheck
from core.db.tables import Job
from tests.core.artifacts.stand_in import DOMAIN
from tests.service.test_quotes import body_of
from tests.service.world import World

COLLAPSED = GeneratorCheck(draws=5000, distinct_records=1, constant_columns=("ward",))
WIDE = DOMAIN | {
    "target": None,
    "columns": [
        {"name": f"c{column}", "kind": "categorical", "categories": [str(code) for code in range(20)]}
        for column in range(205)
    ],
}


def test_a_wide_table_is_quoted_and_ordered_with_an_anchor(world: World) -> None:
    dataset_id = world.declare(domain=WIDE)
    world.set_budget(dataset_id)
    answer = world.analyst.post("/v1/quotes", body_of(dataset_id))
    assert answer.status_code == 200, answer.text
    assert answer.json()["split"]["anchor"]["share"] > 0.9


def test_an_order_that_says_so_trains_the_critic_alone(world: World) -> None:
    dataset_id = world.declare(domain=WIDE)
    world.set_budget(dataset_id)
    options = {"anchor": False, "steps": 2}
    assert world.analyst.post("/v1/quotes", body_of(dataset_id, options=options)).status_code == 200


def _ended(world: World, **stated: Any) -> dict[str, Any]:
    release_id = world.release(**stated)
    job_id = world.analyst.get(f"/v1/releases/{release_id}").json()["job_id"]
    with world.database.transaction() as session:
        job = session.query(Job).filter(Job.id == job_id).one()
        job.state, job.sealed_randomness_key, job.finished_at = "succeeded", None, world.clock.now()
    polled: dict[str, Any] = world.analyst.get(f"/v1/jobs/{job_id}").json()
    (listed,) = (one for one in world.analyst.get("/v1/jobs").json()["items"] if one["id"] == job_id)
    assert listed == polled
    with world.analyst.client.stream(
        "GET", f"/v1/jobs/{job_id}/events", headers={"Authorization": f"Bearer {world.analyst.key}"}
    ) as stream:
        (told,) = (line for line in stream.iter_lines() if line.startswith("data: "))
    assert json.loads(told.removeprefix("data: ")) == polled
    return polled


def test_a_degenerate_generator_is_reported_with_what_to_change(world: World) -> None:
    warning = _ended(world, **{MEMBER: COLLAPSED.to_json()})["warning"]
    assert warning["code"] == CODE
    assert "1 different records" in warning["detail"]
    assert "'ward'" in warning["detail"]
    assert "larger epsilon" in warning["remedy"]


def test_a_model_that_answers_one_class_is_reported(world: World) -> None:
    constant = ModelCheck(draws=4096, answer="yes", share=1.0).to_json()
    warning = _ended(world, **{MODEL_MEMBER: constant})["warning"]
    assert warning["code"] == "constant-model"
    assert warning["detail"].startswith("The model answers 'yes' to 4,096 of 4,096 inputs")
    assert (
        _ended(world, **{MODEL_MEMBER: ModelCheck(draws=4096, answer="yes", share=0.7).to_json()})["warning"]
        is None
    )


def test_there_is_no_warning_where_all_is_well_or_nobody_looked(world: World) -> None:
    sound = GeneratorCheck(draws=5000, distinct_records=4000).to_json()
    assert _ended(world, **{MEMBER: sound})["warning"] is None
    assert _ended(world)["warning"] is None
