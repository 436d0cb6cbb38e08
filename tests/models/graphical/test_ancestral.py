"""The network of a graphical model: its draws have the model's joint distribution, in torch and as ONNX."""

import itertools

import numpy as np
import onnxruntime
import pytest
import torch

from models.graphical.ancestral import EXCLUDED, AncestralNetwork, Conditional, conditionals
from models.graphical.ancestral_onnx import ancestral_onnx
from models.idpgan.generator import draw, probabilities
from models.randomness import Purpose
from tests.models.coded_tables import streams

SIZES = (3, 2, 4, 1, 2, 3)
ROWS = 40_000


def joint_of(seed: int = 0, *, holes: bool = True) -> np.ndarray:
    """A distribution of six columns with the junction forest (0 1 2), (2 4), (5), (3), with impossible combinations."""
    rng = np.random.default_rng(seed)
    first, second, third = rng.random((3, 2, 4)), rng.random((4, 2)), rng.random(3)
    if holes:
        first[0, 0, 1] = first[2, :, 3] = second[1, 0] = 0
        third[2] = 0
    distribution = np.einsum("abc,ce,f->abcef", first, second / second.sum(axis=1, keepdims=True), third)
    return (distribution / distribution.sum())[:, :, :, None]


def distributions_of(joint: np.ndarray, target: int | None) -> list[Conditional]:
    def node(*columns: int) -> tuple[tuple[int, ...], np.ndarray]:
        return columns, joint.sum(axis=tuple(set(range(6)) - set(columns))) * 1000

    made = [node(0, 1, 2), node(2, 4), node(5), node(3)]
    nodes = {frozenset(columns): (columns, counts) for columns, counts in made}
    return conditionals(nodes, [(frozenset((0, 1, 2)), frozenset((2, 4)))], SIZES, target)


@pytest.mark.parametrize("target", [None, *range(6)])
@pytest.mark.parametrize("holes", [False, True])
def test_the_conditional_distributions_multiply_to_the_joint_distribution(target, holes):
    joint = joint_of(holes=holes)
    distributions = distributions_of(joint, target)
    assert [one.column for one in distributions][:1] == ([target] if target is not None else [0])
    assert sorted(one.column for one in distributions) == list(range(6))
    for codes in itertools.product(*map(range, SIZES)):
        chance = 1.0
        for one in distributions:
            place = 0
            for parent in one.parents:
                place = place * SIZES[parent] + codes[parent]
            chance *= one.distribution[place, codes[one.column]]
        assert chance == pytest.approx(joint[codes], abs=1e-12)


def drawn(network: AncestralNetwork, target: int | None, distribution: np.ndarray | None) -> np.ndarray:
    key = streams()
    latent = key.torch_normals(Purpose.TEST, 0, (ROWS, network.latent_dimension))
    label = torch.zeros(ROWS, 0)
    if distribution is not None:
        chosen = np.searchsorted(
            np.cumsum(distribution)[:-1], key.uniforms(Purpose.TEST, 1, ROWS), side="right"
        )
        label = torch.eye(len(distribution))[torch.from_numpy(chosen)]
    logits = network(latent, label)
    uniforms = key.torch_uniforms(Purpose.TEST, 2, (ROWS, len(SIZES)))
    cells = draw(probabilities(logits, SIZES), uniforms, SIZES).argwhere()[:, 1].reshape(ROWS, -1)
    codes = cells.numpy() - np.concatenate([[0], np.cumsum(SIZES)[:-1]])
    if target is not None:
        assert (codes[:, target] == label.argmax(dim=1).numpy()).all(), "the given label comes back"
    return codes


@pytest.mark.parametrize("target", [None, 1, 4, 5])
def test_draws_have_the_joint_distribution_and_no_impossible_record(target):
    joint = joint_of()
    distributions = distributions_of(joint, target)
    distribution = (
        None if target is None else next(one.distribution[0] for one in distributions if one.column == target)
    )
    codes = drawn(AncestralNetwork(distributions, SIZES, target), target, distribution)
    counted = np.zeros(SIZES)
    np.add.at(counted, tuple(codes.T), 1)
    assert counted[joint == 0].sum() == 0
    # Pearson's statistic over its degrees of freedom has mean 1 and a standard deviation below 0.2 here.
    likely = joint > 0
    expected = joint[likely] * ROWS
    statistic = ((counted[likely] - expected) ** 2 / expected).sum() / (likely.sum() - 1)
    assert statistic < 2.2


@pytest.mark.parametrize("target", [None, 2, 3])
def test_onnx_gives_the_same_logits(target):
    distributions = distributions_of(joint_of(3), target)
    network = AncestralNetwork(distributions, SIZES, target).eval()
    content = ancestral_onnx(network)
    assert content == ancestral_onnx(network)
    session = onnxruntime.InferenceSession(content)
    latent = streams().torch_normals(Purpose.TEST, 0, (2000, network.latent_dimension))
    label = (
        torch.eye(network.classes)[torch.arange(2000) % network.classes]
        if network.classes
        else torch.zeros(2000, 0)
    )
    (found,) = session.run(None, {"latent": latent.numpy(), "label": label.numpy()})
    wanted = network(latent, label).numpy()
    same = (np.abs(found - wanted) < 1e-4).all(axis=1)
    assert same.mean() > 0.999, "but for a uniform number within rounding of a threshold"
    for extreme in (-40.0, 40.0):
        (one,) = session.run(
            None,
            {
                "latent": np.full((1, network.latent_dimension), extreme, np.float32),
                "label": label.numpy()[:1],
            },
        )
        assert np.isfinite(one).all()


def test_a_column_that_others_depend_on_leaves_as_one_code():
    network = AncestralNetwork(distributions_of(joint_of(holes=False), None), SIZES, None)
    assert set(network.inner) == {0, 1, 2}
    logits = network(torch.zeros(1, network.latent_dimension), torch.zeros(1, 0))[0]
    assert sorted(logits[:3].tolist()) == [EXCLUDED, EXCLUDED, 0.0]
    assert torch.isfinite(logits).all()
    assert sum(EXCLUDED < value < 0 for value in logits[10:12].tolist()) == 2, (
        "one on which none depends, as its distribution"
    )
