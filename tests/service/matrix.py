"""Every operation that the application serves, ready to be called on somebody's objects.

A new endpoint needs a line in BODIES where its path is not enough, and one in ``objects`` where its path names a kind
of object that is not there yet.
"""

import base64
import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

from fastapi import FastAPI

from core.db.tables import Release
from service.auth.table import TABLE
from tests.core.artifacts.stand_in import DOMAIN
from tests.service.utility_reports import charged_report
from tests.service.world import CSV, OPTIONS, Caller, World

Objects = Mapping[str, str]
Options = dict[str, Any]
# Parts of paths that name no object.
NUMBERS = {"number": "1"}

UPLOAD = {"bytes": len(CSV), "content_type": "text/csv"}
FEDERATION: dict[str, Any] = {
    "name": "a",
    "domain": DOMAIN,
    "epsilon": 0.5,
    "delta": 1e-6,
    "model": {"steps": 20, "averaging_rounds": 2},
    "members": [{"name": "a", "declared_size": 90}, {"name": "b", "declared_size": 10}],
}
DIGEST = base64.b64encode(hashlib.sha256(CSV).digest()).decode()


def _order(objects: Objects) -> dict[str, Any]:
    return {"dataset_id": objects["dataset_id"], "epsilon": 0.5, "delta": 1e-6, "options": OPTIONS}


BODIES: Mapping[str, Callable[[Objects], Options]] = {
    "create_person": lambda _: {"json": {"name": "a", "roles": ["owner"]}},
    "create_key": lambda _: {"json": {"name": "a", "roles": ["owner"]}},
    "name_principal": lambda _: {"json": {"name": "a"}},
    "list_principal_names": lambda _: {"params": {"id": str(uuid4())}},
    "create_dataset": lambda _: {"json": {"name": "a", "domain": DOMAIN, "declared_size": 9}},
    "upload_rows": lambda _: {"content": CSV, "headers": {"Content-Type": "text/csv"}},
    "set_budget": lambda _: {"json": {"epsilon": 3, "delta": 1e-5, "reason": "a test"}},
    "create_quote": lambda objects: {"json": _order(objects)},
    "create_job": lambda objects: {
        # The digest of a plan that takes noisy counts over differs on neighbouring tables, as they do.
        "json": _order(objects) | {"reuse": False},
        "headers": {"Idempotency-Key": str(uuid4())},
    },
    "create_federation": lambda _: {"json": FEDERATION},
    "watch_job": lambda _: {"params": {"longest_seconds": 0}},
    "ask_counts": lambda _: {"params": {"question": "ward by sick"}},
    "ask_what_if": lambda _: {"json": {"epsilon": 0.5, "delta": 1e-6}},
    "freeze_dataset": lambda _: {"json": {"reason": "a test"}},
    "unfreeze_dataset": lambda _: {"json": {"reason": "a test"}},
    "file_budget_request": lambda _: {"json": {"epsilon": 0.5, "delta": 1e-6, "purpose": "a test"}},
    "approve_budget_request": lambda _: {"json": {}, "headers": {"Idempotency-Key": str(uuid4())}},
    "deny_budget_request": lambda _: {"json": {"note": "a test"}},
    "order_sealed_report": lambda _: {"json": {}},
    "create_upload": lambda _: {"json": UPLOAD},
    "put_part": lambda _: {"content": CSV, "headers": {"Content-Digest": f"sha-256=:{DIGEST}:"}},
    "confirm_endpoint": lambda _: {"json": {"code": "ABCD2345"}},
    "create_endpoint": lambda _: {"json": {"channel": "webhook", "target": "https://example.org/hook"}},
    "complete_upload": lambda _: {"json": {"sha256": hashlib.sha256(CSV).hexdigest()}},
}


@dataclass(frozen=True)
class Operation:
    """One operation of the OpenAPI document."""

    name: str
    method: str
    path: str
    parameters: tuple[str, ...]

    def request(self, objects: Objects) -> tuple[str, str, Options]:
        """Method, path and the rest of a request on these objects."""
        missing = [name for name in self.parameters if name not in objects]
        assert not missing, f"{self.name}: say in tests/service/matrix.py how to make a {missing[0]}"
        options = BODIES[self.name](objects) if self.name in BODIES else {}
        return self.method, self.path.format_map(objects), options


_FOUND: list[tuple[Operation, ...]] = []


def operations(app: FastAPI) -> tuple[Operation, ...]:
    """All operations, under the names of the functions that serve them."""
    if not _FOUND:  # every world serves the same ones, and to write the document takes half a second
        _FOUND.append(_documented(app))
    return _FOUND[0]


