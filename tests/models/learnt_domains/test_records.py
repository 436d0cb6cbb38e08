"""Learning how many records of a unit count: what is released, what is chosen, and what then runs."""

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from core.plan.domain.errors import DomainInvalid
from core.plan.domain.schema import storage_schema
from core.plan.domain.table import TableDomain
from core.plan.errors import BoundNeedsAnchor, InvalidSpec
from core.plan.learning import RECORDS, LearningPlan, LearningRelease
from core.plan.plan import Plan
from core.plan.stages import AnchorPlan
from models.counting.memory import counter_of
from models.learnt_domains.learning import learn_domain, learnt_records
from models.learnt_domains.records import CountedPair, bins_of, chosen_bound, pair_of
from models.randomness import KeyedStreams, Purpose
from models.synthesizer import NullHost
from models.tables.measurement.measure import measure
from tests.core.plan.learnt import plan_of
from tests.privacy.seam import Recorder

KEY = bytes(range(32))
QUIET = CountedPair(cells=1.0, noise_std=0.0)
WARD: dict[str, Any] = {"name": "ward", "kind": "categorical", "categories": ["a", "b", "c"]}
SICK: dict[str, Any] = {"name": "sick", "kind": "boolean"}
STAYS = [1] * 500 + [2] * 300 + [3] * 150 + [5] * 60 + [40] * 3


def declared(**unit: Any) -> TableDomain:
    columns = [{"name": "patient", "kind": "unit", "records": "learn"} | unit, WARD, SICK]
    return TableDomain.from_json(
        {"schema": "understudy.domain/1", "target": None, "privacy_unit": "patient", "columns": columns}
    )


def stays(held: list[int]) -> pa.RecordBatch:
    """Records of units that have so many each, in no order."""
    rng = np.random.default_rng(2)
    units = rng.permutation(np.repeat(np.arange(len(held)), held))
    wards = pa.DictionaryArray.from_arrays(
        pa.array(rng.integers(0, 3, len(units)), pa.int16()), ["a", "b", "c"]
    )
    sick = pa.array(rng.random(len(units)) < 0.3)
    names = pa.array([f"p{unit}" for unit in units])
    return pa.RecordBatch.from_arrays([wards, sick, names], schema=storage_schema(declared()))


def learning(plan: Plan) -> LearningPlan:
    assert plan.learning is not None
    return plan.learning


def test_what_is_learnt_of_units_is_a_part_of_the_plan_like_any_other():
    domain = declared()
    assert domain.learnt == ((None, "records"),)
    assert domain.records_per_unit is None
    assert TableDomain.from_json(domain.to_json()) == domain
    plan = plan_of(domain)
    assert learning(plan).releases == (LearningRelease(column=None, learns="records", sensitivity=1.0),)
    assert Plan.from_json(plan.to_json()) == plan
    assert plan.privacy_unit.records is None
    assert isinstance(plan.anchor, AnchorPlan)
    assert not plan.only_counts
    plain = plan_of(declared(records=None))
    assert isinstance(plain.anchor, AnchorPlan)
    assert plan.anchor.sensitivity == plain.anchor.sensitivity
    assert plan.anchor.noise_multiplier > plain.anchor.noise_multiplier, "the histogram has its share"


def test_it_stands_beside_what_is_learnt_of_columns():
    ages = {"name": "age", "kind": "numeric", "type": "integer", "bounds": "learn", "bins": "learn"}
    columns = [{"name": "patient", "kind": "unit", "records": "learn"}, ages]
    domain = TableDomain.from_json(
        {"schema": "understudy.domain/1", "target": None, "privacy_unit": "patient", "columns": columns}
    )
    assert domain.learnt == ((0, "bounds"), (0, "bins"), (None, "records"))


@pytest.mark.parametrize("options", [{"critic": True}, {"anchor": False}])
def test_it_needs_counts_alone(options: dict[str, Any]):
    with pytest.raises(BoundNeedsAnchor):
        plan_of(declared(), options)


def test_graphical_models_take_declared_bounds_alone():
    with pytest.raises(InvalidSpec):
        plan_of(declared(), synthesizer="mst")


@pytest.mark.parametrize("records", ["Learn", "many", 0, 1001])
def test_other_words_and_numbers_are_refused(records: object):
    with pytest.raises(DomainInvalid):
        declared(records=records)


@pytest.mark.parametrize("held", [[], [1], [1, 2, 2, 9], [2000], STAYS])
@pytest.mark.parametrize("more", [1, 2, 5, 768, 769, 5000])
def test_a_unit_moves_one_count_by_one(held: list[int], more: int):
    plan = learning(plan_of(declared()))
    heard = []
    for some in (held, [*held, more]):
        recorder = Recorder()
        streams = KeyedStreams(KEY, releases=recorder)
        learn_domain([stays(some)], declared(), plan, streams, pair=QUIET)
        heard.append(recorder.heard[Purpose.LEARNING_NOISE, 0].exact)
    ((one, std),), ((other, other_std),) = heard
    assert len(one) == len(RECORDS) + 1
    assert std == other_std == plan.noise_multiplier
    moved = (other - one).numpy()
    assert moved.sum() == 1.0
    assert np.abs(moved).sum() == 1.0
    assert np.flatnonzero(moved).tolist() == bins_of(np.array([more])).tolist()


