from uuid import UUID, uuid4

from tests.service.world import World, require_problem


def test_a_new_key_works_at_once_and_is_shown_once(world: World) -> None:
    made = world.admin.post("/v1/keys", {"name": "group", "roles": ["analyst", "owner"]})
    assert made.status_code == 201
    document = made.json()
    assert document["roles"] == ["analyst", "owner"]
    assert document["key"].startswith(f"us_{document['prefix']}_")
    headers = {"Authorization": f"Bearer {document['key']}"}
    assert world.client.get("/v1/datasets", headers=headers).status_code == 200
    listed = world.admin.get("/v1/keys")
    assert document["key"] not in listed.text
    assert document["id"] in [key["id"] for key in listed.json()["items"]]


def test_a_rotated_key_speaks_for_the_same_principal(world: World) -> None:
    dataset_id = world.declare()
    keys = world.admin.get("/v1/keys").json()["items"]
    principal = next(key["principal_id"] for key in keys if key["name"] == "owner")
    made = world.admin.post("/v1/keys", {"name": "new", "roles": ["owner"], "principal_id": principal}).json()
    headers = {"Authorization": f"Bearer {made['key']}"}
    assert world.client.get(f"/v1/datasets/{dataset_id}", headers=headers).status_code == 200


def test_a_key_needs_a_known_role(world: World) -> None:
    for roles in ([], ["root"], "owner"):
        require_problem(
            world.admin.post("/v1/keys", {"name": "a", "roles": roles}), status=422, code="invalid-input"
        )


def test_revoking_what_is_not_there(world: World) -> None:
    require_problem(world.admin.delete(f"/v1/keys/{uuid4()}"), status=404, code="key-not-found")


def test_making_and_revoking_keys_is_audited(world: World) -> None:
    from core.db.tables import AuditEvent

    made = world.admin.post("/v1/keys", {"name": "a", "roles": ["owner"]}).json()
    world.admin.delete(f"/v1/keys/{made['id']}")
    with world.database.read_only() as session:
        events = session.query(AuditEvent).order_by(AuditEvent.sequence).all()
        told = [(event.action, UUID(event.object), event.outcome) for event in events]
    assert told == [("key.create", UUID(made["id"]), "done"), ("key.revoke", UUID(made["id"]), "done")]
