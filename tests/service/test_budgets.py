from tests.service.world import World, require_problem


def test_a_budget_is_set_by_the_admin_and_seen_by_all(world: World) -> None:
    dataset_id = world.declare()
    path = f"/v1/datasets/{dataset_id}/budget"
    assert world.owner.get(path).json()["cap"] is None
    answer = world.admin.put(path, {"epsilon": 2.0, "delta": 1e-5})
    assert answer.status_code == 200
    assert answer.json()["cap"] == {"epsilon": 2.0, "delta": 1e-5}
    for who in (world.owner, world.analyst, world.admin):
        assert who.get(path).json() == answer.json()
    names = [each["filter"] for each in answer.json()["filters"]]
    assert names[0] == "basic"
    assert len(names) == 7


def test_a_dataset_under_the_basic_rule_has_that_filter_alone(world: World) -> None:
    dataset_id = world.declare(rule="basic")
    world.set_budget(dataset_id)
    budget = world.owner.get(f"/v1/datasets/{dataset_id}/budget").json()
    assert [each["filter"] for each in budget["filters"]] == ["basic"]


WRONG = [
    {"epsilon": 0, "delta": 1e-6},
    {"epsilon": -1, "delta": 1e-6},
    {"epsilon": 1e9, "delta": 1e-6},
    {"epsilon": 1, "delta": 0},
    {"epsilon": 1, "delta": 1},
    {"epsilon": 1, "delta": 1e-13},
    {"epsilon": "many", "delta": 1e-6},
    {"epsilon": 1},
    {},
]


def test_a_wrong_budget_is_refused(world: World) -> None:
    dataset_id = world.declare()
    for body in WRONG:
        require_problem(world.admin.put(f"/v1/datasets/{dataset_id}/budget", body), status=422)
    assert world.owner.get(f"/v1/datasets/{dataset_id}/budget").json()["cap"] is None


def test_infinite_budgets_are_refused(world: World) -> None:
    dataset_id = world.declare()
    for text in (b'{"epsilon": Infinity, "delta": 1e-6}', b'{"epsilon": NaN, "delta": 1e-6}'):
        answer = world.admin.send(
            "PUT",
            f"/v1/datasets/{dataset_id}/budget",
            content=text,
            headers={"Content-Type": "application/json"},
        )
        require_problem(answer, status=422)


def test_the_cap_cannot_go_below_what_is_reserved(world: World) -> None:
    dataset_id = world.ready()
    assert world.order(dataset_id).status_code == 202
    answer = world.admin.put(f"/v1/datasets/{dataset_id}/budget", {"epsilon": 0.1, "delta": 1e-5})
    require_problem(answer, status=409, code="cap-below-spent")


def test_the_statement_shows_the_reservation_and_its_mechanism(world: World) -> None:
    job = world.job()
    statements = [
        who.get(f"/v1/datasets/{job['dataset_id']}/ledger").json()
        for who in (world.owner, world.analyst, world.admin)
    ]
    assert statements[0] == statements[1] == statements[2]
    *_, entry = statements[0]["entries"]
    assert [each["kind"] for each in statements[0]["entries"]] == ["CAP_SET", "GRANTED", "RESERVED"]
    assert entry["kind"] == "RESERVED"
    assert entry["job_id"] == job["id"]
    assert entry["mechanism"]["version"] == 1
    assert statements[0]["head"]["hash"] == entry["hash"]
