"""A real Chromium over a real server on the loopback address, for journeys, accessibility and screenshots."""

import os
import shutil
import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn

# Read here: a test sees no setting of who runs it.
BROWSER = os.environ.get("UNDERSTUDY_BROWSER")
REQUIRED = os.environ.get("UNDERSTUDY_BROWSER_REQUIRED") == "1"
NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = (
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--force-color-profile=srgb",
    "--font-render-hinting=none",
)
AXE = (Path(__file__).parent / "axe" / "axe.min.js").read_text()
GRAVE = {"serious", "critical"}
HELD_TO = {"landmark-unique", "heading-order"}
"""Rules of axe whose findings count although they are only moderate."""
WHAT_IS_GRAVE = """(rules) => axe.run(document, { ...rules, resultTypes: ["violations"] }).then((found) => ({
  passes: found.passes.length,
  violations: found.violations.map((one) => [one.id, one.impact, one.nodes.map((node) => node.html.slice(0, 200))]),
}))"""
"""What a run of axe found; the whole of it would take longer to carry over than to find."""


def browser_path() -> str:
    """The browser to use; without one the test skips, or fails where one is required."""
    found = BROWSER or next(filter(None, map(shutil.which, NAMES)), None)
    try:
        import playwright.sync_api  # noqa: F401 - whether it is installed
    except ImportError:
        found, why = None, "playwright is not installed; install the dev extra"
    else:
        why = "no Chromium on PATH; install one or name it in UNDERSTUDY_BROWSER"
    if found is None:
        if REQUIRED:
            pytest.fail(why)
        pytest.skip(why)
    return found


@contextmanager
def served(app: Any, *, port: int = 0) -> Iterator[str]:
    """Serve an application on a port of the loopback address, 0 for a free one. Yields its address."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", port))
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="on", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    end = time.monotonic() + 600
    while not server.started:
        assert time.monotonic() < end, "the server did not start"
        time.sleep(0.02)
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(20)
        listener.close()


@contextmanager
def chromium() -> Iterator[Any]:
    """One browser for many contexts."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=browser_path(), args=list(ARGUMENTS))
        yield browser
        browser.close()


BROKEN_OPTIONS = """() => {
  const found = { whole: 0, broken: [] };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node; node = texts.nextNode()) {
    for (const option of node.data.matchAll(/--[a-z][a-z-]*/g)) {
      const range = document.createRange();
      range.setStart(node, option.index);
      range.setEnd(node, option.index + option[0].length);
      const lines = new Set([...range.getClientRects()].filter((one) => one.width > 0).map((one) => Math.round(one.top)));
      if (lines.size > 1) found.broken.push(option[0]);
      if (lines.size === 1) found.whole += 1;
    }
  }
  return found;
}"""
"""The options of commands, such as `--epsilon`, that a page shows in one line, and those that it cuts."""
BROKEN_WORDS = """() => {
  const found = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    if (node.parentElement.closest("code, pre, .secret, .sr, script, option")) continue;
    for (const word of node.textContent.matchAll(/[\\p{L}\\p{N}]+/gu)) {
      const range = document.createRange();
      range.setStart(node, word.index); range.setEnd(node, word.index + word[0].length);
      const tops = new Set([...range.getClientRects()].filter((one) => one.width).map((one) => Math.round(one.top)));
      if (tops.size > 1) found.push(word[0]);
    }
  }
  return found;
}"""
"""Words outside of code that stand on two lines."""


def grave_findings(tab: Any, rules: Mapping[str, Sequence[str]] | None = None) -> list[Any]:
    """What axe finds on a page that counts: rule, impact and elements.

    Args:
        tab: the page of the browser.
        rules: options of `axe.run`; all rules by default.
    """
    tab.evaluate(f"window.axe || (() => {{ {AXE} }})()")
    found = tab.evaluate(WHAT_IS_GRAVE, rules or {})
    assert found["passes"], "nothing was looked at"
    return [one for one in found["violations"] if one[1] in GRAVE or one[0] in HELD_TO]
