"""`make screenshots`: pictures of the key pages, light and dark, desktop and phone, into docs/screenshots."""

import io
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from markupsafe import escape
from PIL import Image

from core.artifacts.reports.owner_summary import OwnerSummary
from core.platform.health.signs import give_sign
from tests.dashboard.browsing import chromium, served
from tests.dashboard.every_page import PAGES
from tests.dashboard.newer_scene import enrich, make_report
from tests.dashboard.scene import lived_in
from tests.service.world import World

OUT = Path(os.environ.get("UNDERSTUDY_SCREENSHOTS", Path(__file__).parents[2] / "docs" / "screenshots"))
# Read here: a test sees no setting of who runs it.
WANTED = [name for name in os.environ.get("UNDERSTUDY_PAGES", "").split(",") if name]
MOST_BYTES = 60_000
SIZES = {"desktop": {"width": 1200, "height": 800}, "phone": {"width": 360, "height": 740}}
KEY_PAGES = [
    "sign-in", "overview", "orderable", "dataset", "request", "ledger", "job", "order", "release", "system", "declare",
]  # fmt: skip
"""What the documentation keeps; the others are taken where UNDERSTUDY_PAGES names them."""


def test_screenshots(world: World) -> None:
    from core.platform.access.roles import Role

    world.clock.at = datetime.now(UTC) - timedelta(days=17, hours=2)
    scene = lived_in(world)
    places = vars(scene) | vars(enrich(world, scene)) if WANTED else vars(scene)
    _compare(world, scene.release_id)
    keys = {"owner": world.owner.key, "analyst": world.analyst.key, "admin": world.admin.key}
    keys["auditor"] = world.caller(Role.AUDITOR).key
    OUT.mkdir(parents=True, exist_ok=True)
    wanted = WANTED or KEY_PAGES
    _wind(world)  # before anybody enters: a session does not last for seventeen days
    with served(world.app) as address, chromium() as browser:
        for scheme in ("light", "dark"):
            for size, viewport in SIZES.items():
                for role in dict.fromkeys(PAGES[name][0] for name in wanted):
                    context = browser.new_context(
                        viewport=viewport, color_scheme=scheme, reduced_motion="reduce"
                    )
                    tab = context.new_page()
                    if role is not None:
                        enter(tab, address, keys[role])
                    for name in wanted:
                        if PAGES[name][0] == role:
                            _wind(world)
                            page = address + PAGES[name][1].format_map(places)
                            tab.goto(page)
                            tab.wait_for_load_state("networkidle")
                            assert tab.url == page, "the page itself, not the way in"
                            save(tab, OUT / f"{name}-{size}-{scheme}.png")
                    context.close()


def _compare(world: World, release_id: str) -> None:
    """Leave an owner report with a summary, as a worker would have after the release."""
    world.owner.post(f"/v1/releases/{release_id}/sealed-reports", {})
    summary = OwnerSummary(
        sentences=(
            "Single columns are 0.9\u202f% away from the real rows on average; chance alone would make 0.6\u202f%.",
            "Nearest is “sick” (0.1\u202f%), farthest “age” (2.4\u202f%, by chance 0.7\u202f%).",
            "Pairs of columns are 3.1\u202f% away on average; farthest are “age” and “ward” (5.8\u202f%).",
        ),
        look_at=("Look first at “age”: over 3 times as far from the real rows as by chance.",),
    )
    (report_id,) = world.queue.sent_reports
    make_report(world, report_id, f'<meta name="understudy-summary" content="{escape(summary.text)}">')


def _wind(world: World) -> None:
    """Let it be now: the system page compares clocks, and hears whether workers live."""
    world.clock.at = datetime.now(UTC)
    with world.database.transaction() as session:
        give_sign(session, name="worker on north-1", role="worker", at=world.clock.now())
        give_sign(session, name="reports@north-1", role="reports", at=world.clock.now())
        give_sign(session, name="upkeep on north-1", role="upkeep", at=world.clock.now())


def enter(tab: Any, address: str, key: str) -> None:
    tab.goto(f"{address}/sign-in")
    tab.get_by_label("API key").fill(key)
    tab.get_by_role("button", name="Sign in").click()
    tab.wait_for_url("**/overview")


def save(tab: Any, path: Path) -> None:
    shot = Image.open(io.BytesIO(tab.screenshot(full_page=True))).convert("RGB")
    for colours in (96, 48, 24, 12):
        packed = io.BytesIO()
        shot.quantize(colours, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(
            packed, "PNG", optimize=True
        )
        if packed.tell() <= MOST_BYTES:
            break
    path.write_bytes(packed.getvalue())
