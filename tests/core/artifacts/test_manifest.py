import pytest

from core.artifacts.bundle import unpack
from core.artifacts.errors import BundleInvalid
from core.artifacts.manifest import ImageManifest, TableManifest, manifest_from_json
from core.artifacts.packing import pack
from tests.core.artifacts import image_stand_in, stand_in

GOOD = image_stand_in.manifest().to_json()


def test_a_manifest_is_recognised_by_its_schema():
    assert isinstance(manifest_from_json(GOOD), ImageManifest)
    table = stand_in.bundle().manifest.to_json()
    assert isinstance(manifest_from_json(table), TableManifest)
    assert GOOD["schema"] != table["schema"]


@pytest.mark.parametrize(
    "made", [image_stand_in.bundle(), image_stand_in.unlabelled()], ids=["labels", "none"]
)
def test_what_is_packed_comes_back(made):
    assert unpack(pack(made, readme="x")) == made


@pytest.mark.parametrize(
    "schema", ["understudy.bundle/2", "understudy.image-bundle/2", "understudy.images/1", None, 1, []]
)
def test_an_image_manifest_under_another_schema_is_refused(schema):
    with pytest.raises(BundleInvalid):
        manifest_from_json(GOOD | {"schema": schema})


@pytest.mark.parametrize(
    "change",
    [
        {"latent_dimension": 0},
        {"latent_dimension": 2**16 + 1},
        {"height": 0},
        {"height": 257},
        {"width": "wide"},
        {"width": float("inf")},
        {"channels": 2},
        {"label_probabilities": []},
        {"label_probabilities": [1.0]},
        {"label_probabilities": [0.5, 0.6]},
        {"label_probabilities": [1.5, -0.5]},
        {"label_probabilities": [float("nan"), 1.0]},
        {"label_probabilities": [0.0005] * 2000},
        {"label_probabilities": 5},
    ],
)
def test_a_manifest_of_a_generator_that_cannot_exist_is_refused(change):
    assert manifest_from_json(GOOD) == image_stand_in.manifest()
    with pytest.raises(BundleInvalid):
        manifest_from_json(GOOD | change)


@pytest.mark.parametrize("name", sorted(GOOD))
def test_a_manifest_that_lacks_a_field_is_refused(name):
    with pytest.raises(BundleInvalid):
        manifest_from_json({key: value for key, value in GOOD.items() if key != name})


def test_a_certificate_counts_every_number_of_an_image_and_its_label():
    labelled = image_stand_in.manifest(channels=1).cardinalities
    assert labelled == (256,) * 30 + (3,)
    assert image_stand_in.manifest(channels=1, label_probabilities=None).cardinalities == (256,) * 30


WIDE = TableManifest(
    latent_dimension=1,
    cardinalities=(60_000, 2),
    label_index=1,
    label_probabilities=(0.25, 0.75),
    groups=(40, 2),
)


def test_a_manifest_of_groups_comes_back_under_a_schema_of_its_own():
    assert WIDE.to_json()["schema"] == "understudy.wide-bundle/1"
    assert manifest_from_json(WIDE.to_json()) == WIDE
    assert "groups" not in stand_in.bundle().manifest.to_json()


@pytest.mark.parametrize(
    "change",
    [
        {"groups": [40]},
        {"groups": [0, 2]},
        {"groups": [60_001, 2]},
        {"groups": [40, 1]},
        {"groups": [50_000, 2]},
        {"groups": None},
        {"cardinalities": [1_000_000, 2]},
        {"schema": "understudy.bundle/2"},
    ],
)
def test_groups_that_no_network_can_have_are_refused(change):
    with pytest.raises(BundleInvalid):
        manifest_from_json(WIDE.to_json() | change)
