"""Releases of images: the same endpoint as of tables, other formats."""

import io
import zipfile

import numpy as np
import PIL.Image
import pytest

from tests.core.artifacts.image_stand_in import HEIGHT, LABELS, WIDTH, bundle
from tests.service.world import World, require_problem


@pytest.fixture(scope="module")
def world(shared_world: World) -> World:
    """One for all tests: drawing changes nothing."""
    return shared_world


@pytest.fixture(scope="module")
def samples(world: World) -> str:
    return f"/v1/releases/{world.release(bundle())}/samples"


def test_images_come_in_every_format_under_its_media_type(world: World, samples: str) -> None:
    answer = world.analyst.get(f"{samples}?rows=70&format=npz")
    assert answer.headers["content-type"] == "application/zip"
    assert answer.headers["content-disposition"].endswith('.npz"')
    with np.load(io.BytesIO(answer.content), allow_pickle=False) as arrays:
        assert arrays["images"].shape == (70, HEIGHT, WIDTH, 3)
        assert tuple(arrays["label_names"]) == LABELS
    answer = world.analyst.get(f"{samples}?rows=70&format=zip")
    assert answer.headers["content-type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        assert len(archive.namelist()) == 71
    answer = world.analyst.get(f"{samples}?rows=70&format=png")
    assert answer.headers["content-type"] == "image/png"
    assert answer.headers["content-disposition"].endswith('.png"')
    assert PIL.Image.open(io.BytesIO(answer.content)).info["Description"].startswith("Synthetic images")


def test_arrays_come_where_no_format_is_asked_for(world: World, samples: str) -> None:
    answer = world.analyst.get(f"{samples}?rows=5")
    assert answer.headers["content-disposition"].endswith('.npz"')
    with np.load(io.BytesIO(answer.content), allow_pickle=False) as arrays:
        assert len(arrays["images"]) == 5


@pytest.mark.parametrize("name", ["csv", "parquet", "jsonl", "arrow"])
def test_formats_of_tables_are_refused_for_images(world: World, samples: str, name: str) -> None:
    told = require_problem(
        world.analyst.get(f"{samples}?format={name}"), status=409, code="format-not-for-release"
    )
    assert told["facts"] == {"formats": ["npz", "zip", "png"]}


@pytest.mark.parametrize("name", ["npz", "zip", "png"])
def test_formats_of_images_are_refused_for_tables(world: World, name: str) -> None:
    answer = world.analyst.get(f"/v1/releases/{world.release()}/samples?format={name}")
    told = require_problem(answer, status=409, code="format-not-for-release")
    assert told["facts"] == {"formats": ["csv", "parquet", "jsonl", "arrow"]}


@pytest.mark.parametrize("name", ["zip", "png"])
def test_more_images_than_a_format_holds_are_refused(world: World, samples: str, name: str) -> None:
    told = require_problem(
        world.analyst.get(f"{samples}?rows=1000000&format={name}"), status=422, code="too-many-for-format"
    )
    assert 1000 <= told["facts"]["most"] < 1_000_000
