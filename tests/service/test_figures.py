"""The page of released figures: one file that needs nothing and holds nothing but the release."""

import re

import pytest

from core.plan.domain.table import TableDomain
from tests.core.artifacts import image_stand_in
from tests.core.artifacts.certified import certified
from tests.core.artifacts.stand_in import DOMAIN
from tests.service.world import World


def page_of(world: World, release_id: str) -> str:
    answer = world.analyst.get(f"/v1/releases/{release_id}/figures")
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["content-disposition"].startswith("attachment;")
    assert "sandbox" in answer.headers["content-security-policy"]
    assert not re.search(r"https?:|<script|javascript:|<link|@import|url\(|\son\w+=", answer.text)
    assert "default-src 'none'" in answer.text
    return answer.text


def test_a_table_is_shown_with_its_counts_beside_its_rows_and_always_the_same(world: World) -> None:
    made = certified({"critic": False})
    release_id = world.release(made.bundle, **made.certificate)
    page = page_of(world, release_id)
    for said in (
        "may be shared",
        "The guarantee in words",
        "Expected error of counts",
        "a count is within ±",
    ):
        assert said in page
    for column in TableDomain.from_json(DOMAIN).modelled:
        assert f"<figcaption>{column.name}</figcaption>" in page
    assert page_of(world, release_id) == page
    dataset_id = world.owner.get(f"/v1/releases/{release_id}").json()["dataset_id"]
    assert dataset_id not in page
    assert world.owner.get(f"/v1/datasets/{dataset_id}").json()["name"] not in page


def test_columns_without_counts_are_drawn_alone_and_images_are_a_sheet(world: World) -> None:
    assert "not counted: synthetic rows alone" in page_of(world, world.release())
    page = page_of(world, world.release(image_stand_in.bundle()))
    assert 'src="data:image/png;base64,' in page
    assert "Every column" not in page


@pytest.mark.parametrize("who", ["stranger"])
def test_it_is_for_those_who_may_download_the_release(world: World, who: str) -> None:
    assert getattr(world, who).get(f"/v1/releases/{world.release()}/figures").status_code == 404
