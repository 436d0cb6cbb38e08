"""The pages of notifications, and the dossier's buttons, as a browser without scripts uses them."""

import re
from collections.abc import Callable

from tests.dashboard.visitor import Visitor
from tests.service.world import World

HOSTILE = "https://example.org/hook?a=%3Cscript%3E&b='x"


def test_a_webhook_from_the_form_to_its_removal(world: World, sign_in: Callable[..., Visitor]) -> None:
    owner = sign_in("owner")
    assert "No endpoints yet. Add one below." in owner.page("/notifications")
    assert "sends no e-mail" in owner.page("/notifications")
    refused = owner.send("/notifications", channel="webhook", target="ftp://example.org/")
    assert refused.status_code == 422
    made = owner.send("/notifications", channel="webhook", target=HOSTILE, kinds="job.failed")
    assert made.status_code == 200, made.text
    (secret,) = re.findall(r">(whsec_[A-Za-z0-9+/=]+)<", made.text)
    (path,) = re.findall(r'href="(/notifications/[0-9a-f-]{36})"', made.text)
    listed = owner.page("/notifications")
    assert path in listed
    assert "job.failed" in listed
    assert "b='x" not in listed
    shown = owner.page(path)
    assert secret not in shown + listed
    assert "A test message was sent" in owner.follow(f"{path}/test")
    assert "This is the test that you requested." in owner.page(path)
    assert owner.send(f"{path}/test").status_code == 429
    rotated = owner.send(f"{path}/rotate")
    assert secret not in rotated.text
    assert "whsec_" in rotated.text
    assert owner.send(f"{path}/resume").status_code == 409
    assert sign_in("stranger").send(f"{path}/remove").status_code == 404
    assert "its address are removed" in owner.follow(f"{path}/remove")
    assert owner.page(path, 404)


def test_who_is_offered_the_dossier_gets_it(world: World, sign_in: Callable[..., Visitor]) -> None:
    dataset_id = world.declare()
    for role in ("owner", "admin", "auditor"):
        visitor = sign_in(role)
        assert f"/datasets/{dataset_id}/dossier.html" in visitor.page(f"/datasets/{dataset_id}/ledger")
        paper = visitor.client.get(f"/datasets/{dataset_id}/dossier.html")
        assert paper.status_code == 200
        assert paper.text.startswith("<!doctype html>")
    analyst = sign_in("analyst")
    assert "dossier.html" not in analyst.page(f"/datasets/{dataset_id}/ledger")
    assert analyst.client.get(f"/datasets/{dataset_id}/dossier.html").status_code == 403
