"""Uploads in parts over the API: what arrives, what is refused, and that nothing of it stays."""

import base64
import gzip
import hashlib
import threading
from dataclasses import replace
from uuid import UUID, uuid4

import pytest
from sqlalchemy import func, select

from core.data.errors import SealBroken
from core.data.uploads.ending import REMEMBERED, sweep_uploads
from core.data.uploads.repository import UPLOADS
from core.db.tables import Dataset, Upload, UploadPart
from core.jobs.leases import this_process
from core.platform.access.roles import Role
from core.platform.deletion import mark_deleted
from service.app import UPLOADS_OF_ONE
from service.uploads import completing
from tests.core.artifacts.stand_in import DOMAIN
from tests.service.test_commit import stored
from tests.service.test_upload import rows_in_store
from tests.service.world import CSV, Caller, World, require_problem, rows_of

PART = 100


@pytest.fixture
def small_parts(world: World) -> World:
    """The API with parts of a hundred bytes."""
    context = world.app.state.context
    settings = context.settings.model_copy(update={"upload_part_bytes": PART})
    world.app.state.context = replace(context, settings=settings)
    return world


def digest_of(content: bytes) -> dict[str, str]:
    return {
        "Content-Digest": f"sha-256=:{base64.b64encode(hashlib.sha256(content).digest()).decode()}:",
        "Content-Type": "application/octet-stream",
    }


