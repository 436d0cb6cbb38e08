import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from benchmarks.images import scorer as scorers
from benchmarks.images.classifiers import Recipe, accuracy
from benchmarks.images.datasets import ImageSet, load
from benchmarks.images.measures import HEADLINE, Effort
from benchmarks.images.score import key_of, read_made, record
from benchmarks.images.scorer import scorer
from core.plan.domain.images import ImageDomain
from tests.benchmarks.images.pictures import squares
from tests.cases import daily

QUICK = Recipe(epochs=2, batch=16)
DOMAIN = ImageDomain(height=16, width=16, channels=1, labels=("a", "b", "c", "d"), privacy_unit=None)


def small_set(*, development=False):
    return ImageSet(
        name="squares", domain=DOMAIN, train=squares(160), test=squares(160, seed=1), development=development
    )


def test_the_scorer_learns_from_its_half_and_is_trained_once(tmp_path, monkeypatch):
    images = small_set()
    first = scorer(images, folder=tmp_path, recipe=QUICK)
    assert accuracy(first, images.reference_half) > 0.95
    monkeypatch.setattr(scorers, "train", None)  # a second training would fail
    again = scorer(images, folder=tmp_path, recipe=QUICK)
    assert torch.equal(first.head.weight, again.head.weight)
    with pytest.raises(TypeError):
        scorer(images, folder=tmp_path, recipe=Recipe(epochs=1))


def test_published_weights_are_taken_before_those_that_are_kept(tmp_path, monkeypatch):
    images, published, kept = small_set(), tmp_path / "published", tmp_path / "kept"
    monkeypatch.setattr(scorers, "PUBLISHED", published)
    first = scorer(images, folder=published, recipe=QUICK)
    monkeypatch.setattr(scorers, "train", None)  # a second training would fail
    assert torch.equal(first.head.weight, scorer(images, folder=kept, recipe=QUICK).head.weight)
    assert not kept.exists()


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "least"), daily([("mnist", 0.98), ("fashion_mnist", 0.86)], some=[("mnist", 0.98)])
)
def test_the_published_weights_are_those_of_the_recipe_and_the_images(
    real_data_folder, tmp_path, monkeypatch, name, least
):
    images = load(name, folder=real_data_folder)
    monkeypatch.setattr(scorers, "train", None)
    network = scorer(images, folder=tmp_path)
    assert accuracy(network, images.reference_half) > least


def test_a_run_is_measured_and_kept_under_its_name(tmp_path, monkeypatch):
    monkeypatch.setattr(scorers.scorer, "__kwdefaults__", {"folder": tmp_path, "recipe": QUICK})
    effort = Effort(classifiers=QUICK, discriminator=Recipe(epochs=1, batch=16))
    images, made = small_set(), squares(160, seed=2)
    entry = record(
        images, made, method="copies", epsilon=4.0, delta=1e-5, seed=1, facts={"seconds": 3.0},
        effort=effort, cache=tmp_path, folder=tmp_path,
    )  # fmt: skip
    kept = json.loads((tmp_path / "images.json").read_text())["runs"]
    assert key_of(entry) == "squares copies epsilon 4 seed 1"
    assert kept == {key_of(entry): entry}
    assert entry["accuracy_cnn"] == entry["accuracy_logistic"] == 1.0
    assert 3.0 < entry["inception_score"] <= 4.0
    assert (entry["made"], entry["compared"], entry["seconds"]) == (160, 80, 3.0)
    assert entry["jensen_shannon_bound"] < 0.2


def test_a_run_of_development_is_not_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(scorers.scorer, "__kwdefaults__", {"folder": tmp_path, "recipe": QUICK})
    entry = record(
        small_set(development=True), squares(160, seed=2), method="copies", epsilon=None, delta=None, seed=0,
        effort=Effort(classifiers=QUICK, discriminator=None), cache=tmp_path, folder=tmp_path,
    )  # fmt: skip
    assert entry["development"]
    assert "symmetrised_kl" not in entry
    assert not (tmp_path / "images.json").exists()


def test_a_brief_measurement_has_the_paper_s_network_and_the_distances_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(scorers.scorer, "__kwdefaults__", {"folder": tmp_path, "recipe": QUICK})
    entry = record(
        small_set(development=True), squares(160, seed=2), method="copies", epsilon=None, delta=None, seed=0,
        effort=replace(HEADLINE, classifiers=QUICK), cache=tmp_path, folder=tmp_path,
    )  # fmt: skip
    assert {name for name in entry if name.startswith("accuracy")} == {"accuracy_cnn"}
    assert entry["accuracy_cnn"] == 1.0
    assert {"inception_score", "frechet", "sliced_wasserstein"} < entry.keys()
    assert "symmetrised_kl" not in entry


def test_made_images_are_read_in_an_order_of_the_seed(tmp_path):
    made = squares(40)
    np.savez(tmp_path / "made.npz", images=made.pixels, labels=made.labels, label_names=np.array(["a"]))
    first, again, other = (read_made(tmp_path / "made.npz", seed=seed) for seed in (0, 0, 1))
    assert np.array_equal(first.pixels, again.pixels)
    assert not np.array_equal(first.pixels, other.pixels)
    pairs = {(image.tobytes(), int(label)) for image, label in zip(made.pixels, made.labels, strict=True)}
    assert {(i.tobytes(), int(n)) for i, n in zip(first.pixels, first.labels, strict=True)} == pairs
