"""Rows of a mixture: drawn from its tables by the distribution that its network gives, under any label, balanced or not."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import onnx
import pytest
import torch
from onnx import numpy_helper
from scipy import stats

from core.artifacts.bundle import Bundle, unpack
from core.artifacts.errors import BundleInvalid
from core.artifacts.manifest import TableManifest
from core.artifacts.sampling.sampler import Sampler
from models.bundle import write_bundle
from models.idpgan.mixture import LATENT_DIMENSION, Mixture
from models.randomness import KeyedStreams
from models.synthesizer import TrainedGenerator
from tests.core.artifacts.stand_in import DOMAIN, LABEL_DISTRIBUTION, cardinalities

TARGET = 2
COMPONENTS = 6
DAYS = (0, 1, 1, 2, 0, 3, 3, 3, 2, 4)
"""Groups of the last column's codes."""
ROWS = 400_000
ALARM = 1e-7
"""Chance of a false alarm of a comparison; seeds are fixed, so a run that passes always passes."""
Distribution = np.ndarray


def mixture(
    *, target: int | None = TARGET, components: int = COMPONENTS, of_days: Sequence[int] = DAYS
) -> Mixture:
    """Far from independence; codes of the first column and of the last share groups, those of the second change places."""
    groups = [np.array([0, 1, 0]), np.array([1, 0]), np.arange(2), np.array(of_days)]
    made = Mixture(groups=groups, target_index=target, components=components)
    rng = np.random.default_rng(5)
    made.initialise(
        KeyedStreams(bytes(range(32))), [rng.dirichlet(np.ones(codes)) for codes in cardinalities()]
    )
    with torch.no_grad():
        made.logits += torch.from_numpy(1.5 * rng.standard_normal(made.logits.shape)).float()
    return made


def bundle_of(made: Mixture) -> Bundle:
    trained = TrainedGenerator(
        network=made,
        latent_dimension=LATENT_DIMENSION,
        label_index=TARGET if made.classes else None,
        label_probabilities=np.array(LABEL_DISTRIBUTION) if made.classes else None,
        cardinalities=cardinalities(),
    )
    domain = DOMAIN if made.classes else DOMAIN | {"target": None}
    return unpack(write_bundle(generator=trained, domain=domain, certificate={}))


def changed(bundle: Bundle, change: Callable[[onnx.ModelProto], None]) -> Bundle:
    """The bundle with another network."""
    model = onnx.load_from_string(bundle.network)
    change(model)
    return Bundle(
        manifest=bundle.manifest,
        network=model.SerializeToString(),
        weights=bundle.weights,
        domain=bundle.domain,
        certificate=bundle.certificate,
    )


def without_tables(model: onnx.ModelProto) -> None:
    """As networks were before they gave their tables."""
    del model.graph.output[1:]


def distribution_of(made: Mixture, label: int | None) -> Distribution:
    """The joint distribution of all columns, from the definition: a mean over components of products of their distributions."""
    with torch.no_grad():
        distributions = made.distributions().double().numpy()
    within = made.within_group.double().numpy()
    codes = distributions[:, made.group_of_code.numpy()] * np.exp(within)
    blocks = np.split(codes, np.cumsum(cardinalities())[:-1], axis=1)
    blocks = [block / block.sum(axis=1, keepdims=True) for block in blocks]  # float32 before
    weights = np.full(len(distributions), 1 / len(distributions))
    if made.classes:
        assert label is not None, "a mixture with a target is asked for a label"
        weights = blocks[TARGET][:, label] / blocks[TARGET][:, label].sum()
        blocks[TARGET] = np.tile(np.eye(made.classes)[label], (len(distributions), 1))
    return np.einsum("k,ka,kb,kc,kd->abcd", weights, *blocks)


def whole_distribution(made: Mixture) -> Distribution:
    if not made.classes:
        return distribution_of(made, None)
    return np.sum(
        [share * distribution_of(made, label) for label, share in enumerate(LABEL_DISTRIBUTION)], axis=0
    )


def follow(codes: np.ndarray, distribution: Distribution) -> bool:
    """Chi-square test of all combinations; of rare ones together."""
    counts = np.bincount(
        np.ravel_multi_index(tuple(codes.T), distribution.shape), minlength=distribution.size
    )
    assert counts[distribution.ravel() == 0].sum() == 0, "what has no probability is not drawn"
    expected = distribution.ravel() * len(codes)
    common = expected >= 10
    seen = np.append(counts[common], counts[~common].sum())
    wanted = np.append(expected[common], expected[~common].sum())
    return float(stats.chisquare(seen[wanted > 0], wanted[wanted > 0]).pvalue) > ALARM


