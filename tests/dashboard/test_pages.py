"""Every page as every role: who sees what, under which headers, and with hostile names made harmless."""

import re
from collections.abc import Callable
from html import unescape
from itertools import pairwise
from uuid import UUID

import pytest

from core.artifacts.sampling.generator_check import MEMBER, GeneratorCheck
from core.db.tables import Release
from core.platform.access.roles import Role
from service.dashboard.assets import assets
from service.dashboard.rendering import TEMPLATES
from tests.core.artifacts import image_stand_in
from tests.core.artifacts.few import release_of_few
from tests.dashboard.scene import Scene, lived_in
from tests.dashboard.test_cost import hold_to_the_cost
from tests.dashboard.visitor import Visitor, enter, require_page
from tests.service.world import World

ROLES = ("owner", "analyst", "admin", "auditor")
SEEN = {
    "/overview": ROLES,
    "/requests": ROLES,
    "/requests?state=open": ROLES,
    "/requests/{request_id}": ROLES,
    "/grants": ROLES,
    "/grants?dataset={dataset_id}&holder=&state=open": ROLES,
    "/notifications": ROLES,
    "/datasets/{dataset_id}/trail": ("owner", "admin", "auditor"),
    "/jobs": ROLES,
    "/jobs?dataset_id={dataset_id}": ROLES,
    "/jobs/{queued_id}": ROLES,
    "/jobs/{running_id}": ROLES,
    "/releases": ROLES,
    "/releases/{release_id}": ROLES,
    "/releases/{pictures_id}": ROLES,
    "/datasets/{dataset_id}": ROLES,
    "/datasets/{dataset_id}/people": ROLES,
    "/datasets/{dataset_id}/ledger": ROLES,
    "/datasets/{dataset_id}/ledger/verification": ROLES,
    "/datasets/{dataset_id}/facts": ROLES,
    "/datasets/{dataset_id}/order": ("analyst",),
    "/datasets/{dataset_id}/delete": ("owner", "admin"),
    "/datasets/new": ("owner",),
    "/datasets/{declared_id}/upload": ("owner",),
    "/keys": ROLES,
    "/people": ("admin", "auditor"),
    "/system": ("admin", "auditor"),
    "/system/findings": ("admin", "auditor"),
    "/audit": ("admin", "auditor"),
    "/audit?action=job.order": ("admin", "auditor"),
    "/audit/verification": ("admin", "auditor"),
}


@pytest.fixture
def scene(world: World) -> Scene:
    return lived_in(world)


def test_every_page_is_for_whom_it_is(world: World, scene: Scene, sign_in: Callable[..., Visitor]) -> None:
    for role in ROLES:
        visitor = sign_in(role)
        for path, roles in SEEN.items():
            text = visitor.page(path.format_map(vars(scene)), 200 if role in roles else 403)
            assert ("role-missing" in text) == (role not in roles), (path, role)
            _holds_up(text, path)

    # On the same scene, which takes longer to make than to look at.
    _what_is_not_ones_own_does_not_exist(world, scene, sign_in)
    _an_auditor_sees_no_synthetic_row(world, scene, sign_in)
    _the_list_says_what_each_release_is(world, scene, sign_in)
    _pictures_of_a_release(world, scene, sign_in)
    hold_to_the_cost(world, scene, sign_in)


def _holds_up(text: str, path: str) -> None:
    """What auditors of pages look for in the text itself; contrast, width, weight and shifts are the browser's."""
    assert text.startswith('<!doctype html>\n<html lang="en">'), path
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in text
    titles = re.findall(r"<title>([^<]+)</title>", text)
    assert len(titles) == 1, path
    assert titles[0].endswith(" · understudy"), path
    assert not titles[0].startswith(" "), "a page without a name"
    assert text.count("<h1") == 1, path
    assert len(re.findall(r"<main\b", text)) == 1
    levels = [int(level) for level in re.findall(r"<h([1-6])\b", text)]
    assert all(after <= before + 1 for before, after in pairwise(levels)), f"{path} skips a heading"
    for image in re.findall(r"<img\b[^>]*>", text):
        assert all(f"{word}=" in image for word in ("alt", "width", "height")), (
            f"{image} moves what is below it"
        )
    assert re.findall(r"[a-z]{2}[.!?][A-Z][a-z]+", text) == [], f"{path} joins two sentences"
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids)), f"{path}: an id twice"
    head = text.partition("</head>")[0]
    assert text.count('rel="stylesheet"') == head.count('rel="stylesheet"'), "a style that comes late"
    assert all("defer" in script for script in re.findall(r"<script\b[^>]*>", text)), "a script that blocks"


