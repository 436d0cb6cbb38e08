"""Private rows where a domain is wanted: the script sends nothing, and the service shows and logs nothing of them."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from tests.dashboard.browsing import browser_path, chromium, grave_findings, served
from tests.dashboard.screenshots import enter
from tests.dashboard.visitor import Visitor
from tests.dashboard.visitor import enter as signed_in
from tests.service.world import CSV, DOMAIN, World

NAME = "Ottilie Brandstätter"
"""Of a patient: it must come back from nowhere."""
ROWS = [{"name": NAME, "kind": "inpatient", "age": 61}]
NO_DOMAINS = {
    "csv": f"patient;age\n{NAME};61\n",
    "records": json.dumps(ROWS, ensure_ascii=False),
    "lines": "\n".join(json.dumps(row, ensure_ascii=False) for row in ROWS * 2),
    "by column": json.dumps({"name": {"0": NAME}, "age": {"0": 61}}, ensure_ascii=False),
    # `to_json` of pandas: its orients "split" and "table" have the keys of a domain.
    "split": json.dumps({"columns": ["name", "age"], "data": [[NAME, 61]]}, ensure_ascii=False),
    "table": json.dumps({"schema": {"fields": [{"name": "name"}]}, "data": ROWS}, ensure_ascii=False),
    "text": json.dumps(NAME, ensure_ascii=False),
    "cut off": '{"schema": "understudy.domain/1", "columns": [{"name": "' + NAME,
    "nested": '{"a":' * 100_000 + f'"{NAME}"' + "}" * 100_000,
}
REFUSAL = "This file holds rows or is no domain. Draft a domain on your machine: understudy domain draft FILE"


@pytest.fixture(scope="module")
def owner(shared_world: World) -> Visitor:
    """Of what the service refuses, and keeps nothing of."""
    return signed_in(shared_world, shared_world.owner)


@pytest.mark.parametrize("kind", NO_DOMAINS)
@pytest.mark.parametrize(
    "path", ["/datasets/review", "/datasets", "/datasets/edit", "/datasets/edited", "/datasets/new"]
)
def test_the_service_sends_no_rows_back(
    owner: Visitor,
    kind: str,
    path: str,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    answer = owner.send(path, name="patients", declared_size="2500", domain=NO_DOMAINS[kind], edit="whole")
    assert answer.status_code == (200 if path == "/datasets/new" else 422)
    assert NAME not in answer.text
    assert NAME.split(maxsplit=1)[0] not in answer.text
    if path != "/datasets/new":
        assert "understudy domain draft" in answer.text
    assert NAME.split(maxsplit=1)[0] not in caplog.text + "".join(capfd.readouterr())
    if path != "/datasets":
        assert 'value="patients"' in answer.text, "name and size stay"


def test_the_page_sends_no_rows(world: World, tmp_path: Path) -> None:
    """Chosen, dropped or pasted: nothing leaves the browser until the text is a domain."""
    browser_path()
    from playwright.sync_api import expect

    files = {f"{kind}.json": text.encode() for kind, text in NO_DOMAINS.items()}
    files |= {"rows.csv": CSV, "large.json": b'{"schema": "understudy.domain/1"}' + b" " * 2**22}
    domain = tmp_path / "domain.json"
    domain.write_text(json.dumps(DOMAIN | {"declared_size": 2500}))
    with served(world.app) as address, chromium() as browser:
        tab = browser.new_context(reduced_motion="reduce").new_page()
        tab.set_default_timeout(20_000)
        enter(tab, address, world.owner.key)
        tab.goto(f"{address}/datasets/new")
        sent: list[str] = []
        # The browser may fetch the icon of the page later.
        tab.on("request", lambda request: "/static/" in request.url or sent.append(request.url))
        box, told = tab.locator("#domain"), tab.locator("#domain-refused")
        expect(told).to_have_attribute("role", "alert")
        for name, content in files.items():
            told.evaluate("(element) => element.replaceChildren()")
            file = tmp_path / name
            file.write_bytes(content)
            tab.locator("#file").set_input_files(str(file))
            expect(told).to_contain_text("Nothing was sent." if name == "large.json" else REFUSAL)
            expect(box).to_have_value("")
            expect(tab.locator("#file")).to_have_value("")
        _drop(tab, "rows.csv", CSV.decode())
        expect(told).to_contain_text(REFUSAL)
        assert grave_findings(tab, {}) == []
        tab.get_by_label("Name").fill("patients")
        tab.locator("#declared_size").fill("2500")
        for text in NO_DOMAINS.values():
            told.evaluate("(element) => element.replaceChildren()")
            box.fill(text)
            tab.get_by_role("button", name="Review columns").click()
            expect(told).to_contain_text("This text holds rows or is no domain.")
            expect(box).to_have_attribute("aria-invalid", "true")
        assert sent == []
        tab.locator("#file").set_input_files(str(domain))
        expect(box).to_have_value(domain.read_text())
        expect(told).to_be_empty()
        tab.get_by_role("button", name="Review columns").click()
        tab.get_by_role("heading", name="Review columns").wait_for()


def _drop(tab: Any, name: str, text: str) -> None:
    tab.evaluate(
        """([name, text]) => {
          const dropped = new DataTransfer();
          dropped.items.add(new File([text], name, { type: "text/csv" }));
          document.querySelector(".drop").dispatchEvent(new DragEvent("drop", { dataTransfer: dropped, cancelable: true }));
        }""",
        [name, text],
    )
