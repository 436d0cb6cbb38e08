"""What a new private model is asked before its release: inputs from the declared domain alone, the same for every bundle."""

import hashlib

import numpy as np
import pytest
import torch

from core.artifacts.private_models.bundle import ModelBundle
from core.artifacts.private_models.constancy_check import ModelCheck
from models.classifier.model_writing import model_bundle
from models.classifier.private_training import TrainedClassifier, train_classifier
from models.classifier.recorder import ModelRecorder
from models.model_check import DRAWS, SCENES, check_model, scenes
from models.randomness import KeyedStreams
from models.synthesizer import NullHost
from tests.models.classifier.small import IMAGES, TABLE, images, plan_of, table
from understudy.verifying.private_models import check_problems


def trained(
    *, of_images: bool, epsilon: float = 8.0, **options: object
) -> tuple[TrainedClassifier, ModelBundle]:
    domain = IMAGES if of_images else TABLE
    plan = plan_of(domain, epsilon=epsilon, **options)
    streams = KeyedStreams(hashlib.sha256(b"a model that is checked").digest(), releases=ModelRecorder(plan))
    made = train_classifier(images() if of_images else table(), plan, streams, NullHost())
    return made, model_bundle(made, plan, domain, certificate={})


@pytest.mark.parametrize("of_images", [False, True])
def test_a_model_that_has_learnt_is_not_constant(of_images: bool) -> None:
    _made, bundle = trained(of_images=of_images, steps=40)
    found = check_model(bundle)
    assert found.draws == (SCENES[1] if of_images else DRAWS)
    assert not found.constant
    assert check_model(bundle) == found, "the draws are public and fixed"


@pytest.mark.parametrize("network", ["linear", "mlp", "cnn"])
def test_a_model_of_images_that_always_gives_one_class_is_found(network: str) -> None:
    options = {"network": network, "features": "plain"}
    plan = plan_of(IMAGES, **options)
    made, _bundle = trained(of_images=True, **options)
    with torch.no_grad():
        *_others, last = made.network.parameters()
        assert last.shape == (len(IMAGES.labels),), "the biases of the classes"
        last[1] = 1e6
    found = check_model(model_bundle(made, plan, IMAGES, certificate={}))
    assert (found.answer, found.share, found.constant) == ("b", 1.0, True)


@pytest.mark.parametrize(
    ("of_images", "share", "constant"), [(False, 0.999, True), (True, 0.999, False), (True, 1.0, True)]
)
def test_of_images_every_answer_counts_and_the_verifier_knows(
    of_images: bool, share: float, constant: bool
) -> None:
    stated = ModelCheck(draws=4096, answer="a", share=share, unanimous_only=of_images).to_json()
    assert stated["constant"] is constant
    assert ("unanimous_only" in stated) == of_images, "tables keep their form"
    assert not list(check_problems(stated))
    assert list(check_problems(stated | {"constant": not constant}))


@pytest.mark.parametrize("shape", [(4, 4, 1), (28, 28, 1), (16, 48, 3)])
def test_scenes_are_images_of_the_size_at_all_levels(shape: tuple[int, int, int]) -> None:
    made = scenes(shape, 200, np.random.default_rng(0))
    assert (made.shape, made.dtype) == ((200, *shape), np.uint8)
    means = made.mean(axis=(1, 2, 3))
    assert means.min() < 64
    assert means.max() > 191
    assert len(np.unique(made.reshape(200, -1), axis=0)) > 190, "they differ"
    smallest = made.reshape(200, -1).min(axis=1)
    assert (smallest < made.reshape(200, -1).max(axis=1)).mean() > 0.9, "few are plain"