def test_every_file_is_used_and_none_is_big() -> None:
    templates = "".join(path.read_text() for path in TEMPLATES.glob("*.html"))
    for name, asset in assets().items():
        assert f"asset('{name}')" in templates or f'asset("{name}")' in templates, (
            f"{name} is never asked for"
        )
        assert len(asset.packed) < 30_000, f"{name} weighs {len(asset.packed)} bytes"


def _what_is_not_ones_own_does_not_exist(world: World, scene: Scene, sign_in: Callable[..., Visitor]) -> None:
    """Not found and not allowed are one answer, as in the API; nothing of the thing is told."""
    ids = dict.fromkeys(vars(scene), "00000000-0000-4000-8000-000000000000")
    for visitor in (sign_in("stranger"), enter(world, world.caller(Role.ANALYST))):
        for path in ("/datasets/{dataset_id}", "/datasets/{dataset_id}/ledger", "/datasets/{dataset_id}/ledger.csv",
                     "/datasets/{dataset_id}/people", "/requests/{request_id}", "/jobs/{running_id}",
                     "/releases/{release_id}", "/releases/{release_id}/preview", "/releases/{pictures_id}/sheet.png"):  # fmt: skip
            hidden = visitor.get(path.format_map(vars(scene)))
            nothing = visitor.get(path.format_map(ids))
            assert (hidden.status_code, nothing.status_code) == (404, 404), path
            assert _told(hidden.text) == _told(nothing.text)
            assert "Admissions" not in hidden.text


def _an_auditor_sees_no_synthetic_row(world: World, scene: Scene, sign_in: Callable[..., Visitor]) -> None:
    auditor = sign_in("auditor")
    page = auditor.page(f"/releases/{scene.release_id}")
    assert "Synthetic data preview" not in page
    assert "Download samples" not in page
    assert "every outcome at most" in page
    for part in ("sheet.png", "preview"):
        assert auditor.get(f"/releases/{scene.pictures_id}/{part}").status_code == 403


def _the_list_says_what_each_release_is(world: World, scene: Scene, sign_in: Callable[..., Visitor]) -> None:
    for role in ("analyst", "auditor"):
        listed = sign_in(role).page("/releases").partition("<main")[2].partition("</main>")[0]
        rows = [
            " ".join(re.sub(r"<[^>]+>", " ", row).split()) for row in listed.split('<li class="row">')[1:]
        ]
        assert len(rows) == 2
        assert "Generator of images · ε" in rows[0]
        assert "Generator of rows · ε 1, δ 1e-6 · protects each record" in rows[1]


def _pictures_of_a_release(world: World, scene: Scene, sign_in: Callable[..., Visitor]) -> None:
    analyst = sign_in("analyst")
    place = f"/releases/{scene.release_id}"
    assert f'hx-get="{place}/preview"' in analyst.page(place), "drawn after the page is there"
    assert f'href="{place}?preview=true#pictures"' in analyst.page(place), "without scripts"
    rows = analyst.page(f"{place}/preview")
    assert "<figcaption>ward</figcaption>" in analyst.page(place), "drawn once"
    assert all(f"<figcaption>{name}</figcaption>" in rows for name in ("ward", "age", "sick", "seen"))
    assert '<p class="ends axis"><span>2020-01-01</span><span>2020-01-10</span></p>' in rows
    assert "of the rows in a bar" in rows
    sheet = analyst.get(f"/releases/{scene.pictures_id}/sheet.png")
    assert sheet.headers["content-type"] == "image/png"
    assert sheet.headers["cache-control"] == "no-store"
    assert sheet.content.startswith(b"\x89PNG")
    assert analyst.get(f"/releases/{scene.pictures_id}/sheet.png").content == sheet.content, "drawn once"
    assert analyst.get(f"/releases/{scene.release_id}/sheet.png").status_code == 404
    page = unescape(analyst.page(f"/releases/{scene.pictures_id}"))
    words = ", ".join(image_stand_in.LABELS)
    assert f"Rows from the top: {words}." in page
    assert f"{8 * len(image_stand_in.LABELS)} synthetic images, rows from the top: {words}" in page


