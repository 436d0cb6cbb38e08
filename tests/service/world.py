"""An API over a real database with one caller per role, and shortcuts to the usual states."""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any
from uuid import UUID, uuid4

from fastapi import FastAPI
from fastapi.testclient import TestClient
from httpx2 import Response

from core.artifacts.bundle import Bundle
from core.artifacts.packing import pack
from core.clock import FixedClock
from core.data.objects import ObjectStore
from core.db.session import Database
from core.db.tables import Dataset, Release
from core.ledger import governance
from core.platform.access.directory import KeyDirectory
from core.platform.access.keys import pepper_from
from core.platform.access.roles import Role
from core.platform.access.scopes import Scope
from core.platform.settings import Settings
from service.app import create_app
from tests.core.artifacts.stand_in import DOMAIN, bundle
from tests.memory_queue import MemoryQueue

NOON = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
OPTIONS = {"steps": 40}
CSV = b"ward,age,sick,seen\n" + b"A,30,yes,2020-01-02\n" * 20 + '"Ü",61,no,2020-01-09\n'.encode() * 20


def rows_of(canary: str) -> bytes:
    """Rows with a value that must never be seen again: an unknown category, so it shows up in the report's counts.

    It is one row in fifty, so the others close the dataset.
    """
    return b"ward,age,sick,seen\n" + b"A,30,yes,2020-01-02\n" * 49 + f"{canary},30,no,2020-01-02\n".encode()


@dataclass(frozen=True)
class Caller:
    """Somebody with a key."""

    client: TestClient
    key: str
    principal_id: UUID

    def send(self, method: str, path: str, **options: Any) -> Response:
        headers = {"Authorization": f"Bearer {self.key}"} | dict(options.pop("headers", {}))
        return self.client.request(method, path, headers=headers, **options)

    def get(self, path: str, **options: Any) -> Response:
        return self.send("GET", path, **options)

    def post(self, path: str, body: Any = None, **options: Any) -> Response:
        if body is not None:
            options["json"] = body
        return self.send("POST", path, **options)

    def put(self, path: str, body: Any) -> Response:
        return self.send("PUT", path, **({} if body is None else {"json": body}))

    def delete(self, path: str) -> Response:
        return self.send("DELETE", path)


Keys = Mapping[str, tuple[str, UUID]]
"""The key and the principal of each caller of a world, by name."""


@dataclass(frozen=True)
class World:
    """The API, its parts and its callers."""

    app: FastAPI
    client: TestClient
    database: Database
    queue: MemoryQueue
    store: ObjectStore
    clock: FixedClock
    directory: KeyDirectory
    owner: Caller
    analyst: Caller
    admin: Caller
    stranger: Caller  # another owner

    def caller(self, *roles: Role, principal_id: UUID | None = None, scopes: Iterable[Scope] = ()) -> Caller:
        with self.database.transaction() as session:
            row, key = self.directory.issue(
                session, name="test", roles=roles, principal_id=principal_id, scopes=scopes
            )
        return Caller(self.client, key.text, row.principal_id)

    def declare(self, **changes: Any) -> str:
        """A declared dataset of the owner, of which the analyst is a member. Returns its id."""
        body = {"name": "wards", "domain": DOMAIN, "declared_size": 1000} | changes
        answer = self.owner.post("/v1/datasets", body)
        assert answer.status_code == 201, answer.text
        dataset_id = str(answer.json()["id"])
        self.admit(dataset_id, self.analyst)
        return dataset_id

    def admit(self, dataset_id: str, *analysts: Caller) -> None:
        """Make analysts members of a dataset."""
        for analyst in analysts:
            answer = self.owner.put(f"/v1/datasets/{dataset_id}/members/{analyst.principal_id}", None)
            assert answer.status_code == 200, answer.text

    def give(
        self,
        dataset_id: str,
        analyst: Caller | None = None,
        *,
        epsilon: float = 2.0,
        delta: float = 1e-5,
        expires_at: datetime | None = None,
    ) -> str:
        """Make a grant past every request. Returns its id."""
        with self.database.transaction() as session:
            grant = governance.grant(
                session,
                session.get_one(Dataset, UUID(dataset_id)).population_id,
                holder=(analyst or self.analyst).principal_id,
                epsilon=epsilon,
                delta=delta,
                expires_at=expires_at or self.clock.now() + timedelta(days=90),
                by=str(self.admin.principal_id),
                clock=self.clock,
            )
            return str(grant.id)

    def upload(self, dataset_id: str, rows: bytes | Iterator[bytes] = CSV, **headers: str) -> Response:
        return self.owner.post(
            f"/v1/datasets/{dataset_id}/rows",
            content=rows,
            headers={"Content-Type": "text/csv"}
            | {name.replace("_", "-"): text for name, text in headers.items()},
        )

    def set_budget(self, dataset_id: str, *, epsilon: float = 2.0, delta: float = 1e-5) -> None:
        """Set the cap, and make the analyst's one grant as large: then the cap alone decides."""
        answer = self.admin.put(
            f"/v1/datasets/{dataset_id}/budget", {"epsilon": epsilon, "delta": delta, "reason": "a test"}
        )
        assert answer.status_code == 200, answer.text
        for grant in self.analyst.get(f"/v1/datasets/{dataset_id}/grants").json()["items"]:
            assert self.admin.delete(f"/v1/grants/{grant['id']}").status_code == 200
        self.give(dataset_id, epsilon=epsilon, delta=delta)

    def movements(self, dataset_id: str) -> list[dict[str, Any]]:
        """The entries of the ledger that are about jobs."""
        entries = self.owner.get(f"/v1/datasets/{dataset_id}/ledger").json()["entries"]
        return [entry for entry in entries if "job_id" in entry]

    def ready(self, **changes: Any) -> str:
        """A dataset with rows and a budget. Returns its id."""
        dataset_id = self.declare(**changes)
        answer = self.upload(dataset_id)
        assert answer.status_code == 201, answer.text
        self.set_budget(dataset_id)
        return dataset_id

    def order(
        self, dataset_id: str, *, key: str | None = None, caller: Caller | None = None, **changes: Any
    ) -> Response:
        body = {"dataset_id": dataset_id, "epsilon": 1.0, "delta": 1e-6, "options": OPTIONS} | changes
        headers = {"Idempotency-Key": key or str(uuid4())}
        return (caller or self.analyst).post("/v1/jobs", body, headers=headers)

    def job(self, **changes: Any) -> dict[str, Any]:
        """A queued job on a new dataset."""
        answer = self.order(self.ready(**changes))
        assert answer.status_code == 202, answer.text
        document: dict[str, Any] = answer.json()
        return document

    def release(
        self, made: Bundle | None = None, *, domain: Mapping[str, Any] = DOMAIN, **stated: Any
    ) -> str:
        """A release as a worker would have left it, of rows where no bundle is given. Returns its id.

        Args:
            made: its bundle.
            domain: declared for the dataset.
            **stated: further members of its certificate.
        """
        job = self.job(domain=domain)
        release_id = uuid4()
        key = f"releases/{release_id}/bundle.zip"
        self.store.put_bytes(key, pack(made, readme="read me") if made else _packed())
        with self.database.transaction() as session:
            session.add(
                Release(
                    id=release_id,
                    job_id=UUID(job["id"]),
                    dataset_id=UUID(job["dataset_id"]),
                    bundle_key=key,
                    certificate={"schema": "understudy.certificate/1"} | stated,
                    created_at=NOON,
                )
            )
        return str(release_id)