class Sending:
    """One upload to a dataset of the owner."""

    def __init__(
        self,
        world: World,
        content: bytes = CSV,
        *,
        kind: str = "text/csv",
        domain: object = None,
        **order: object,
    ) -> None:
        self.world, self.content = world, content
        self.dataset_id = world.declare(**({} if domain is None else {"domain": domain}))
        answer = world.owner.post(
            f"/v1/datasets/{self.dataset_id}/uploads", {"bytes": len(content), "content_type": kind} | order
        )
        assert answer.status_code == 201, answer.text
        self.id = answer.json()["id"]
        self.total = answer.json()["parts_total"]
        assert self.total == -(-len(content) // PART)

    def part(self, number: int) -> bytes:
        return self.content[(number - 1) * PART : number * PART]

    def put(self, number: int, content: bytes | None = None, *, who: Caller | None = None, **headers: str):
        body = self.part(number) if content is None else content
        return (who or self.world.owner).send(
            "PUT", f"/v1/uploads/{self.id}/parts/{number}", content=body, headers=digest_of(body) | headers
        )

    def put_all(self) -> "Sending":
        for number in range(self.total, 0, -1):
            answer = self.put(number)
            assert answer.status_code == 200, answer.text
        return self

    def complete(self, sha256: str | None = None):
        body = {"sha256": sha256 or hashlib.sha256(self.content).hexdigest()}
        answer = self.world.owner.post(f"/v1/uploads/{self.id}/complete", body)
        while answer.status_code == 202:
            assert answer.json()["intake_report"] is None
            answer = self.world.owner.post(f"/v1/uploads/{self.id}/complete", body)
        return answer

    def state(self) -> str:
        return str(self.world.owner.get(f"/v1/uploads/{self.id}").json()["state"])

    def there(self) -> list[int]:
        return [part["number"] for part in self.world.owner.get(f"/v1/uploads/{self.id}").json()["parts"]]


def test_parts_in_any_order_become_the_same_rows_as_one_body(small_parts: World, settings) -> None:
    sending = Sending(small_parts).put_all()
    answer = sending.complete()
    assert answer.status_code == 200, answer.text
    whole = small_parts.declare()
    report = small_parts.upload(whole).json()
    assert answer.json() == {"upload_id": sending.id, "state": "completed", "intake_report": report}
    assert rows_in_store(small_parts, sending.dataset_id) == rows_in_store(small_parts, whole) == 40
    assert sending.complete().json() == answer.json()
    # Nothing is left but the two datasets' rows.
    assert len(stored(small_parts)) == 2
    assert list(settings.scratch_folder.iterdir()) == []


@pytest.mark.parametrize(("encoding", "codec"), [("windows-1252", "cp1252"), ("utf-16", "utf-16")])
def test_parts_are_read_by_the_declared_encoding(small_parts: World, encoding: str, codec: str) -> None:
    content = CSV.decode().replace("\nA,", "\nÜ,").encode(codec)
    sending = Sending(small_parts, content, domain=DOMAIN | {"csv": {"encoding": encoding}}).put_all()
    answer = sending.complete().json()
    assert (answer["state"], answer["intake_report"]["rows_accepted"]) == ("completed", 40)


def test_parts_are_sealed_from_the_moment_they_arrive(small_parts: World) -> None:
    sending = Sending(small_parts, rows_of("cAnArY7391"))
    sending.put_all()
    keys = [found.key for found in small_parts.store.list("uploads")]
    assert len(keys) == sending.total
    assert all(b"cAnArY" not in small_parts.store.get_bytes(key) for key in keys)
    with small_parts.database.read_only() as session:
        row = session.get_one(Upload, UUID(sending.id))
        assert row.wrapped_data_key is not None
        wrapped = row.wrapped_data_key
    with pytest.raises(SealBroken):
        small_parts.app.state.context.settings.master_keys.unwrap(wrapped, context=f"upload:{uuid4()}")


def test_parts_already_there_are_listed_and_not_sent_again(small_parts: World) -> None:
    sending = Sending(small_parts)
    first = sending.put(2)
    shown = small_parts.owner.get(f"/v1/uploads/{sending.id}").json()
    assert shown["parts"] == [first.json()]
    assert first.json()["sha256"] == hashlib.sha256(sending.part(2)).hexdigest()
    problem = require_problem(sending.complete(), status=409, code="upload-incomplete")
    assert problem["facts"]["missing"] == [number for number in range(1, sending.total + 1) if number != 2]
    before = stored(small_parts)
    assert sending.put(2).json() == first.json()
    assert stored(small_parts) == before
    sending.put_all()
    assert sending.complete().status_code == 200


@pytest.mark.parametrize(
    ("number", "content", "headers", "status", "code"),
    [
        (1, b"A" * PART, {"Content-Digest": digest_of(b"B")["Content-Digest"]}, 422, "digest-differs"),
        (1, b"A" * (PART - 1), {}, 422, "part-size-differs"),
        (1, b"", {}, 422, "part-size-differs"),
        (1, b"A" * (PART + 1), {}, 413, "upload-too-large"),
        (99, b"A", {}, 422, "part-out-of-range"),
        (1, b"A" * PART, {"Content-Digest": ""}, 422, "digest-missing"),
        (1, b"A" * PART, {"Content-Digest": "md5=:AAAA:"}, 422, "digest-missing"),
        (1, b"A" * PART, {"Content-Digest": "sha-256=:AAAA:"}, 422, "digest-missing"),
        (1, b"A" * PART, {"Content-Digest": "sha-256=AAAA"}, 422, "digest-missing"),
        (1, gzip.compress(b"A" * 9, mtime=0).ljust(PART), {}, 415, "content-disagrees"),
    ],
    ids=[
        "another digest", "too short", "empty", "too long", "no such part", "no digest", "md5", "a short digest",
        "not a dictionary", "gzip as csv",
    ],
)  # fmt: skip
def test_a_part_that_is_not_what_was_announced_is_not_kept(
    small_parts: World, settings, number: int, content: bytes, headers: dict[str, str], status: int, code: str
) -> None:
    sending = Sending(small_parts)
    require_problem(sending.put(number, content, **headers), status=status, code=code)
    assert sending.there() == []
    assert stored(small_parts) == []
    assert list(settings.scratch_folder.iterdir()) == []
    sending.put_all()
    assert sending.complete().status_code == 200


def test_another_content_for_a_part_that_is_there(small_parts: World) -> None:
    sending = Sending(small_parts)
    sending.put(2)
    require_problem(sending.put(2, b"A" * PART), status=409, code="part-differs")
    assert sending.put(2).status_code == 200


def test_of_copies_of_a_part_racing_each_other_one_is_kept(small_parts: World) -> None:
    sending = Sending(small_parts)
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(sending.put(1))) for _ in range(UPLOADS_OF_ONE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [answer.status_code for answer in answers] == [200] * UPLOADS_OF_ONE
    assert len(stored(small_parts)) == 1


def test_a_file_that_is_not_the_announced_one_stores_no_rows(small_parts: World) -> None:
    sending = Sending(small_parts).put_all()
    require_problem(sending.complete("0" * 64), status=422, code="checksum-differs")
    assert sending.state() == "open"
    assert small_parts.owner.get(f"/v1/datasets/{sending.dataset_id}").json()["state"] == "declared"
    assert sending.complete().status_code == 200


def test_a_digest_announced_at_the_start_binds(small_parts: World) -> None:
    sending = Sending(small_parts, sha256=hashlib.sha256(CSV).hexdigest()).put_all()
    require_problem(sending.complete("0" * 64), status=422, code="checksum-differs")
    assert sending.complete().status_code == 200


@pytest.mark.parametrize(
    ("content", "kind", "status", "code"),
    [
        (b"ward,age\nA,1\n", "text/csv", 422, "wrong-header"),
        (b"ward,age,sick,seen\nQ,1,yes,2020-01-02\n", "text/csv", 422, "no-acceptable-rows"),
        (gzip.compress(CSV, mtime=0)[:-9], "application/gzip", 422, "damaged-upload"),
        (CSV[:-13], "text/csv", 422, "damaged-upload"),
        (b"PAR1\x00\x00", "application/vnd.apache.parquet", 422, "damaged-upload"),
    ],
    ids=["header", "no row", "cut gzip", "cut csv", "cut parquet"],
)
def test_the_intake_says_the_same_as_of_one_body(
    small_parts: World, settings, content: bytes, kind: str, status: int, code: str
) -> None:
    sending = Sending(small_parts, content, kind=kind).put_all()
    told = [dict(require_problem(sending.complete(), status=status, code=code)) for _ in range(2)]
    whole = dict(require_problem(small_parts.upload(small_parts.declare(), content, Content_Type=kind)))
    for problem in (*told, whole):
        del problem["request_id"]
    assert told[0] == told[1] == whole
    assert sending.state() == "refused"
    assert stored(small_parts) == []
    assert list(settings.scratch_folder.iterdir()) == []
    require_problem(sending.put(1), status=409, code="upload-not-open")


def test_an_upload_that_cannot_be_started(small_parts: World) -> None:
    dataset_id = small_parts.declare()
    path = f"/v1/datasets/{dataset_id}/uploads"
    owner = small_parts.owner
    limit = small_parts.app.state.context.settings.max_upload_bytes
    for body, status, code in [
        ({"bytes": 5, "content_type": "text/html"}, 415, "unsupported-upload"),
        ({"bytes": limit + 1, "content_type": "text/csv"}, 413, "upload-too-large"),
        ({"bytes": 0, "content_type": "text/csv"}, 422, "invalid-input"),
        ({"bytes": True, "content_type": "text/csv"}, 422, "invalid-input"),
        ({"bytes": 5, "content_type": "text/csv", "sha256": "x"}, 422, "invalid-input"),
    ]:
        require_problem(owner.post(path, body), status=status, code=code)
    small_parts.upload(dataset_id)
    answer = owner.post(path, {"bytes": 5, "content_type": "text/csv"})
    require_problem(answer, status=409, code="rows-already-stored")


def test_rows_that_came_another_way_meanwhile(small_parts: World) -> None:
    sending = Sending(small_parts).put_all()
    assert small_parts.upload(sending.dataset_id).status_code == 201
    require_problem(sending.complete(), status=409, code="rows-already-stored")
    assert sending.state() == "refused"
    assert len(stored(small_parts)) == 1


def test_somebody_elses_upload_does_not_exist(small_parts: World) -> None:
    sending = Sending(small_parts)
    path = f"/v1/uploads/{sending.id}"
    stranger = small_parts.stranger
    for answer in (
        stranger.get(path),
        stranger.delete(path),
        stranger.post(f"{path}/complete", {"sha256": "0" * 64}),
        sending.put(1, who=stranger),
    ):
        require_problem(answer, status=404, code="upload-not-found")
    require_problem(small_parts.caller(Role.ANALYST).get(path), status=403, code="role-missing")


def test_aborting_removes_everything(small_parts: World) -> None:
    sending = Sending(small_parts)
    sending.put(1)
    for _ in range(2):
        assert small_parts.owner.delete(f"/v1/uploads/{sending.id}").status_code == 204
    assert (sending.state(), stored(small_parts)) == ("aborted", [])
    problem = require_problem(sending.complete(), status=409, code="upload-not-open")
    assert problem["facts"] == {"state": "aborted"}
    done = Sending(small_parts).put_all()
    assert done.complete().status_code == 200
    require_problem(small_parts.owner.delete(f"/v1/uploads/{done.id}"), status=409, code="upload-not-open")


def test_a_machine_that_fails_says_so_once_and_may_be_asked_again(small_parts: World, monkeypatch) -> None:
    sending = Sending(small_parts).put_all()

    def fails(*_args: object, **_more: object) -> None:
        raise RuntimeError("the row was cAnArY")

    with monkeypatch.context() as broken:
        broken.setattr(completing, "read_parts", fails)
        answer = sending.complete()
    require_problem(answer, status=500, code="internal-error")
    assert "cAnArY" not in answer.text
    assert sending.complete().status_code == 200


@pytest.mark.parametrize("seen_dead", [False, True], ids=["its lease runs out", "upkeep sees it dead"])
def test_a_process_that_was_killed_midway_is_taken_over(small_parts: World, seen_dead: bool) -> None:
    sending = Sending(small_parts).put_all()
    context = small_parts.app.state.context
    with small_parts.database.read_only() as session:
        principal = small_parts.directory.recognise(session, small_parts.owner.key)
    digest = hashlib.sha256(CSV).digest()
    killed = completing.Completion(context, principal, UUID(sending.id), sha256=digest, max_refused=0.02)
    # private: a process dies between claim and work, where no collaborator is called
    claim = killed._claim()
    assert claim is not None
    body = {"sha256": hashlib.sha256(CSV).hexdigest()}
    answer = small_parts.owner.post(f"/v1/uploads/{sending.id}/complete", body)
    assert (answer.status_code, answer.json()["state"]) == (202, "completing")
    assert answer.headers["retry-after"]
    require_problem(sending.put(1), status=409, code="upload-not-open")
    if seen_dead:
        with small_parts.database.transaction() as session:
            now = small_parts.clock.now()
            assert UPLOADS.end_dead(session, now=now, is_dead=lambda owner: owner != this_process()) == []
            assert UPLOADS.end_dead(session, now=now, is_dead=lambda owner: owner == this_process())
    else:
        small_parts.clock.advance(seconds=context.settings.lease_seconds + 1)
    assert sending.complete().status_code == 200
    # The first one was not dead but asleep: nothing of what it does counts.
    context.limits.intakes.acquire()
    # private: and wakes there
    killed._work(claim)
    assert sending.state() == "completed"
    assert len(stored(small_parts)) == 1
    assert rows_in_store(small_parts, sending.dataset_id) == 40


def test_no_more_intakes_at_once_than_there_are_places(small_parts: World) -> None:
    sending = Sending(small_parts).put_all()
    limit = small_parts.app.state.context.limits.intakes
    for _ in range(2):
        limit.acquire()
    require_problem(sending.complete(), status=503, code="service-busy")
    limit.release()
    assert sending.complete().status_code == 200
    limit.release()
    with pytest.raises(ValueError, match="released more often than acquired"):
        limit.release()


def test_one_owners_intakes_leave_room_for_the_next(small_parts: World) -> None:
    sending = Sending(small_parts).put_all()
    limit = small_parts.app.state.context.limits.intakes
    limit.acquire(small_parts.owner.principal_id)
    require_problem(sending.complete(), status=429, code="share-used-up")
    limit.acquire(small_parts.stranger.principal_id)
    for caller in (small_parts.owner, small_parts.stranger):
        limit.release(caller.principal_id)
    assert sending.complete().status_code == 200


# Upkeep


def sweep(world: World) -> int:
    return sweep_uploads(world.database, world.store, clock=world.clock)


def rows_left(world: World) -> tuple[int, int]:
    with world.database.read_only() as session:
        uploads = session.scalars(select(func.count(Upload.id))).one()
        return uploads, session.scalars(select(func.count(UploadPart.number))).one()


def test_an_upload_that_nobody_continues_expires(small_parts: World) -> None:
    sending, other = Sending(small_parts), Sending(small_parts)
    sending.put(1)
    hours = small_parts.app.state.context.settings.upload_hours
    small_parts.clock.advance(seconds=hours * 3600 - 1)
    other.put(1)
    assert sweep(small_parts) == 0
    small_parts.clock.advance(seconds=2)
    assert sweep(small_parts) == 2
    assert sweep(small_parts) == 0
    assert (sending.state(), other.state(), len(stored(small_parts))) == ("expired", "open", 1)
    require_problem(sending.put(2), status=409, code="upload-not-open")
    assert other.put_all().complete().status_code == 200
    small_parts.clock.advance(seconds=REMEMBERED.total_seconds() + 1)
    assert sweep(small_parts) == 2
    assert rows_left(small_parts) == (0, 0)


def test_parts_that_no_row_names_are_removed(small_parts: World) -> None:
    sending = Sending(small_parts)
    sending.put(1)
    lost = f"uploads/{sending.id}/part-2-{uuid4().hex}.sealed"
    strange = f"uploads/{uuid4()}/part-1-{uuid4().hex}.sealed"
    small_parts.store.put_bytes(lost, b"x")
    small_parts.store.put_bytes(strange, b"x")
    # The store stamps by the machine's clock; the world's stands in the past.
    assert sweep(small_parts) == 1
    assert not small_parts.store.exists(strange)
    assert small_parts.store.exists(lost)
    assert sending.put_all().complete().status_code == 200
    assert not small_parts.store.exists(lost)


def test_deleting_a_dataset_destroys_what_was_on_its_way(small_parts: World) -> None:
    sending = Sending(small_parts)
    sending.put(1)
    with small_parts.database.transaction() as session:
        row = session.get_one(Dataset, UUID(sending.dataset_id), with_for_update=True)
        mark_deleted(session, row, by=small_parts.owner.principal_id, clock=small_parts.clock)
    with small_parts.database.read_only() as session:
        upload = session.get_one(Upload, UUID(sending.id))
        assert (upload.state, upload.wrapped_data_key) == ("aborted", None)
    assert sweep(small_parts) == 1
    assert stored(small_parts) == []
