"""A look at a generator's own draws: collapsed ones are found, and tables that are constant in truth are not."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from core.artifacts.sampling.generator_check import GeneratorCheck
from core.plan.domain.images import ImageDomain
from core.plan.domain.table import TableDomain
from models.encoding import PrivateTable
from models.generator_check import DRAWS, check_generator
from models.idpgan.synthesizer import IdpganSynthesizer
from models.synthesizer import NoisyVariety, NullHost, TrainedGenerator, TrainedImageGenerator
from tests.core.plan.shapes import Shape, plan_of
from tests.models.coded_tables import streams

SMALL: dict[str, Any] = {
    "pretraining_steps": 60, "generator_width": 16, "generator_batch_size": 200, "latent_dimension": 4,
}  # fmt: skip
RNG_SEED = 5


def domain_of(cardinalities: tuple[int, ...], target: int | None = None) -> TableDomain:
    """Columns c0, c1, ... of so many categories each."""
    columns = [
        {"name": f"c{index}", "kind": "categorical", "categories": [f"v{code}" for code in range(size)]}
        for index, size in enumerate(cardinalities)
    ]
    return TableDomain.from_json(
        {
            "schema": "understudy.domain/1",
            "target": None if target is None else f"c{target}",
            "privacy_unit": None,
            "columns": columns,
        }
    )


class Drawing(nn.Module):
    """Logits made of the latent vector and the label."""

    def __init__(self, logits: Any) -> None:
        super().__init__()
        self._logits = logits

    def forward(self, latent: Tensor, label: Tensor) -> Tensor:
        made: Tensor = self._logits(latent, label)
        return made


def drawn_from(
    distribution: list[list[float]], *, target: int | None = None, variety: NoisyVariety | None = None
) -> TrainedGenerator:
    """A generator whose columns are independent, with these shares."""
    row = torch.log(torch.tensor([share for column in distribution for share in column]).clamp(min=1e-12))

    def logits(latent: Tensor, label: Tensor) -> Tensor:
        made = row.expand(len(latent), -1).clone()
        if target is not None:
            start = sum(len(column) for column in distribution[:target])
            made[:, start : start + label.shape[1]] = torch.log(label.clamp(min=1e-30))
        return made

    return TrainedGenerator(
        network=Drawing(logits),
        latent_dimension=2,
        label_index=target,
        label_probabilities=None if target is None else np.array(distribution[target]),
        cardinalities=tuple(len(column) for column in distribution),
        variety=variety,
    )


def looked(generator: TrainedGenerator) -> GeneratorCheck:
    return check_generator(generator, domain_of(generator.cardinalities, generator.label_index))


def known(spread: list[float], **changes: Any) -> NoisyVariety:
    said: dict[str, Any] = {
        "spread": np.array(spread),
        "is_open": np.zeros(len(spread), dtype=bool),
        "spread_within": None,
        "combinations": 4.0,
    }
    return NoisyVariety(**said | changes)


def test_the_same_look_finds_the_same():
    generator = drawn_from([[0.5, 0.5], [0.2, 0.3, 0.5]])
    assert looked(generator) == looked(generator)
    assert looked(generator).distinct_records == 6


def test_every_record_the_same_is_found_without_an_anchor():
    found = looked(drawn_from([[1.0, 0.0], [0.0, 0.0, 1.0]]))
    assert found.constant_columns == ("c0", "c1")
    assert found.distinct_records == 1
    assert found.degenerate


def test_a_domain_with_more_combinations_than_a_float_holds_is_looked_at():
    """A wide table has no anchor; a failure here would come after its whole training, and be charged."""
    assert not looked(drawn_from([[0.5, 0.5]] * 1100)).degenerate


def test_a_single_declared_value_is_no_constant_column():
    distribution, is_open = [[1.0], [0.4, 0.6]], np.array([True, False])
    assert not looked(drawn_from(distribution)).degenerate
    assert not looked(drawn_from(distribution, variety=known([0.0, 0.4], is_open=is_open))).degenerate


def test_a_column_that_the_noisy_counts_have_as_constant_is_none():
    distribution = [[0.999, 0.001], [0.4, 0.6], [1.0, 0.0]]
    assert not looked(drawn_from(distribution, variety=known([0.001, 0.4, 0.0]))).degenerate


def test_a_column_that_lost_what_the_noisy_counts_are_sure_of_is_found():
    found = looked(drawn_from([[0.999, 0.001], [0.4, 0.6]], variety=known([0.3, 0.4])))
    assert found.constant_columns == ("c0",)


def test_a_constant_column_of_which_the_noise_leaves_nothing_is_found():
    is_open = np.array([True, False])
    assert looked(drawn_from([[1.0, 0.0], [0.4, 0.6]], variety=known([0.0, 0.4], is_open=is_open))).degenerate


def test_a_label_whose_records_are_all_the_same_is_found():
    def logits(latent: Tensor, label: Tensor) -> Tensor:
        first = torch.where(label[:, :1] > 0, torch.tensor([[9.0, -60.0]]), torch.zeros(1, 2))
        return torch.cat([torch.log(label.clamp(min=1e-30)), first, first], dim=1)

    generator = TrainedGenerator(
        network=Drawing(logits),
        latent_dimension=1,
        label_index=0,
        label_probabilities=np.array([0.3, 0.7]),
        cardinalities=(2, 2, 2),
    )
    assert looked(generator).repeated_labels == ("v0",)
    # Where the counts say that the label's records are so, nothing is wrong with it.
    truly = known([0.3, 0.3, 0.3], spread_within=np.array([[0.0, 0.0, 0.0], [0.0, 0.5, 0.5]]))
    assert not looked(_with(generator, truly)).degenerate
    not_truly = known([0.3, 0.3, 0.3], spread_within=np.array([[0.0, 0.4, 0.4], [0.0, 0.5, 0.5]]))
    assert looked(_with(generator, not_truly)).repeated_labels == ("v0",)


def _with(generator: TrainedGenerator, variety: NoisyVariety) -> TrainedGenerator:
    return TrainedGenerator(
        network=generator.network,
        latent_dimension=generator.latent_dimension,
        label_index=generator.label_index,
        label_probabilities=generator.label_probabilities,
        cardinalities=generator.cardinalities,
        variety=variety,
    )


def test_few_records_are_found_where_there_must_be_many():
    def two_modes(latent: Tensor, label: Tensor) -> Tensor:
        one_hot = torch.nn.functional.one_hot((latent[:, 0] > 0).long() * 9, 10).float()
        return torch.log(one_hot.clamp(min=1e-30)).repeat(1, 4)

    def generator(variety: NoisyVariety | None) -> TrainedGenerator:
        return TrainedGenerator(
            network=Drawing(two_modes),
            latent_dimension=1,
            label_index=None,
            label_probabilities=None,
            cardinalities=(10,) * 4,
            variety=variety,
        )

    found = looked(generator(None))
    assert (found.distinct_records, found.constant_columns, found.few_records) == (2, (), True)
    assert looked(generator(known([0.5] * 4, combinations=60.0))).few_records
    # Two kinds of records are right where the counts are sure of no more.
    assert not looked(generator(known([0.5] * 4, combinations=2.0))).degenerate


def trained(
    codes: Any, cardinalities: tuple[int, ...], target: int | None, epsilon: float, **options: Any
) -> GeneratorCheck:
    count = len(codes)
    table = PrivateTable(
        codes=codes.astype(np.int16),
        unit_of_record=np.arange(count),
        cardinalities=cardinalities,
        target_index=target,
    )
    plan = plan_of(
        SMALL | {"critic": False} | options,
        epsilon=epsilon,
        declared_size=count,
        shape=Shape(cardinalities=cardinalities, target_index=target),
    )
    generator = IdpganSynthesizer().fit(table, plan, streams(), NullHost())
    return check_generator(generator, domain_of(cardinalities, target))


@pytest.mark.parametrize("epsilon", [0.3, 10.0])
def test_true_constants_and_true_dependence_are_not_flagged(epsilon: float):
    rng = np.random.default_rng(RNG_SEED)
    rare = (rng.random(4000) < 0.001).astype(int)
    label = rng.integers(0, 2, 4000)
    constant = np.column_stack([rare, np.zeros(4000), np.full(4000, 3), label, rng.integers(0, 4, 4000)])
    assert not trained(constant, (2, 1, 8, 2, 4), 3, epsilon).degenerate
    key = rng.integers(0, 20, 4000)
    functions = np.column_stack([key, rng.permutation(20)[key], rng.permutation(20)[key]])
    for target in (None, 0):
        assert not trained(functions, (20, 20, 20), target, epsilon).degenerate


@pytest.mark.parametrize("target", [None, 1])
def test_a_true_constant_that_is_in_no_pair_is_not_flagged(target: int | None):
    rng = np.random.default_rng(3)
    cause = rng.integers(0, 6, 12000)
    columns, cardinalities = [rng.random(12000) < 0.0002], [3]
    for number in range(14):
        codes = (2, 3, 5, 8, 12)[number % 5]
        follows = (cause + (rng.random(12000) < 0.3) * rng.integers(0, 6, 12000)) % codes
        columns.append(rng.integers(0, codes, 12000) if number % 3 else follows)
        cardinalities.append(codes)
    assert not trained(np.column_stack(columns), tuple(cardinalities), target, 1.0).degenerate


def test_a_table_of_two_binary_columns_is_not_flagged():
    rng = np.random.default_rng(RNG_SEED)
    assert not trained(rng.integers(0, 2, (500, 2)), (2, 2), 1, 1.0).degenerate


def test_noise_on_a_handful_of_records_makes_no_column_constant():
    rng = np.random.default_rng(RNG_SEED)
    found = trained(rng.integers(0, 2, (40, 3)), (2, 2, 2), None, 0.05)
    assert not found.constant_columns
    assert not found.degenerate


def test_a_critic_that_moves_the_generator_at_every_step_makes_one_record_of_all():
    rng = np.random.default_rng(RNG_SEED)
    key = rng.integers(0, 10, 2000)
    codes = np.column_stack([key, *(rng.permutation(10)[key] for _ in range(3))])
    options = {"critic": True, "anchor": False, "critic_steps": 1, "steps": 300, "pretraining_steps": 0}
    options |= {"generator_learning_rate": 0.02, "expected_batch_size": 64, "critic_width": 16}
    found = trained(codes, (10,) * 4, None, 0.5, **options)
    assert found.degenerate
    assert found.distinct_records < 0.02 * DRAWS


PICTURES = ImageDomain(height=8, width=8, channels=1, labels=("a", "b"), privacy_unit=None)


def of_pictures(images: Any, *, labelled: bool = True, spread_within: Any = None) -> GeneratorCheck:
    generator = TrainedImageGenerator(
        network=Drawing(images),
        latent_dimension=64,
        shape=(1, 8, 8),
        label_probabilities=np.array([0.5, 0.5]) if labelled else None,
        spread_within=spread_within,
    )
    declared = (
        PICTURES if labelled else ImageDomain(height=8, width=8, channels=1, labels=(), privacy_unit=None)
    )
    return check_generator(generator, declared)


def varied(latent: Tensor) -> Tensor:
    return torch.sigmoid(latent).reshape(-1, 1, 8, 8)


def test_images_that_vary_are_not_flagged():
    assert not of_pictures(lambda latent, _label: varied(latent)).degenerate
    assert not of_pictures(lambda latent, _label: varied(latent), labelled=False).degenerate


def test_one_picture_for_all_is_found():
    def grey(latent: Tensor, label: Tensor) -> Tensor:
        return 0.5 + 0.001 * varied(latent) + 0.2 * label[:, :1, None, None]

    assert of_pictures(grey).repeated_labels == ("a", "b")
    assert of_pictures(lambda latent, _label: 0.5 + 0.001 * varied(latent), labelled=False).few_records


def test_a_label_of_which_there_is_one_picture_is_found():
    def half(latent: Tensor, label: Tensor) -> Tensor:
        return torch.where(label[:, :1, None, None] > 0, torch.full_like(varied(latent), 0.3), varied(latent))

    assert of_pictures(half).repeated_labels == ("a",)


def test_pictures_that_are_alike_by_the_noisy_moments_are_not_flagged():
    def faint(latent: Tensor, _label: Tensor) -> Tensor:
        return 0.5 + 0.01 * varied(latent)

    assert not of_pictures(faint, spread_within=np.array([0.002, 0.002])).degenerate
    assert of_pictures(faint, spread_within=np.array([0.2, 0.2])).repeated_labels == ("a", "b")