@cache
def _packed() -> bytes:
    return pack(bundle(), readme="read me")


@contextmanager
def open_world(
    settings: Settings, database: Database, store: ObjectStore, *, keys: Keys | None = None
) -> Iterator[World]:
    """The API with an owner, an analyst, an admin and a stranger.

    Args:
        settings: Of the API.
        database: Of the API.
        store: Of the API.
        keys: Of the four callers if the database has them; else they are enrolled.
    """
    clock, queue = FixedClock(NOON), MemoryQueue()
    app = create_app(settings, database=database, queue=queue, store=store, clock=clock)
    directory = _directory(settings, clock)
    with TestClient(app) as client:
        known = keys or enrol_callers(settings, database)
        callers = {name: Caller(client, *known_key) for name, known_key in known.items()}
        yield World(
            app=app, client=client, database=database, queue=queue, store=store, clock=clock,
            directory=directory, **callers,
        )  # fmt: skip


def enrol_callers(settings: Settings, database: Database) -> Keys:
    """Enrol the four callers of a world in a database."""
    directory, found = _directory(settings, FixedClock(NOON)), {}
    with database.transaction() as session:
        for name, role in {
            "owner": Role.OWNER, "analyst": Role.ANALYST, "admin": Role.ADMIN, "stranger": Role.OWNER,
        }.items():  # fmt: skip
            row, key = directory.issue(session, name=name, roles=[role])
            found[name] = key.text, row.principal_id
    return found


def _directory(settings: Settings, clock: FixedClock) -> KeyDirectory:
    return KeyDirectory(pepper=pepper_from(settings.master_key_bytes), clock=clock, entropy=os.urandom)


PROBLEM_MEMBERS = {"type", "title", "status", "detail", "code", "remedy", "facts", "request_id"}


def require_problem(
    answer: Response, *, status: int | None = None, code: str | None = None
) -> Mapping[str, Any]:
    """Check the one shape of refusals. Returns the document."""
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    document: dict[str, Any] = answer.json()
    assert set(document) == PROBLEM_MEMBERS
    assert document["status"] == answer.status_code
    assert document["type"] == f"urn:understudy:problem:{document['code']}"
    assert document["request_id"] == answer.headers["x-request-id"]
    assert document["title"]
    assert document["detail"]
    if status is not None:
        assert answer.status_code == status, answer.text
    if code is not None:
        assert document["code"] == code, answer.text
    return document
