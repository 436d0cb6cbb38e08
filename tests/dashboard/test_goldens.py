"""Key pages look as they did: compared with kept pictures, desktop and phone; `make goldens-dashboard` takes them anew."""

import os
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageDraw

from core.platform.access.roles import Role
from tests.dashboard.browsing import REQUIRED, browser_path, chromium, served
from tests.dashboard.every_page import PAGES
from tests.dashboard.goldens import (
    FOLDER,
    TAKEN_WITH,
    difference,
    make_alike,
    picture,
    serve_fonts,
    write,
)
from tests.dashboard.scene import lived_in
from tests.dashboard.screenshots import SIZES, enter
from tests.service.world import World

# Read here: a test sees no setting of who runs it.
ANEW = os.environ.get("UNDERSTUDY_GOLDENS") == "anew"
OUT = os.environ.get("UNDERSTUDY_GOLDENS_OUT")
KEPT = ("overview", "dataset", "request", "ledger", "job", "order", "declare", "certificate")
"""The certificate is on an auditor's page, which has no plots: they are drawn afresh from the generator by each process."""


@pytest.mark.long
def test_key_pages_look_as_they_did(world: World, tmp_path: Path) -> None:
    browser_path()
    out = Path(OUT) if OUT else tmp_path
    scene = lived_in(world)
    keys = {"owner": world.owner.key, "analyst": world.analyst.key, "admin": world.admin.key}
    keys["auditor"] = world.caller(Role.AUDITOR).key
    now = world.clock.now() + timedelta(days=1)
    found: dict[str, Image.Image] = {}
    serve_fonts(world.app)
    with served(world.app) as address, chromium() as browser:
        version = browser.version
        for role in dict.fromkeys(PAGES[name][0] for name in KEPT):
            context = browser.new_context(reduced_motion="reduce", bypass_csp=True)
            tab = context.new_page()
            # An examination of the system arrives when it is done, and says how late it is.
            tab.route("**/overview/findings*", lambda route: route.fulfill(status=204))
            tab.clock.set_fixed_time(now)
            enter(tab, address, keys[role])
            for name in (name for name in KEPT if PAGES[name][0] == role):
                tab.set_viewport_size(SIZES["desktop"])
                tab.goto(address + PAGES[name][1].format_map(vars(scene)), wait_until="load")
                make_alike(tab)
                for size, viewport in SIZES.items():
                    found[f"{name}-{size}.png"] = picture(tab, viewport)
            context.close()
    if ANEW:
        for name, shot in found.items():
            write(shot, FOLDER / name)
        TAKEN_WITH.write_text(f"{version}\n")
        return
    apart = {name: _apart(shot, name, out) for name, shot in found.items()}
    told = "\n".join(f"{name} {words}" for name, words in apart.items() if words)
    if told:
        _tell(told, version, out)
    assert not told


def _apart(shot: Image.Image, name: str, out: Path) -> str | None:
    with Image.open(FOLDER / name) as golden:
        words = difference(shot, golden)
    if words:
        shot.save(out / name)
    return words


def _tell(told: str, version: str, out: Path) -> None:
    """Fail, or, where another browser draws, say so."""
    taken = TAKEN_WITH.read_text().strip()
    advice = f"Look at the pictures in {out} beside those in tests/dashboard/golden; `make goldens-dashboard` takes them anew."
    if version.partition(".")[0] != taken.partition(".")[0] and not REQUIRED:
        pytest.skip(f"The pictures were taken with Chromium {taken}, and here is {version}. {told}\n{advice}")
    pytest.fail(f"{told}\nTaken with Chromium {taken}, here {version}. {advice}", pytrace=False)


@pytest.mark.parametrize("name", ["dataset-desktop.png", "order-phone.png"])
def test_a_visible_change_is_reported(name: str) -> None:
    """Letters drawn a little otherwise pass; a button that is gone, another colour or another length does not."""
    with Image.open(FOLDER / name) as kept:
        golden = kept.convert("RGB")
    rng = np.random.default_rng(1)
    noisy = np.asarray(golden, dtype=np.int16) + rng.integers(-12, 13, (golden.height, golden.width, 3))
    assert difference(Image.fromarray(np.clip(noisy, 0, 255).astype(np.uint8)), golden) is None
    covered = golden.copy()
    _, top, _, bottom = _accented(golden)
    ImageDraw.Draw(covered).rectangle((0, top, golden.width, bottom), fill=golden.getpixel((40, top)))
    assert "looks different" in (difference(covered, golden) or "")
    shorter = golden.crop((0, 0, golden.width, golden.height - 10))
    assert "pixels, and was" in (difference(shorter, golden) or "")


def _accented(shot: Image.Image) -> Any:
    """Where something large of the accent's colour is: a button, or the bar."""
    colours = np.asarray(shot, dtype=np.int16)
    near = (np.abs(colours - np.array([15, 107, 102])).max(axis=2) < 12).sum(axis=1) > 20
    rows = np.flatnonzero(near)
    return 0, int(rows.min()), shot.width, int(rows.max())


def test_another_browser_is_said_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    taken = TAKEN_WITH.read_text().strip()
    monkeypatch.setattr("tests.dashboard.test_goldens.REQUIRED", False)
    with pytest.raises(pytest.fail.Exception, match="make goldens-dashboard"):
        _tell("a.png looks different", taken, tmp_path)
    with pytest.raises(
        pytest.skip.Exception, match=f"taken with Chromium {re.escape(taken)}, and here is 999"
    ):
        _tell("a.png looks different", "999.0.1", tmp_path)
    monkeypatch.setattr("tests.dashboard.test_goldens.REQUIRED", True)
    with pytest.raises(pytest.fail.Exception, match=r"here 999\.0\.1"):
        _tell("a.png looks different", "999.0.1", tmp_path)
