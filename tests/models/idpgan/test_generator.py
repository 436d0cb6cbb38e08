import numpy as np
import pytest
import torch

from core.plan.options import IdpganOptions
from models.encoding import block_starts
from models.idpgan import refinement
from models.idpgan.generator import Generator, draw, probabilities
from models.idpgan.grouped_logits import EXCLUDED, GIVEN
from models.idpgan.refinement import FAKES_AT_ONCE, Refinement
from tests.models.coded_tables import streams

CARDINALITIES = (3, 2, 4)
EACH_ALONE = tuple(np.arange(codes) for codes in CARDINALITIES)
GROUPED = (np.array([0, 1, 0]), np.array([0, 1]), np.array([1, 1, 0, 1]))


def generator(target: int | None, groups: tuple[np.ndarray, ...] = EACH_ALONE) -> Generator:
    made = Generator(groups=groups, target_index=target, latent_dimension=5, width=8, blocks=2)
    made.initialise(streams(), columns=None)
    return made


@pytest.mark.parametrize("target", [None, 0, 1, 2])
def test_the_targets_block_repeats_the_given_label(target):
    classes = 0 if target is None else CARDINALITIES[target]
    labels = torch.eye(classes)[torch.arange(6) % classes] if classes else torch.zeros(6, 0)
    logits = generator(target)(torch.randn(6, 5, generator=torch.Generator().manual_seed(0)), labels)
    assert logits.shape == (6, 9)
    if target is not None:
        starts = block_starts(CARDINALITIES)
        block = logits[:, starts[target] : starts[target + 1]]
        assert (block == torch.where(labels > 0, GIVEN, EXCLUDED)).all()


def test_every_block_of_probabilities_sums_to_one():
    shares = probabilities(generator(None)(torch.zeros(4, 5), torch.zeros(4, 0)), CARDINALITIES)
    for block in torch.split(shares, list(CARDINALITIES), dim=1):
        assert torch.allclose(block.sum(dim=1), torch.ones(4))


def test_the_generator_starts_at_the_one_way_shares():
    for groups in (EACH_ALONE, GROUPED):
        made = generator(1, groups)
        columns = DISTRIBUTIONS
        made.initialise(streams(), columns=columns)
        with torch.no_grad():
            made.leave.weight.zero_()
        found = probabilities(made(torch.zeros(1, 5), torch.eye(2)[[0]]), CARDINALITIES)[0].detach().numpy()
        assert np.allclose(np.delete(found, [3, 4]), np.concatenate([columns[0], columns[2]]), atol=1e-6)


DISTRIBUTIONS = [np.array([0.7, 0.2, 0.1]), np.array([0.5, 0.5]), np.array([0.4, 0.3, 0.2, 0.1])]


@pytest.mark.parametrize("target", [None, 1])
def test_codes_keep_their_shares_within_their_group_whatever_the_latent_vector(target):
    made = generator(target, GROUPED)
    made.initialise(streams(), columns=DISTRIBUTIONS)
    latent = torch.randn(50, 5, generator=torch.Generator().manual_seed(0))
    label = torch.eye(2)[torch.arange(50) % 2] if target is not None else torch.zeros(50, 0)
    with torch.no_grad():
        found = probabilities(made(latent, label), CARDINALITIES)
        of_groups = probabilities(made.grouped(latent, label), made.group_counts)
    assert made.group_counts == (2, 2, 2)
    assert of_groups.std(dim=0).min() > 1e-3, "the shares of groups do depend on it"
    for column, (distribution, groups) in enumerate(zip(DISTRIBUTIONS, GROUPED, strict=True)):
        codes = torch.split(found, list(CARDINALITIES), dim=1)[column]
        shares = torch.split(of_groups, [2, 2, 2], dim=1)[column]
        for code, group in enumerate(groups):
            within = distribution[code] / distribution[groups == group].sum()
            assert torch.allclose(codes[:, code], shares[:, group] * within, atol=1e-6)


def test_drawn_records_follow_the_probabilities():
    # 40,000 draws per cell: a share is off by more than 0.015 with probability below 1e-8.
    shares = torch.tensor([[0.2, 0.5, 0.3, 0.9, 0.1, 0.25, 0.25, 0.5, 0.0]]).repeat(40_000, 1)
    records = draw(shares, streams().torch_uniforms(99, 0, (40_000, 3)), CARDINALITIES)
    assert (records.sum(dim=1) == 3).all()
    assert (records.mean(dim=0) - shares[0]).abs().max() < 0.015
    assert records[:, 8].sum() == 0


def test_the_weights_are_replayed_from_the_key():
    one, again = generator(None).state_dict(), generator(None).state_dict()
    assert all(torch.equal(one[name], again[name]) for name in one)


@pytest.mark.parametrize("count", [1, FAKES_AT_ONCE, FAKES_AT_ONCE + 1])
def test_whatever_is_made_for_the_critic_is_made_of_one_public_number_of_rows(monkeypatch, count):
    """On a GPU running sums are products, which round by their shape: one record more must not change another's partner."""
    rows = []

    def counted(shares, uniforms, cardinalities):
        rows.extend((len(shares), len(uniforms)))
        return draw(shares, uniforms, cardinalities)

    monkeypatch.setattr(refinement, "draw", counted)
    made = Refinement(
        generator=generator(1),
        options=IdpganOptions(latent_dimension=5),
        streams=streams(),
        cardinalities=CARDINALITIES,
        distribution=np.array([0.3, 0.7]),
        anchor=None,
    )
    assert made.fakes(0, count).shape == (count, sum(CARDINALITIES))
    assert set(rows) == {FAKES_AT_ONCE}