@pytest.mark.parametrize("target", [TARGET, None])
def test_rows_follow_the_mixture(target: int | None) -> None:
    made = mixture(target=target)
    codes = Sampler(bundle_of(made)).codes(ROWS, np.random.default_rng(1))
    assert follow(codes, whole_distribution(made))
    other = whole_distribution(mixture(target=target, components=COMPONENTS - 1))
    assert not follow(codes, other), "the test can tell distributions apart"


def test_its_network_gives_the_same_distribution() -> None:
    made = mixture()
    codes = Sampler(changed(bundle_of(made), without_tables)).codes(ROWS, np.random.default_rng(2))
    assert follow(codes, whole_distribution(made))


@pytest.mark.parametrize("label", [0, 1])
def test_rows_under_a_label_follow_the_conditional_distribution(label: int) -> None:
    made = mixture()
    codes = Sampler(bundle_of(made)).codes(ROWS, np.random.default_rng(3), label=label)
    assert follow(codes, distribution_of(made, label))


def test_rows_that_meet_a_condition_follow_the_conditional_distribution() -> None:
    made, where = mixture(), {"sick": "yes", "ward": "A"}
    batches = list(Sampler(bundle_of(made)).batches_where(40_000, where))
    days = np.concatenate([batch["seen"].cast("int32").to_numpy() for batch in batches]) - 18_262
    ward = np.concatenate([batch["ward"].to_numpy(zero_copy_only=False) for batch in batches])
    assert set(ward) == {"A"}
    distribution = distribution_of(made, 1)[0].sum(axis=(0, 1))
    counts = np.bincount(days, minlength=10)
    assert stats.chisquare(counts, distribution / distribution.sum() * counts.sum()).pvalue > 1e-9


def test_the_same_stream_gives_the_same_rows() -> None:
    sampler = Sampler(bundle_of(mixture()))
    for rows in (1, 5000, 140_000):
        first, second = (sampler.codes(rows, np.random.default_rng(4)) for _ in range(2))
        assert np.array_equal(first, second)
        assert not np.array_equal(first, sampler.codes(rows, np.random.default_rng(5))) or rows == 1


def test_each_row_of_a_balanced_sample_follows_the_mixture() -> None:
    """Over many samples; the counts of one deviate less than those of independent rows."""
    made, rng = mixture(), np.random.default_rng(6)
    sampler, distribution = Sampler(bundle_of(made)), whole_distribution(made)
    samples = [sampler.codes(1000, rng) for _ in range(200)]
    first_rows = np.concatenate([codes[:100] for codes in samples])
    assert follow(first_rows, distribution)


def test_counts_of_a_balanced_sample_are_those_of_the_mixture() -> None:
    """Labels and components come as often as their distributions say, so what is left is rounding, not sampling error."""
    made, rows = mixture(), 8000
    distribution = whole_distribution(made)
    codes = Sampler(bundle_of(made)).codes(rows, np.random.default_rng(7))
    for first, second in itertools.combinations(range(4), 2):
        rest = tuple(column for column in range(4) if column not in {first, second})
        pair = distribution.sum(axis=rest)
        counts = np.bincount(
            np.ravel_multi_index((codes[:, first], codes[:, second]), pair.shape), minlength=pair.size
        )
        deviations = (counts - rows * pair.ravel()) / np.sqrt(rows * pair.ravel() + 1)
        assert float(np.sqrt(np.mean(deviations**2))) < 0.5, "one for independent rows"


def test_a_column_may_have_more_codes_than_fit_a_byte() -> None:
    cells = (700, 2, 3)
    domain = {
        "schema": "understudy.domain/1", "target": None, "privacy_unit": None,
        "columns": [
            {"name": f"c{place}", "kind": "categorical", "categories": [str(code) for code in range(codes)]}
            for place, codes in enumerate(cells)
        ],
    }  # fmt: skip
    groups = [np.arange(700) % 130, np.arange(2), np.arange(3)]
    made = Mixture(groups=groups, target_index=None, components=3)
    distributions = [np.random.default_rng(8).dirichlet(np.full(codes, 5.0)) for codes in cells]
    made.initialise(KeyedStreams(bytes(32)), distributions)
    with torch.no_grad():
        exact = (made.distributions().double().numpy()[:, made.group_of_code.numpy()] * np.exp(made.within_group.double().numpy())).mean(0)[:700]  # fmt: skip
    trained = TrainedGenerator(
        network=made,
        latent_dimension=LATENT_DIMENSION,
        label_index=None,
        label_probabilities=None,
        cardinalities=cells,
    )
    sampler = Sampler(unpack(write_bundle(generator=trained, domain=domain, certificate={})))
    counts = np.bincount(sampler.codes(ROWS, np.random.default_rng(9))[:, 0], minlength=700)
    assert stats.chisquare(counts, exact / exact.sum() * ROWS).pvalue > ALARM


