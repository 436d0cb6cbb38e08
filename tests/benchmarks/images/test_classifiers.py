import numpy as np
import pytest
import torch

from benchmarks.images.classifiers import (
    Recipe,
    accuracy,
    features,
    moved,
    probabilities,
    tensor_of,
    train,
    train_on_synthetic_test_on_real,
)
from benchmarks.images.datasets import Pictures
from benchmarks.images.networks import FEATURES, lenet
from tests.benchmarks.images.pictures import squares

QUICK = Recipe(epochs=2, batch=16)


def test_the_paper_s_network_has_the_layers_of_the_cited_tutorial():
    network = lenet((28, 28, 1), 10)
    shapes = [tuple(parameter.shape) for parameter in network.parameters() if parameter.ndim > 1]
    assert shapes == [(20, 1, 5, 5), (50, 20, 5, 5), (500, 800), (10, 500)]
    assert lenet((32, 32, 3), 2)(torch.zeros(2, 3, 32, 32)).shape == (2, 2)


def test_classes_that_show_are_learnt_and_swapped_labels_are_learnt_swapped():
    real = squares(80, seed=1)
    scores = train_on_synthetic_test_on_real(squares(160), real, classes=4, seed=0, recipe=QUICK)
    assert scores == {"accuracy_cnn": 1.0, "accuracy_mlp": 1.0, "accuracy_logistic": 1.0}
    made = squares(160)
    swapped = Pictures(pixels=made.pixels, labels=((made.labels + 1) % 4).astype(np.int16))
    wrong = train_on_synthetic_test_on_real(swapped, real, classes=4, seed=0, recipe=QUICK)
    assert wrong == {"accuracy_cnn": 0.0, "accuracy_mlp": 0.0, "accuracy_logistic": 0.0}


def test_the_same_seed_gives_the_same_network_whatever_torch_drew_before():
    made = squares(32)
    first = train("cnn", made, classes=4, seed=3, recipe=QUICK)
    torch.rand(7)
    again = train("cnn", made, classes=4, seed=3, recipe=QUICK)
    other = train("cnn", made, classes=4, seed=4, recipe=QUICK)
    assert torch.equal(first.head.weight, again.head.weight)
    assert not torch.equal(first.head.weight, other.head.weight)


def test_training_draws_nothing_from_the_global_generator():
    before = torch.random.get_rng_state()
    network = train("mlp", squares(32), classes=4, seed=0, recipe=QUICK)
    torch.random.set_rng_state(before)
    torch.rand(100)
    again = train("mlp", squares(32), classes=4, seed=0, recipe=QUICK)
    assert torch.equal(network.head.weight, again.head.weight)


def test_answers_are_probabilities_and_features_are_those_of_the_last_hidden_layer():
    pictures = squares(30)
    network = train("cnn", pictures, classes=4, seed=0, recipe=QUICK)
    answers, hidden = probabilities(network, pictures.pixels), features(network, pictures.pixels)
    assert answers.shape == (30, 4)
    assert np.allclose(answers.sum(axis=1), 1.0, atol=1e-12)
    assert hidden.shape == (30, FEATURES)
    assert accuracy(network, pictures) == np.mean(answers.argmax(axis=1) == pictures.labels)


def test_one_class_alone_is_answered_always():
    made = squares(40)
    one = Pictures(pixels=made.pixels, labels=np.full(40, 2, dtype=np.int16))
    scores = train_on_synthetic_test_on_real(one, squares(100, seed=1), classes=4, seed=0, recipe=QUICK)
    assert scores == pytest.approx(dict.fromkeys(scores, 0.25))


def test_pixels_become_numbers_around_zero():
    pixels = np.array([0, 255, 51], dtype=np.uint8).reshape(3, 1, 1, 1)
    assert tensor_of(pixels).flatten().tolist() == pytest.approx([-1.0, 1.0, -0.6])


def test_images_are_moved_by_whole_pixels_and_black_comes_in():
    image = torch.full((200, 1, 6, 6), -1.0)
    image[:, 0, 2, 3] = 1.0
    generator = torch.Generator().manual_seed(0)
    bright = moved(image, 1, generator)[:, 0]
    places = {tuple(place[1:]) for place in (bright == 1.0).nonzero().tolist()}
    assert bright.sum() == image.sum()
    assert places == {(down, right) for down in (1, 2, 3) for right in (2, 3, 4)}
    assert torch.equal(moved(image, 0, generator), image)
