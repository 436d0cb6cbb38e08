from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import httpx
import pytest
from rich.console import Console

from core.artifacts.sampling.image_formats import LARGEST_SHEET, MEDIA_TYPES
from core.artifacts.sampling.samples import TableSamples
from core.plan.domain.images import ImageDomain
from service.releases.schemas import SampleFormat
from tests.core.artifacts import image_stand_in
from tests.core.artifacts.stand_in import DOMAIN
from understudy import Client, InputUnusable
from understudy.cli.sample import sample_online
from understudy.cli.screen import TerminalScreen
from understudy.publishing.order import Order, sample_files
from understudy.publishing.publish import declared, fetch
from understudy.sample_formats import FORMATS, IMAGE_FORMATS, TABLE_FORMATS, formats_of, sheet_images
from understudy.table_files import TableFiles


def test_the_client_knows_the_formats_of_the_service() -> None:
    assert set(FORMATS) == {member.value for member in SampleFormat}
    assert tuple(TableSamples.MEDIA_TYPES) == TABLE_FORMATS == formats_of(DOMAIN)
    assert tuple(MEDIA_TYPES) == IMAGE_FORMATS == formats_of(image_stand_in.domain())


@pytest.mark.parametrize(("side", "labels"), [(6, 3), (28, 10), (256, 1000), (256, 0), (4, 0)])
def test_a_first_sheet_is_never_too_large_for_the_service(side: int, labels: int) -> None:
    domain = image_stand_in.domain(labels=tuple(f"label {n}" for n in range(labels))) | {
        "height": side,
        "width": side,
    }
    images = sheet_images(domain)
    assert 0 < images <= LARGEST_SHEET // (side + 2) ** 2
    assert ImageDomain.from_json(domain).values > 0


def order(domain: dict[str, Any], tmp_path: Path) -> Order:
    table = TableFiles(rows=tmp_path / "rows", domain=domain, declared_size=100)
    return Order(table=table, name="n", epsilon=1.0, delta=1e-6, sample_rows=500, out=tmp_path)


def test_publishing_images_leaves_arrays_and_a_contact_sheet(tmp_path: Path) -> None:
    domain = image_stand_in.domain()
    assert sample_files(order(domain, tmp_path), 500) == {"synthetic.npz": 500, "contact-sheet.png": 24}
    assert declared(domain) == "images of 6 x 5 pixels, 3 labels"


def test_publishing_a_table_leaves_rows(tmp_path: Path) -> None:
    assert sample_files(order(DOMAIN, tmp_path), 500) == {"synthetic.csv": 500}
    assert declared(DOMAIN) == "4 columns"


class Released:
    """An analyst's client of one release, which keeps how many rows it was asked for."""

    def __init__(self, counted: float) -> None:
        self.counted = counted
        self.drawn: dict[str, int] = {}

    def read_certificate(self, _: str) -> dict[str, Any]:
        return {}

    def read_ledger(self, _: str) -> SimpleNamespace:
        return SimpleNamespace(document={})

    @property
    def auditing(self) -> SimpleNamespace:
        return SimpleNamespace(list_signing_keys=list)

    def download_bundle(self, _id: str, _path: Path, *, seen: object) -> None: ...

    def download_figures(self, _id: str, _path: Path) -> None: ...

    def download_samples(self, _id: str, path: Path, *, rows: int, file_format: str, seen: object) -> None:
        self.drawn[path.name] = rows

    def ask_counts(self, _id: str, question: str) -> SimpleNamespace:
        assert question == "count"
        return SimpleNamespace(rows=[SimpleNamespace(estimate=self.counted)])


RECORDS = {"columns": [*DOMAIN["columns"], {"name": "patient", "kind": "unit", "records": "learn"}]}


@pytest.mark.parametrize(
    ("domain", "asked", "drawn"),
    [
        (image_stand_in.domain(), None, {"synthetic.npz": 100, "contact-sheet.png": 24}),
        (image_stand_in.domain(), 7, {"synthetic.npz": 7, "contact-sheet.png": 24}),
        (DOMAIN, None, {"synthetic.csv": 100}),
        (DOMAIN | RECORDS, None, {"synthetic.csv": 312}),
        (DOMAIN | RECORDS, 7, {"synthetic.csv": 7}),
    ],
    ids=["images", "some images", "units", "records", "some records"],
)
def test_as_many_rows_are_drawn_as_were_asked_for_or_as_the_release_describes(
    tmp_path: Path, domain: dict[str, Any], asked: int | None, drawn: dict[str, int]
) -> None:
    released = Released(counted=312.4)
    job = SimpleNamespace(require_release=lambda: "r")
    wanted = replace(order(domain, tmp_path), sample_rows=asked)
    screen = TerminalScreen(Console(quiet=True))
    published = fetch(
        cast("Any", released), cast("Any", SimpleNamespace(id="d")), cast("Any", job), wanted, screen
    )
    assert released.drawn == drawn
    assert published.rows == next(iter(drawn.values())), "the summary tells of rows and not of the sheet"


class Service:
    """Answers what a release of a kind answers, and keeps what it was asked."""

    def __init__(self, domain: dict[str, Any]) -> None:
        self.domain = domain
        self.asked: list[httpx.URL] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request.url)
        if request.url.path == "/v1/releases/r":
            return httpx.Response(200, json={"id": "r", "job_id": "j", "dataset_id": "d"})
        if request.url.path == "/v1/datasets/d":
            public = {"name": "n", "state": "ready", "population_id": "p", "declared_size": 100}
            return httpx.Response(200, json=public | {"id": "d", "domain": self.domain})
        return httpx.Response(200, content=b"drawn")


@pytest.mark.parametrize(
    ("domain", "name"),
    [(DOMAIN, "synthetic.csv"), (image_stand_in.domain(), "synthetic.npz")],
    ids=["table", "images"],
)
def test_a_release_is_asked_what_it_generates_where_no_name_says_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, domain: dict[str, Any], name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    service = Service(domain)
    with Client("http://service", key="k", transport=httpx.MockTransport(service)) as client:
        target = sample_online(
            client, "r", None, 5, None, {}, TerminalScreen(Console(quiet=True)), spreadsheet_safe=False
        )
    assert target == Path(name)
    assert target.read_bytes() == b"drawn"
    assert dict(service.asked[-1].params) == {"rows": "5", "format": name.rpartition(".")[2]}


def test_a_named_format_is_asked_for_at_once(tmp_path: Path) -> None:
    service = Service(DOMAIN)
    with Client("http://service", key="k", transport=httpx.MockTransport(service)) as client:
        sample_online(
            client,
            "r",
            tmp_path / "x",
            5,
            "png",
            {},
            TerminalScreen(Console(quiet=True)),
            spreadsheet_safe=False,
        )
        client.download_samples("r", tmp_path / "y", rows=6)
        with pytest.raises(InputUnusable, match="unknown format"):
            client.download_samples("r", tmp_path / "z", rows=6, file_format="xlsx")
    assert [dict(url.params) for url in service.asked] == [{"rows": "5", "format": "png"}, {"rows": "6"}]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x", "y"]
