from tests.core.artifacts.stand_in import DOMAIN
from tests.service.world import World, require_problem

WITH_UNIT = {
    **DOMAIN,
    "privacy_unit": "patient",
    "columns": [*DOMAIN["columns"], {"name": "patient", "kind": "unit"}],
}


def test_a_declared_dataset_shows_its_public_facts_to_everybody_concerned(world: World) -> None:
    dataset_id = world.declare()
    views = [
        who.get(f"/v1/datasets/{dataset_id}").json() for who in (world.owner, world.analyst, world.admin)
    ]
    assert views[0] == views[1] == views[2]
    assert views[0]["state"] == "declared"
    assert views[0]["declared_size"] == 1000
    assert views[0]["adjacency"] == "add-or-remove"
    assert views[0]["privacy_unit"] is None
    assert [column["name"] for column in views[0]["domain"]["columns"]] == ["ward", "age", "sick", "seen"]


def test_words_that_a_spreadsheet_would_run_are_warned_of_and_permitted(world: World) -> None:
    columns = [dict(column) for column in DOMAIN["columns"]]
    columns[0] |= {"categories": ["=A", "B"]}
    body = {"name": "wards", "declared_size": 9, "domain": DOMAIN | {"columns": columns}}
    answer = world.owner.post("/v1/datasets", body)
    assert answer.status_code == 201, answer.text
    (warning,) = answer.json()["warnings"]
    assert (warning["pointer"], warning["problem"]) == ("/columns/0", "spreadsheet-formula")
    assert "spreadsheet_safe" in warning["detail"]
    columns[0] |= {"categories": ["-1", "1"]}
    assert world.owner.post("/v1/datasets", body).json()["warnings"] == []


WRONG = [
    ({"declared_size": 0}, "invalid-input"),
    ({"declared_size": 10**13}, "invalid-input"),
    ({"declared_size": 1.5}, "invalid-input"),
    ({"name": ""}, "invalid-input"),
    ({"name": "   "}, "invalid-input"),
    ({"name": "a\u0000b"}, "invalid-input"),
    ({"name": "a" * 201}, "invalid-input"),
    ({"adjacency": "replace-one"}, "invalid-input"),
    ({"rule": "none"}, "invalid-input"),
    ({"surprise": 1}, "invalid-input"),
    ({"domain": []}, "invalid-input"),
    ({"domain": {**DOMAIN, "target": "a\u0000b"}}, "invalid-input"),
    ({"domain": {}}, "domain-invalid"),
    ({"domain": {**DOMAIN, "target": "nowhere"}}, "domain-invalid"),
    ({"domain": {**DOMAIN, "_from_data": ["columns"]}}, "domain-unconfirmed"),
]


def test_a_wrong_declaration_is_refused(world: World) -> None:
    for change, code in WRONG:
        body = {"name": "a", "domain": DOMAIN, "declared_size": 9} | change
        require_problem(world.owner.post("/v1/datasets", body), status=422, code=code)
    assert world.owner.get("/v1/datasets").json()["items"] == []


def test_text_that_no_database_holds_is_refused(world: World) -> None:
    raw = b'{"name": "half a pair \\ud800", "domain": {}, "declared_size": 9}'
    answer = world.owner.post("/v1/datasets", content=raw, headers={"Content-Type": "application/json"})
    require_problem(answer, status=422, code="invalid-input")
    for hostile in (
        b'{"a": ' * 50 + b"1" + b"}" * 50,
        b"[" * 100_000,
        b'{"a": NaN}',
        b'{"a": 1e999}',
        b'{"a": 9999999999999999999999}',
    ):
        raw = b'{"name": "a", "declared_size": 9, "domain": ' + hostile + b"}"
        answer = world.owner.post("/v1/datasets", content=raw, headers={"Content-Type": "application/json"})
        require_problem(answer)
        assert answer.status_code in {400, 422}


def test_a_version_shares_its_parents_population(world: World) -> None:
    parent = world.ready()
    world.order(parent)
    child = world.declare(parent_dataset_id=parent)
    populations = {
        world.owner.get(f"/v1/datasets/{each}").json()["population_id"] for each in (parent, child)
    }
    assert len(populations) == 1
    budgets = [world.owner.get(f"/v1/datasets/{each}/budget").json() for each in (parent, child)]
    assert budgets[0] == budgets[1]
    assert float(budgets[1]["reserved"]["epsilon"]) > 0


def test_a_version_that_protects_another_unit_is_refused(world: World) -> None:
    parent = world.declare()
    body = {"name": "a", "domain": WITH_UNIT, "declared_size": 9, "parent_dataset_id": parent}
    require_problem(world.owner.post("/v1/datasets", body), status=409, code="unit-differs")
    assert world.declare(domain=WITH_UNIT)


def test_lists_come_in_pages_newest_first(world: World) -> None:
    made = []
    for _ in range(5):
        made.append(world.declare())
        world.clock.advance(seconds=1)
    seen, before = [], ""
    for _ in range(3):
        page = world.owner.get(f"/v1/datasets?limit=2{before}").json()
        seen += [item["id"] for item in page["items"]]
        before = f"&before={page['next_before']}"
    assert seen == made[::-1]
    assert page["next_before"] is None
    for bad in ("limit=0", "limit=201", "limit=x", "before=x"):
        require_problem(world.owner.get(f"/v1/datasets?{bad}"), status=422)


def test_times_are_no_finer_than_a_minute(world: World) -> None:
    world.clock.advance(seconds=61.5)
    dataset_id = world.declare()
    assert world.owner.get(f"/v1/datasets/{dataset_id}").json()["created_at"] == "2026-03-01T12:02:00Z"