def test_the_stages_of_a_job_show_which_are_done_and_which_one_runs(
    world: World, scene: Scene, sign_in: Callable[..., Visitor]
) -> None:
    analyst = sign_in("analyst")

    def stages(job_id: str) -> list[str]:
        listed = re.search(r'<ol class="stages">(.*?)</ol>', analyst.page(f"/jobs/{job_id}"), re.DOTALL)
        assert listed is not None
        return [
            "done" if "past" in kind and ": done" in text else "runs" if "aria-current" in kind else "waits"
            for kind, text in re.findall(r"<li(.*?)>(.*?)</li>", listed[1])
        ]

    assert stages(scene.queued_id) == ["waits"] * 4
    assert stages(scene.running_id) == ["done", "done", "runs", "waits"]
    assert stages(scene.failed_id) == ["waits"] * 4, "how far it came is not told"
    with world.database.transaction() as session:
        released = str(session.get_one(Release, UUID(scene.release_id)).job_id)
    assert stages(released) == ["done"] * 4


def test_pages_of_job_and_release_warn_of_a_degenerate_generator(
    world: World, scene: Scene, sign_in: Callable[..., Visitor]
) -> None:
    analyst = sign_in("analyst")
    with world.database.transaction() as session:
        release = session.get_one(Release, UUID(scene.release_id))
        pages = [f"/jobs/{release.job_id}", f"/releases/{scene.release_id}"]
    assert all("generator_check" not in analyst.page(page) for page in pages)
    collapsed = GeneratorCheck(draws=5000, distinct_records=3, constant_columns=("<ward>",))
    with world.database.transaction() as session:
        release = session.get_one(Release, UUID(scene.release_id))
        release.certificate = release.certificate | {MEMBER: collapsed.to_json()}
    for page in pages:
        text = analyst.page(page)
        assert "5,000 draws hold 3 different records" in text
        assert "&lt;ward&gt;" in text
        assert "larger epsilon" in text
        assert "degenerate-generator" in text


def test_the_page_of_a_release_lists_what_the_noise_hides(
    world: World, sign_in: Callable[..., Visitor]
) -> None:
    made, listed = release_of_few()
    analyst, release_id = sign_in("analyst"), world.release(made, artefacts=listed)
    (said,) = world.analyst.get(f"/v1/releases/{release_id}/precision").json()["hidden"]
    assert said.startswith("The noise hides 'no', the smallest class of the target.")
    assert said in unescape(analyst.page(f"/releases/{release_id}"))
    assert "noise hides" not in analyst.page(f"/releases/{world.release()}")


def test_hostile_words_are_words(world: World, sign_in: Callable[..., Visitor]) -> None:
    hostile = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>"
    domain = {
        "schema": "understudy.domain/1",
        "target": None,
        "privacy_unit": None,
        "columns": [{"name": hostile, "kind": "categorical", "categories": [hostile, "{{ 7 * 7 }}"]}],
    }
    dataset_id = world.declare(name=hostile, domain=domain)
    world.set_budget(dataset_id)
    asked = world.analyst.post(
        f"/v1/datasets/{dataset_id}/budget-requests", {"epsilon": 0.5, "delta": 1e-6, "purpose": hostile}
    ).json()
    world.owner.post(f"/v1/datasets/{dataset_id}/freeze", {"reason": f"={hostile}"})
    owner = sign_in("owner")
    for path in ("/overview", f"/datasets/{dataset_id}", f"/datasets/{dataset_id}/facts", f"/datasets/{dataset_id}/ledger",
                 f"/datasets/{dataset_id}/people", "/requests", f"/requests/{asked['id']}"):  # fmt: skip
        text = owner.page(path)
        assert "&lt;script&gt;alert(1)" in text, path
        assert "<script>alert" not in text
        assert "<img src=x" not in text
    assert "{{ 7 * 7 }}" in owner.page(f"/datasets/{dataset_id}/facts")
    file = owner.get(f"/datasets/{dataset_id}/ledger.csv")
    assert file.headers["content-type"].startswith("text/csv")
    assert "'=<script>" in file.text, "a spreadsheet would take it for a formula"


def test_words_of_addresses_are_not_shown(world: World, sign_in: Callable[..., Visitor]) -> None:
    admin = sign_in("admin")
    assert "hello" not in admin.page("/overview?done=hello")
    assert "The key is revoked" in admin.page("/overview?done=key-revoked")
    assert "&lt;b&gt;" in admin.page("/audit?actor=<b>")
    assert "<b>" not in admin.page("/requests?state=<b>")
    for path in (
        "/requests?before=<b>", "/overview?before=<b>", "/jobs/<b>", "/datasets/1/ledger?before=0",
        "/audit?actor=%00", "/audit?object=%00",
    ):  # fmt: skip
        answer = admin.get(path)
        assert answer.status_code == 422
        require_page(answer)
        assert "<b>" not in answer.text


def _told(text: str) -> str:
    return re.sub(r"request <code>[^<]*</code>|value=\"[^\"]*\"", "", text)
