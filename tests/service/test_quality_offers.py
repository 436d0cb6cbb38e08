"""What `understudy publish` shows and offers after a release, against the service."""

import io
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
from rich.console import Console

from tests.dashboard.newer_scene import make_report
from tests.service.test_owner_reports import HTML
from tests.service.utility_reports import charged_report, name_generator
from tests.service.world import World
from understudy import Client
from understudy.cli.oversight import overview_lines
from understudy.cli.quality_offer import UTILITY_REPORT, offer_utility_report, write_owner_summary
from understudy.cli.releases import precision_lines
from understudy.cli.screen import TerminalScreen
from understudy.publishing.order import Order, Published
from understudy.table_files import TableFiles


class Keys:
    """The keys of a world, as the command finds them."""

    keys = ("owner", "analyst", "admin")

    def __init__(self, world: World) -> None:
        self._world = world

    @contextmanager
    def client(self, role: str) -> Any:
        key = getattr(self._world, role).key
        with Client("http://service", key=key, transport=httpx.MockTransport(self._served)) as client:
            yield client

    def _served(self, request: httpx.Request) -> httpx.Response:
        got = self._world.client.request(
            request.method,
            request.url.raw_path.decode(),
            headers=dict(request.headers),
            content=request.content,
        )
        kept = {"content-type": got.headers.get("content-type", "")}
        return httpx.Response(got.status_code, headers=kept, content=got.content)


def screen() -> TerminalScreen:
    return TerminalScreen(Console(file=io.StringIO(), width=200))


def said(shown: TerminalScreen) -> str:
    return cast("io.StringIO", shown.console.file).getvalue()


def published(world: World, release_id: str) -> Published:
    dataset_id = world.owner.get(f"/v1/releases/{release_id}").json()["dataset_id"]
    with cast("Any", Keys(world)).client("owner") as client:
        return Published(
            dataset=client.read_dataset(dataset_id),
            job=cast("Any", None),
            release_id=release_id,
            certificate={"privacy_parameters": {"epsilon": 0.5, "delta": 1e-6}},
            statement=client.read_ledger(dataset_id),
            rows=1,
            files=(),
        )


def order(out: Path, *, records: str | None = None, **changes: Any) -> Order:
    unit = {"name": "person", "kind": "unit"} | ({} if records is None else {"records": records})
    table = TableFiles(rows=out / "rows.csv", domain={"columns": [unit]}, declared_size=1000)
    return Order(table=table, name="a", epsilon=0.5, delta=1e-6, sample_rows=1, out=out, **changes)


def test_the_owner_is_shown_the_summary_once_there_is_one(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    release_id = world.release()
    keys, shown = cast("Any", Keys(world)), screen()
    write_owner_summary(keys, published(world, release_id), shown)
    assert said(shown) == "", "none was ordered"
    world.owner.post(f"/v1/releases/{release_id}/sealed-reports", {})
    monkeypatch.setattr("understudy.cli.quality_offer.PATIENCE_SECONDS", 0.0)
    write_owner_summary(keys, published(world, release_id), shown)
    assert "It is not made yet" in said(shown)
    make_report(world, world.queue.sent_reports[0], HTML)
    write_owner_summary(keys, published(world, release_id), shown)
    assert "NOT differentially private" in said(shown)
    assert "“a” <b>" in said(shown)


def test_a_utility_report_is_offered_with_its_price_and_ordered_when_the_order_says_so(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release_id = world.release()
    name_generator(world, release_id)
    shown = screen()

    def offered(**changes: Any) -> Published:
        wanted = order(tmp_path, **changes)
        return offer_utility_report(
            cast("Any", Keys(world)), published(world, release_id), wanted, shown, may_ask=False
        )

    assert offered().files == ()
    assert "Quote of a utility report: epsilon 0.05, delta 1.5e-07" in said(shown)
    assert "available under the cap after it" in said(shown)
    assert f"understudy quality order {release_id} --epsilon 0.05" in said(shown)
    assert world.queue.sent_measurings == [], "nothing is ordered unasked"
    assert "this release all records that count" not in said(shown)
    assert offered(records="learn").files == ()
    assert "this release all records that count" in said(shown)
    assert offered(model=True).files == ()
    assert offered(utility_report=500.0).files == ()
    assert "The cap leaves nothing for a utility report of epsilon 500" in said(shown)
    monkeypatch.setattr(
        Client,
        "wait_for_charged_report",
        lambda self, _: self.read_charged_report(charged_report(world, release_id)),
    )
    measured = offered(utility_report=0.2)
    assert len(world.queue.sent_measurings) == 1
    assert measured.files == (tmp_path / UTILITY_REPORT,)
    assert measured.statement.document["reserved"]["epsilon"] != "0.000000", "the ledger after it"
    assert "differentially private: epsilon" in said(shown)


def test_overview_and_precision_are_read_by_client_and_command(world: World, tmp_path: Path) -> None:
    release_id = world.release()
    keys = Keys(world)
    with keys.client("analyst") as client:
        assert any(line.startswith("dataset ") for line in overview_lines(client.read_overview()))
        lines = precision_lines(client.read_precision(release_id))
        client.download_figures(release_id, tmp_path / "figures.html")
    assert lines[-1] == "  this release holds no noisy counts"
    assert "What was released" in (tmp_path / "figures.html").read_text()