def test_types_of_outputs_do_not_tell_how_many_groups_there_are() -> None:
    """Groups follow from noisy counts, and belong to the constants alone."""
    few, many = (
        onnx.load_from_string(bundle_of(mixture(of_days=days)).network).graph for days in (DAYS, range(10))
    )
    assert list(few.output) == list(many.output)
    assert few.initializer != many.initializer


def _swapped(model: onnx.ModelProto) -> None:
    first, second = model.graph.node[-4], model.graph.node[-3]
    first.input[0], second.input[0] = second.input[0], first.input[0]
    del (
        model.graph.output[1].type.tensor_type.shape.dim[:],
        model.graph.output[2].type.tensor_type.shape.dim[:],
    )


def _sums(values: float) -> Callable[[onnx.ModelProto], None]:
    def change(model: onnx.ModelProto) -> None:
        (own,) = (constant for constant in model.graph.initializer if constant.name == "sums")
        sums = numpy_helper.to_array(own).copy()
        sums[:, 1] = values
        own.CopyFrom(numpy_helper.from_array(sums, "sums"))

    return change


@pytest.mark.parametrize("change", [_swapped, _sums(np.nan), _sums(2.0), _sums(-1.0)])
def test_tables_that_are_none_are_refused(change: Callable[[onnx.ModelProto], None]) -> None:
    with pytest.raises(BundleInvalid, match="does not give what its manifest says"):
        Sampler(changed(bundle_of(mixture()), change))


WIDE = (40_000, 3)
"""Codes of the columns of a table whose network gives logits of groups."""
OF_WIDE = 50
"""Groups of its first column, as even remainders."""


def wide_bundle() -> tuple[Mixture, Bundle]:
    domain = {
        "schema": "understudy.domain/1", "target": None, "privacy_unit": None,
        "columns": [
            {"name": f"c{place}", "kind": "categorical", "categories": [str(code) for code in range(codes)]}
            for place, codes in enumerate(WIDE)
        ],
    }  # fmt: skip
    made = Mixture(groups=[np.arange(WIDE[0]) % OF_WIDE, np.arange(3)], target_index=None, components=4)
    rng = np.random.default_rng(10)
    made.initialise(KeyedStreams(bytes(32)), [rng.dirichlet(np.full(codes, 2.0)) for codes in WIDE])
    with torch.no_grad():
        made.logits += torch.from_numpy(1.5 * rng.standard_normal(made.logits.shape)).float()
    trained = TrainedGenerator(
        network=made,
        latent_dimension=LATENT_DIMENSION,
        label_index=None,
        label_probabilities=None,
        cardinalities=WIDE,
    )
    return made, unpack(write_bundle(generator=trained, domain=domain, certificate={}))


def test_rows_of_a_wide_table_follow_the_mixture() -> None:
    made, bundle = wide_bundle()
    codes = Sampler(bundle).codes(ROWS, np.random.default_rng(11))
    assert codes.dtype == np.int32
    with torch.no_grad():
        of_groups, of_other = np.split(made.distributions().double().numpy(), [OF_WIDE], axis=1)
    within = np.exp(made.within_group.double().numpy()[: WIDE[0]])
    group = np.arange(WIDE[0]) % OF_WIDE
    within /= np.bincount(group, weights=within)[group]  # float32 before
    of_codes = of_groups.mean(axis=0)[group] * within
    assert follow(codes[:, :1], of_codes / of_codes.sum())
    pairs = of_groups.T @ of_other
    pairs /= pairs.sum()
    in_groups = np.column_stack([codes[:, 0] % OF_WIDE, codes[:, 1]])
    assert follow(in_groups, pairs)
    assert not follow(in_groups, np.outer(pairs.sum(axis=1), pairs.sum(axis=0))), "columns depend"


def test_a_wide_table_without_shares_of_codes_is_refused() -> None:
    _, bundle = wide_bundle()
    with pytest.raises(BundleInvalid, match="no shares of codes within groups"):
        Sampler(changed(bundle, without_tables))


def test_groups_that_are_not_those_of_the_manifest_are_refused() -> None:
    _, bundle = wide_bundle()
    assert isinstance(bundle.manifest, TableManifest)
    assert bundle.manifest.groups == (OF_WIDE, 3)
    other = replace(bundle, manifest=replace(bundle.manifest, groups=(OF_WIDE + 1, 2)))
    with pytest.raises(BundleInvalid, match="does not give what its manifest says"):
        Sampler(other)
