"""Orders of aim and mst: quoted and reserved where the workers have what they need, refused before anything is charged where not."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from fastapi.testclient import TestClient

from core.clock import FixedClock
from core.data.objects import open_store
from core.db.session import Database
from core.plan import installed
from core.plan.installed import takes_graphical_models
from core.platform.settings import Settings
from service.app import create_app
from service.dashboard.rendering import environment
from tests.memory_queue import MemoryQueue
from tests.service.world import NOON, World, require_problem

ENGINES = pytest.mark.parametrize("engine", ["aim", "mst"])


@ENGINES
def test_a_quote_and_an_order_of_a_graphical_model(world: World, engine: str) -> None:
    dataset_id = world.ready()
    body = {"dataset_id": dataset_id, "epsilon": 1.0, "delta": 1e-6, "synthesizer": engine}
    answer = world.analyst.post("/v1/quotes", body)
    assert answer.status_code == 200, answer.text
    quote = answer.json()
    assert (quote["synthesizer"], quote["steps"], quote["fits"]) == (engine, 0, True)
    assert quote["split"]["anchor"]["share"] == pytest.approx(1.0)
    assert quote["epsilon"]["reported"] == pytest.approx(1.0, rel=1e-3)
    assert 0 < quote["expected_error"]["one_way"] < quote["expected_error"]["two_way"]
    assert quote["expected_error"]["measured"]["adaptive"] is True
    fragment = environment().get_template("expected_error.html").render(quote=quote)
    assert "marginals, chosen by noisy scores." in fragment
    assert world.movements(dataset_id) == [], "nothing was reserved"

    ordered = world.order(dataset_id, synthesizer=engine, options={})
    assert ordered.status_code == 202, ordered.text
    (reserved,) = world.movements(dataset_id)
    assert reserved["kind"] == "RESERVED"
    assert world.queue.sent


def test_options_of_another_synthesizer_are_refused(world: World) -> None:
    dataset_id = world.ready()
    wrong = [
        ("mst", {"steps": 5}),
        ("mst", {"rounds": 2}),
        ("aim", {"rounds": 99}),
        ("idpgan", {"rounds": 2}),
    ]
    for engine, options in wrong:
        require_problem(
            world.order(dataset_id, synthesizer=engine, options=options), status=422, code="invalid-spec"
        )
    assert world.movements(dataset_id) == []


@pytest.fixture
def without(settings: Settings, world: World, database: Database) -> Iterator[World]:
    """The same callers at an API whose operator says that no worker fits graphical models."""
    plain = settings.model_copy(update={"graphical_models": "off"})
    app = create_app(
        plain, database=database, queue=MemoryQueue(), store=open_store("memory://"), clock=FixedClock(NOON)
    )
    with TestClient(app) as client:
        callers = {
            name: replace(getattr(world, name), client=client)
            for name in ("owner", "analyst", "admin", "stranger")
        }
        yield replace(world, app=app, client=client, **callers)


def test_without_the_libraries_quote_and_order_say_so_and_nothing_is_charged(without: World) -> None:
    dataset_id = without.ready()
    body = {"dataset_id": dataset_id, "epsilon": 1.0, "delta": 1e-6, "synthesizer": "aim"}
    for path in ("/v1/quotes", "/v1/jobs"):
        answer = without.analyst.post(path, body, headers={"Idempotency-Key": "a"})
        require_problem(answer, status=422, code="synthesizer-not-installed")
        assert "the extra `graphical`" in answer.json()["remedy"]
    candidates = {"candidates": [{"synthesizer": "mst"}, {}], "epsilon": 0.5, "choice_epsilon": 0.5}
    of_several = {"dataset_id": dataset_id, "epsilon": 1.0, "delta": 1e-6, "selection": candidates}
    require_problem(
        without.analyst.post("/v1/quotes", of_several), status=422, code="synthesizer-not-installed"
    )
    assert without.movements(dataset_id) == []
    assert without.order(dataset_id).status_code == 202, "the others go on"


@pytest.mark.parametrize(("chosen", "beside", "taken"), [
    ("auto", True, True), ("auto", False, False), ("on", False, True), ("off", True, False),
])  # fmt: skip
def test_the_operator_decides_or_what_is_installed(
    settings: Settings, monkeypatch, chosen, beside, taken
) -> None:
    monkeypatch.setattr(installed, "find_spec", lambda _name: object() if beside else None)
    assert takes_graphical_models(chosen) is taken