def _documented(app: FastAPI) -> tuple[Operation, ...]:
    found = []
    for path, methods in app.openapi()["paths"].items():
        for method, operation in methods.items():
            tail = "".join(letter if letter.isalnum() else "_" for letter in path) + "_" + method
            parameters = [entry["name"] for entry in operation.get("parameters", []) if entry["in"] == "path"]
            name = operation["operationId"].removesuffix(tail)
            assert name != operation["operationId"], operation["operationId"]
            found.append(Operation(name, method.upper(), path, tuple(parameters)))
    return tuple(found)


def nobodys(app: FastAPI) -> dict[str, str]:
    """Ids of nothing, for every kind of object."""
    named = {name for operation in operations(app) for name in operation.parameters}
    return {name: str(uuid4()) for name in sorted(named | {"dataset_id"})} | NUMBERS


def requests_on_nothing(app: FastAPI) -> dict[str, tuple[str, str, Options]]:
    """A well-formed request for each operation that asks who is there, on objects that do not exist."""
    ids = nobodys(app)
    return {entry.name: entry.request(ids) for entry in operations(app) if entry.name in TABLE}


def objects(world: World, *analysts: Caller, needed: Iterable[str] | None = None) -> dict[str, str]:
    """Fresh objects that hang on a dataset of the owner: a job and a budget request of the analyst, and so on.

    Args:
        world: The API.
        analysts: Further members of the dataset, with grants.
        needed: Parameters of paths; what else hangs on the dataset is not made. All by default.
    """
    wanted = None if needed is None else frozenset(needed)
    found = dict(NUMBERS)
    if wanted is None or wanted & _OF_RELEASES:
        found["release_id"] = world.release()
        with world.database.read_only() as session:
            release = session.get_one(Release, UUID(found["release_id"]))
            found["job_id"], dataset_id = str(release.job_id), str(release.dataset_id)
    else:
        dataset_id = world.ready()
    found["dataset_id"] = dataset_id
    world.admit(dataset_id, *analysts)
    for analyst in analysts:
        world.give(dataset_id, analyst)
    for names, make in _MAKERS.items():
        if wanted is None or wanted & set(names):
            found |= zip(names, make(world, found), strict=True)
    return found


def _person(world: World, _: Objects) -> tuple[str, str, str]:
    """The key of a person who has enrolled, an enrolment to recover access by, and the person."""
    person = world.admin.post("/v1/people", {"name": "one of many", "roles": ["analyst"]}).json()
    token = {"token": person["enrolment"]["token"]}
    made = world.client.post("/v1/enrolments", json=token).json()
    recovery = world.admin.post(f"/v1/people/{person['principal_id']}/enrolments").json()
    return made["id"], recovery["id"], made["principal_id"]


def _request(world: World, found: Objects) -> tuple[str]:
    body = {"epsilon": 0.5, "delta": 1e-6, "purpose": "a test"}
    return (world.analyst.post(f"/v1/datasets/{found['dataset_id']}/budget-requests", body).json()["id"],)


def _upload(world: World, _: Objects) -> tuple[str]:
    return (world.owner.post(f"/v1/datasets/{world.declare()}/uploads", UPLOAD).json()["id"],)


def _endpoint(world: World, _: Objects) -> tuple[str]:
    hook = {"channel": "webhook", "target": "https://example.org/hook"}
    return (world.analyst.post("/v1/notifications/endpoints", hook).json()["id"],)


def _federation(world: World, _: Objects) -> tuple[str, str]:
    return world.analyst.post("/v1/federations", FEDERATION).json()["id"], "a"


def _sealed_report(world: World, found: Objects) -> tuple[str]:
    return (world.owner.post(f"/v1/releases/{found['release_id']}/sealed-reports", {}).json()["id"],)


_OF_RELEASES = {"release_id", "job_id", "charged_report_id", "sealed_report_id"}
_MAKERS: Mapping[tuple[str, ...], Callable[[World, Objects], tuple[str, ...]]] = {
    ("key_id", "enrolment_id", "principal_id"): _person,
    ("request_id",): _request,
    ("upload_id",): _upload,
    ("endpoint_id",): _endpoint,
    ("federation_id", "member"): _federation,
    ("charged_report_id",): lambda world, found: (charged_report(world, found["release_id"]),),
    ("sealed_report_id",): _sealed_report,
    ("grant_id",): lambda world, found: (world.give(found["dataset_id"]),),
}