def test_the_bin_of_a_unit_is_of_the_smallest_bound_that_cuts_nothing_off():
    held = np.arange(1, 1000)
    ends = np.array([*RECORDS, np.inf])
    assert (ends[bins_of(held)] >= held).all()
    assert (ends[bins_of(held)[1:] - 1] < held[1:])[bins_of(held)[1:] > 0].all()


def counts_of(held: np.ndarray) -> np.ndarray:
    return np.bincount(bins_of(held), minlength=len(RECORDS) + 1).astype(float)


def test_more_units_and_less_noise_count_more_records():
    held = 1 + np.random.default_rng(3).poisson(np.random.default_rng(4).gamma(1.0, 2.0, 20_000))
    many = [
        chosen_bound(counts_of(held), 10.0, pair=CountedPair(cells=36.0, noise_std=std))
        for std in (0.0, 10.0, 150.0, 1_500.0, 1e5)
    ]
    assert many == sorted(many, reverse=True)
    assert many[0] >= 12
    assert many[-1] == 1
    assert len(set(many)) > 3


@pytest.mark.parametrize("each", [1, 2, 8, 48])
@pytest.mark.parametrize("std", [1.0, 30.0, 300.0])
def test_units_of_equally_many_records_are_not_cut_and_no_noise_is_added_for_more(each: int, std: float):
    """However loud the noise is: a bound of half as many has as much of it for each record, and fewer records."""
    bound = chosen_bound(counts_of(np.full(4_000, each)), 10.0, pair=CountedPair(cells=36.0, noise_std=std))
    assert each / 2 < bound <= each


@pytest.mark.parametrize("seed", range(20))
def test_noise_far_out_is_not_taken_for_records(seed: int):
    """Every unit has one record or two; the far bins hold noise alone, of which some is positive."""
    counts = counts_of(np.array([1] * 3000 + [2] * 1000))
    noisy = counts + np.random.default_rng(seed).normal(0.0, 30.0, len(counts))
    assert chosen_bound(noisy, 30.0, pair=QUIET) <= 3


@pytest.mark.parametrize("counts", [np.zeros(len(RECORDS) + 1), np.full(len(RECORDS) + 1, -50.0)])
def test_of_nothing_one_record_counts(counts: np.ndarray):
    assert chosen_bound(counts, 20.0, pair=CountedPair(cells=36.0, noise_std=5.0)) == 1


def test_all_units_beyond_the_largest_bound_count_with_it():
    counts = np.zeros(len(RECORDS) + 1)
    counts[-1] = 10_000.0
    assert chosen_bound(counts, 20.0, pair=QUIET) == RECORDS[-1]


def test_what_is_learnt_is_used_as_if_it_had_been_declared():
    domain, batch = declared(), stays(STAYS)
    plan = plan_of(domain)
    pair = pair_of(plan, domain)
    assert pair is not None
    assert isinstance(plan.anchor, AnchorPlan)
    assert pair.noise_std == plan.anchor.noise_std
    assert pair.cells == math.prod(domain.cardinalities)
    found, table = learnt_records(
        [batch], domain, learning(plan), KeyedStreams(KEY), NullHost(), key=bytes(32), pair=pair
    )
    bound = found.records_per_unit
    assert bound in RECORDS
    assert found == declared(records=bound), "an ordinary domain"
    assert table.record_bound == bound
    assert np.bincount(table.unit_of_record).max() == min(bound, 40)
    again, same = learnt_records(
        [batch], domain, learning(plan), KeyedStreams(KEY), NullHost(), key=bytes(32), pair=pair
    )
    assert again == found, "a resumed job learns the same"
    assert np.array_equal(same.codes, table.codes)

    running = plan.with_learnt_records(bound)
    stated = plan_of(declared(records=bound))
    assert isinstance(running.anchor, AnchorPlan)
    assert isinstance(plan.anchor, AnchorPlan)
    assert isinstance(stated.anchor, AnchorPlan)
    assert running.privacy_unit == stated.privacy_unit
    assert math.isclose(running.anchor.table_sensitivity, bound * plan.anchor.table_sensitivity)
    assert math.isclose(running.anchor.noise_std, bound * plan.anchor.noise_std)
    assert running.anchor.noise_multiplier == plan.anchor.noise_multiplier, "what is paid stays"
    assert running.mechanism == plan.mechanism
    recorder = Recorder()
    measure(table, running, KeyedStreams(KEY, releases=recorder))
    assert counter_of(table).most_records == bound
    for step, part in enumerate(plan.anchor.parts):
        assert recorder.heard[Purpose.ANCHOR_NOISE, step].sensitivity * part.noise_multiplier <= 1 + 1e-9


def test_a_plan_of_declared_units_runs_as_it_is():
    for domain in (declared(records=None), declared(records=4)):
        plan = plan_of(domain)
        assert plan.with_learnt_records(domain.records_per_unit) is plan
        assert pair_of(plan, domain) is None
