"""Journeys over the newer pages, in a real browser: reports, notifications, the dossier, the end of a dataset, names, grants.

They go over the scene of `test_browser`, after its own journeys, and are called from there: one server, one browser.
"""

import json
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from core.db.tables import NotificationEndpoint
from core.platform.notifications.attempts import DELIVERED
from core.platform.notifications.details import Details, code_of
from core.platform.notifications.dispatch import Dispatcher
from core.platform.notifications.messages import Batch
from tests.dashboard.newer_scene import Newer, make_report
from tests.dashboard.scene import Scene
from tests.service.world import World


def reports(world: World, tab: Any, go: Any, scene: Scene) -> None:
    """An owner orders an owner report, waits for it, downloads it, and deletes it; then takes the dossier along."""
    go(f"/releases/{scene.release_id}")
    tab.get_by_label("Column to predict").first.select_option("ward")
    tab.get_by_role("button", name="Order report").click()
    tab.get_by_text("The owner report is ordered").wait_for()
    tab.get_by_text("Waiting for a worker").wait_for()
    make_report(world, world.queue.sent_reports[-1])
    tab.get_by_role("link", name="Refresh").click()
    with tab.expect_download() as taken:
        tab.get_by_role("link", name="Download (HTML)").click()
    assert re.fullmatch(r"sealed-report-[0-9a-f-]{36}\.html", taken.value.suggested_filename)
    assert "for the owner" in Path(taken.value.path()).read_text()
    tab.get_by_role("button", name="Delete the report that predicts ward").click()
    tab.get_by_text("The owner report is deleted").wait_for()
    go(f"/datasets/{scene.dataset_id}/ledger")
    with tab.expect_download() as paper:
        tab.get_by_role("link", name="Dossier for the data protection officer").click()
    assert paper.value.suggested_filename.endswith(".html")
    assert Path(paper.value.path()).read_text().startswith("<!doctype html>")
    with tab.expect_download() as signed:
        tab.get_by_role("link", name="Signed dossier (JSON)").click()
    assert json.loads(Path(signed.value.path()).read_text())["signature"]
    tab.get_by_role("link", name="Audit trail").click()
    tab.get_by_role("cell", name="exported the dossier").first.wait_for()


def charged(tab: Any, go: Any, scene: Scene, newer: Newer) -> None:
    """An analyst asks for price and precision, orders, and reads a report that was made."""
    go(f"/releases/{scene.release_id}")
    tab.locator("#charged-epsilon").fill("0.05")
    grants = tab.get_by_label("Grant to charge")
    if grants.count():
        grants.select_option(index=0)
    tab.get_by_role("button", name="Show price and precision").click()
    tab.get_by_role("heading", name="Precision").wait_for()
    tab.get_by_role("button", name="Order report: reserve").click()
    tab.get_by_text("The job is ordered").wait_for()
    go(f"/releases/{scene.release_id}")
    tab.locator(f"a[href='/charged-reports/{newer.charged_id}']").click()
    tab.get_by_role("heading", name="Utility of the release").wait_for()
    tab.get_by_text("Mean of all columns").wait_for()


def notifications(world: World, tab: Any, go: Any) -> None:
    """An owner registers an address and confirms it, then a webhook, tests it, sees the delivery, and removes it."""
    context = world.app.state.context
    settings = context.settings.model_copy(update={"smtp_host": "127.0.0.1", "smtp_sender": "u@example.org"})
    world.app.state.context = replace(context, settings=settings)
    go("/notifications")
    tab.get_by_role("radio", name="E-mail").check()
    tab.get_by_label("Address").fill("a.person@example.org")
    tab.get_by_role("button", name="Add endpoint").click()
    tab.get_by_label("Code").fill(_code(world, tab.url))
    tab.get_by_role("button", name="Confirm address").click()
    tab.get_by_text("The address is confirmed").wait_for()
    go("/notifications")
    tab.get_by_label("Address").fill("https://hooks.example.org/a")
    tab.get_by_role("checkbox", name="job.failed").check()
    tab.get_by_role("button", name="Add endpoint").click()
    assert tab.locator(".secret").inner_text().startswith("whsec_")
    tab.get_by_role("link", name="Open the endpoint").click()
    tab.get_by_role("button", name="Send a test").click()
    tab.get_by_text("A test message was sent").wait_for()
    _deliver(world)
    tab.reload()
    tab.get_by_role("cell", name="delivered", exact=True).wait_for()
    tab.get_by_role("button", name="Remove").click()
    tab.get_by_text("The endpoint and its address are removed").wait_for()


def the_end(tab: Any, go: Any, newer: Newer) -> None:
    """An owner deletes a dataset: a name that is nearly right does nothing, the right one leaves a tombstone."""
    go(f"/datasets/{newer.doomed_id}/facts")
    tab.get_by_role("link", name="Delete this dataset").click()
    typed = tab.get_by_label("Type the name of the dataset")
    typed.fill("Old")
    tab.get_by_role("button", name="Delete permanently").click()
    tab.get_by_text("Nothing was deleted").wait_for()
    go(f"/datasets/{newer.doomed_id}/delete")
    typed.fill("Old survey")
    tab.get_by_role("button", name="Delete permanently").click()
    tab.get_by_text("The dataset is deleted").wait_for()


def names_and_grants(tab: Any, go: Any, newer: Newer, holder: UUID) -> None:
    """An admin, on a phone: names a principal, finds its grants by that name, and revokes one after a look."""
    go("/keys")
    tab.locator("#named-principal").fill(str(holder))
    tab.get_by_label("New name").fill("Ward statistics")
    tab.get_by_role("button", name="Set name").click()
    tab.get_by_text("The principal's name is changed").wait_for()
    tab.get_by_text("Menu: ").click()
    tab.get_by_role("link", name="Grants").click()
    tab.get_by_label("Holder").select_option(label=f"Ward statistics ({str(holder)[:8]})")
    tab.get_by_label("State").select_option("open")
    tab.get_by_role("button", name="Filter").click()
    tab.get_by_role("link", name="Show all").wait_for()
    tab.locator(f"a[href='/grants/{newer.grant_id}']").click()
    tab.get_by_role("button", name="Revoke the grant").click()
    tab.get_by_text("The grant is revoked.").wait_for()
    assert tab.get_by_role("button", name="Revoke the grant").count() == 0


def _code(world: World, url: str) -> str:
    """The code that the address was sent."""
    endpoint_id = UUID(url.rpartition("/")[2].partition("?")[0])
    with world.database.read_only() as session:
        row = session.get_one(NotificationEndpoint, endpoint_id)
        master_keys = world.app.state.context.settings.master_keys
        return code_of(Details.open(row.wrapped_details or b"", master_keys, endpoint_id).secret)


class _Arrives:
    """A way on which everything arrives."""

    def send(self, batch: Batch, *, at: datetime) -> Sequence[str]:
        assert at
        return [DELIVERED] * len(batch.messages)


def _deliver(world: World) -> None:
    """What the sender does beside the service."""
    dispatcher = Dispatcher(
        world.database,
        master_keys=world.app.state.context.settings.master_keys,
        clock=world.clock,
        transports={"webhook": _Arrives()},
        entropy=os.urandom,
        digest=timedelta(hours=1),
        retention=timedelta(days=30),
    )
    dispatcher.round()
    dispatcher.close()
