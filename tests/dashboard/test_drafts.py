"""What ``understudy domain draft`` wrote, declared through the pages as it is."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.core.data.pictures import images, noise, npz
from tests.dashboard.visitor import Visitor
from tests.service.world import CSV, World
from understudy.domain_draft import draft_domain
from understudy.image_draft import draft_images


@pytest.mark.parametrize("kind", ["table", "images"])
def test_what_the_command_drafted_is_taken_as_it_is(
    world: World, sign_in: Callable[..., Visitor], tmp_path: Path, kind: str
) -> None:
    """A draft proposes a size, which is no part of a domain: the page it is meant for refused it."""
    table = kind == "table"
    rows = tmp_path / ("rows.csv" if table else "images.npz")
    rows.write_bytes(
        CSV if table else npz(images=noise(images(), 20), labels=np.arange(20, dtype=np.uint8) % 2)
    )
    drafted = draft_domain(rows) if table else draft_images(rows)
    assert "declared_size" in drafted["_from_data"]
    owner = sign_in("owner")
    facts = {"name": kind, "declared_size": "1000", "domain": json.dumps(drafted)}
    looked = owner.send("/datasets/review", **facts)
    assert looked.status_code == 200, looked.text
    assert "declared_size: <mark>" not in looked.text, "the form's own size is not the draft's"
    found = re.findall(r'name="confirmed" value="(\w+)"', looked.text)
    assert "whole" in found, "of a table the privacy unit and the target, of images their labels"
    assert owner.send("/datasets", **facts).status_code == 422, "nothing is confirmed"
    assert "The dataset is declared" in owner.follow("/datasets", **facts, confirmed=found)
    dataset = world.owner.get("/v1/datasets").json()["items"][0]
    assert (dataset["name"], dataset["declared_size"]) == (kind, 1000)
