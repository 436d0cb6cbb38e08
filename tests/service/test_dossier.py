"""The dossier: what it holds, for whom, that it is signed, and that the paper holds the document that was signed."""

import json
import re
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import update

from core.artifacts.signing.contexts import DOSSIER
from core.artifacts.signing.signed import SignedDocument, verify
from core.db.tables import Release
from core.platform.access.roles import Role
from tests.service.world import Caller, World, require_problem

HOSTILE = "</script><script>alert('x')</script> & <b>"


def dossier(caller: Caller, dataset_id: str, file_format: str) -> Any:
    answer = caller.get(f"/v1/datasets/{dataset_id}/dossier", params={"format": file_format})
    assert answer.status_code == 200, answer.text
    assert (
        answer.headers["content-disposition"] == f'attachment; filename="dossier-{dataset_id}.{file_format}"'
    )
    return answer.json() if file_format == "json" else answer.text


def with_history(world: World) -> str:
    """A dataset with a request, a decision, a grant, a job and a release."""
    release_id = world.release()
    with world.database.transaction() as session:
        row = session.get_one(Release, UUID(release_id))
        dataset_id = str(row.dataset_id)
        certificate = {
            "privacy_parameters": {"epsilon": 1.0, "delta": 1e-6},
            "privacy_unit": {"description": "one record"},
        }
        session.execute(update(Release).where(Release.id == row.id).values(certificate=certificate))
    asked = {"epsilon": 0.5, "delta": 1e-6, "purpose": HOSTILE}
    request = world.analyst.post(f"/v1/datasets/{dataset_id}/budget-requests", asked).json()
    answer = world.owner.post(
        f"/v1/budget-requests/{request['id']}/approve",
        {"epsilon": 0.25},
        headers={"Idempotency-Key": str(uuid4())},
    )
    assert answer.status_code == 200, answer.text
    return dataset_id


def test_the_document_tells_everything_and_is_signed(world: World) -> None:
    dataset_id = with_history(world)
    auditor = world.caller(Role.AUDITOR)
    who = str(world.analyst.principal_id)
    assert world.admin.put(f"/v1/principals/{who}", {"name": "Research group, north"}).status_code == 200
    first = dossier(auditor, dataset_id, "json")
    told = dossier(world.owner, dataset_id, "json")
    keys = auditor.get("/v1/signing-keys").json()["items"]
    public_keys = {key["key_id"]: bytes.fromhex(key["public_key"]) for key in keys}
    verify(SignedDocument.from_json(told), context=DOSSIER, public_keys=public_keys)
    assert told["people"] == {who: "Research group, north"}
    head = told["ledger"]["head"]
    assert head["sequence"] == len(told["ledger"]["statement"]["entries"])
    assert told["ledger"]["statement"]["entries"][-1]["hash"] == head["hash"]
    assert told["ledger"]["verification"]["intact"] is True
    assert told["exported_by"] == str(world.owner.principal_id)
    assert told["dataset"]["owner_id"] == str(world.owner.principal_id)
    assert [member["principal_id"] for member in told["members"]] == [str(world.analyst.principal_id)]
    (request,) = told["requests"]
    assert (request["state"], request["purpose"], request["grant"]["epsilon"]) == ("approved", HOSTILE, 0.25)
    assert request["decided_by"] == str(world.owner.principal_id)
    assert {grant["id"] for grant in told["grants"]} >= {request["grant"]["id"]}
    (release,) = told["releases"]
    assert any("epsilon 1" in sentence for sentence in release["in_words"])
    assert (
        told["budget"]["reserved"]["epsilon"] == told["ledger"]["statement"]["totals"]["reserved"]["epsilon"]
    )
    assert "factor of 7.4" in " ".join(told["promise"]["protected"]), "exp(2) = 7.389, rounded up"
    assert [entry["actor"].split("/")[0] for entry in told["exports"]] == [
        str(auditor.principal_id), str(world.owner.principal_id),
    ]  # fmt: skip
    differs = {name for name in told if told[name] != first[name]}
    assert differs == {"exported_by", "exports", "signature"}, "nothing else depends on who asks and when"


def test_the_paper_is_one_file_that_holds_the_signed_document(world: World) -> None:
    dataset_id = with_history(world)
    paper = dossier(world.admin, dataset_id, "html")
    assert "alert('x')" not in paper.replace("&#39;", "'").split('<script type="application/json"')[
        0
    ].replace("&lt;/script&gt;&lt;script&gt;alert('x')&lt;/script&gt;", "")
    (data,) = re.findall(r'<script type="application/json" id="dossier">(.*?)</script>', paper, re.DOTALL)
    told = json.loads(data)
    assert told["requests"][0]["purpose"] == HOSTILE
    keys = world.admin.get("/v1/signing-keys").json()["items"]
    public_keys = {key["key_id"]: bytes.fromhex(key["public_key"]) for key in keys}
    verify(SignedDocument.from_json(told), context=DOSSIER, public_keys=public_keys)
    assert not re.search(r'(src|href)="(?!#)', paper), "it needs nothing else"
    assert paper.count("<script") == 1
    assert "A4" in paper
    for word in ("What is not guaranteed", "Total spent", "The hash chain is intact.", told["signature"]):
        assert word in paper


def test_it_is_for_owner_admin_and_auditor(world: World) -> None:
    dataset_id = world.declare()
    path = f"/v1/datasets/{dataset_id}/dossier"
    require_problem(world.analyst.get(path), status=403, code="role-missing")
    require_problem(world.stranger.get(path), status=404, code="dataset-not-found")
    require_problem(world.owner.get(path, params={"format": "pdf"}), status=422)
    assert "No cap is set" in dossier(world.owner, dataset_id, "html")
