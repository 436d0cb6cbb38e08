"""A mixture against a critic: unbiased gradients of the expected score."""

import itertools

import numpy as np
import pytest
import torch

from core.plan.options import IdpganOptions
from models.critic.network import Critic
from models.idpgan.generator import probabilities
from models.idpgan.mixture import Mixture
from models.idpgan.mixture_refinement import MixtureRefinement, exchanged_scores
from models.randomness import KeyedStreams
from tests.cases import daily

CARDINALITIES = (2, 3, 2)
DISTRIBUTION = np.array([0.3, 0.7])


def refinement(cardinalities=CARDINALITIES, *, components: int, target: int | None) -> MixtureRefinement:
    mixture = Mixture(
        groups=[np.arange(codes) for codes in cardinalities], target_index=target, components=components
    )
    streams = KeyedStreams(bytes(32))
    mixture.initialise(streams, [np.full(codes, 1.0 / codes) for codes in cardinalities])
    return MixtureRefinement(
        mixture=mixture,
        options=IdpganOptions(),
        streams=streams,
        cardinalities=cardinalities,
        target_index=target,
        distribution=None if target is None else DISTRIBUTION,
        anchor=None,
    )


def critic(layers: int = 1) -> Critic:
    return Critic(inputs=sum(CARDINALITIES), widths=(8,) * layers).initialise(KeyedStreams(bytes(32)))


def all_records() -> torch.Tensor:
    blocks = [torch.eye(codes) for codes in CARDINALITIES]
    return torch.stack([torch.cat(rows) for rows in itertools.product(*blocks)])


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("piece", [1, 2**24])
def test_exchanged_scores_are_those_of_the_exchanged_records(monkeypatch, layers: int, piece: int):
    monkeypatch.setattr("models.idpgan.mixture_refinement.LARGEST_PIECE", piece)
    records, network = all_records(), critic(layers)
    found = exchanged_scores(network, records, CARDINALITIES)
    starts = np.cumsum([0, *CARDINALITIES])
    for column, codes in enumerate(CARDINALITIES):
        for code in range(codes):
            changed = records.clone()
            changed[:, starts[column] : starts[column + 1]] = torch.eye(codes)[code]
            assert torch.allclose(found[:, starts[column] + code], network(changed), atol=1e-5)


@pytest.mark.parametrize("target", daily([None, 2], some=[2]))
def test_the_gradient_is_that_of_the_expected_score(target: int | None):
    """Components alike, of many one draw each: their mean gradient is near the exact one, which sums over all records."""
    made, network = refinement(components=3, target=target), critic()
    logits = made.generator.logits.detach().clone().requires_grad_()
    records, distributions = all_records(), probabilities(logits, CARDINALITIES)
    starts = np.cumsum([0, *CARDINALITIES])
    factors = [
        distributions[:, start:stop] @ records[:, start:stop].T for start, stop in itertools.pairwise(starts)
    ]
    if target is not None:
        of_label = distributions[:, starts[target] :]
        answered = torch.from_numpy(DISTRIBUTION).float() * of_label / of_label.sum(dim=0)
        factors[target] = answered @ records[:, starts[target] :].T
    else:
        factors.append(torch.tensor(1 / 3))
    shares = factors[0]
    for factor in factors[1:]:
        shares = shares * factor
    assert float(shares.detach().sum()) == pytest.approx(1.0, abs=1e-5)
    (exact,) = torch.autograd.grad((shares * network(records).detach()).sum(), logits)

    drawn = torch.stack(
        [
            torch.autograd.grad(-made.against(step, network)[0], made.generator.logits)[0]
            for step in range(3000)
        ]
    )
    error = drawn.std(dim=0) / len(drawn) ** 0.5
    assert ((drawn.mean(dim=0) - exact).abs() <= 5 * error + 1e-6).all()
    assert exact.abs().max() > 20 * error.max()


def test_a_critic_that_knows_of_two_bits_that_differ_makes_them_differ():
    """Each bit alone scores the same on average, so where all components are one distribution of even bits nothing would move."""
    network = Critic(inputs=4, widths=(2,))
    hidden, last = network.linear_layers()
    with torch.no_grad():
        hidden.weight.copy_(torch.tensor([[0.0, 1, 1, 0], [1, 0, 0, 1]]))
        hidden.bias.fill_(-1.0)
        last.weight.fill_(1.0)
    made = refinement((2, 2), components=200, target=None)
    for step in range(60):
        made.refine(step, network, progress=0.0)
    drawn = made.fakes(10_000, 2000)
    assert float((drawn[:, 0] != drawn[:, 2]).float().mean()) > 0.95
    assert 0.3 < float(drawn[:, 0].mean()) < 0.7
