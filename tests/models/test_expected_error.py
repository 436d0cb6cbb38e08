"""What a quote expects of counts is what a training releases and makes: one set of rules, and noise as it is drawn."""

import math
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.tables.ours import synthesize
from benchmarks.tables.scores import distances
from benchmarks.tables.task import Task
from core.artifacts.counts import ReleasedCounts
from core.artifacts.sampling import balanced_sampling
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.plan.expected_error import BALANCED_CODES, BALANCED_ROWS, ExpectedError, expected_error
from core.plan.plan import Plan, make_plan
from core.plan.spec import SynthesisSpec
from models.encoding import PrivateTable
from models.randomness import KeyedStreams
from models.tables.measurement.counts import released_counts
from models.tables.measurement.measure import measure
from tests.core.plan.shapes import Shape
from tests.models.coded_tables import KEY

ROWS = 20_000


def test_draws_are_expected_to_be_balanced_where_they_are():
    assert (BALANCED_ROWS, BALANCED_CODES) == (balanced_sampling.MOST_ROWS, balanced_sampling.MOST_CELLS)


def plan_of(shape: Shape, *, size: int = ROWS, records: int | None = None, screened: bool = True) -> Plan:
    return make_plan(
        spec=SynthesisSpec(synthesizer="idpgan", options={} if screened else {"anchor_screening_share": 0.0}),
        guarantee=PrivacyGuarantee(epsilon=1.0, delta=1e-6),
        declared_size=size,
        domain=shape,
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None if records is None else "person", records=records),
    )


def expected(shape: Shape, plan: Plan) -> ExpectedError:
    return expected_error(
        plan.anchor,
        cardinalities=shape.cardinalities,
        ordered=(False,) * len(shape.cardinalities),
        target_index=shape.target_index,
        declared_size=plan.declared_size,
    )


def uniform_table(shape: Shape, rows: int = ROWS) -> PrivateTable:
    rng = np.random.default_rng(7)
    return PrivateTable(
        codes=np.stack([rng.integers(0, codes, rows) for codes in shape.cardinalities], axis=1).astype(
            np.int16
        ),
        unit_of_record=np.arange(rows, dtype=np.int64),
        cardinalities=shape.cardinalities,
        target_index=shape.target_index,
    )


def exact(table: PrivateTable, columns: tuple[int, ...], counts: ReleasedCounts) -> np.ndarray:
    """Exact counts over the groups, or codes, of a released table."""
    groups = [np.arange(table.cardinalities[c]) if len(columns) == 1 else counts.groups[c] for c in columns]
    found = np.zeros([int(of.max()) + 1 for of in groups])
    np.add.at(found, tuple(of[table.codes[:, c]] for of, c in zip(groups, columns, strict=True)), 1.0)
    return found


@pytest.mark.parametrize(
    "shape",
    [
        Shape(cardinalities=(3, 8, 5, 8, 2, 7, 4), target_index=0),
        Shape(cardinalities=(30, 8, 5, 8, 2, 7, 4), target_index=0),
        Shape(cardinalities=(75, 8, 100, 8, 2, 50), target_index=None),
    ],
    ids=["by class", "too many classes", "merged codes"],
)
def test_counts_are_released_by_the_rules_and_with_the_noise_that_the_quote_tells_of(shape: Shape) -> None:
    plan, table = plan_of(shape, screened=False), uniform_table(shape)
    told = expected(shape, plan)

    counts = released_counts(measure(table, plan, KeyedStreams(KEY)), table, plan)

    assert counts is not None
    errors: dict[bool, list[float]] = {True: [], False: []}
    for released in counts.tables:
        noisy = np.array(released.cells, dtype=np.float64).ravel() * counts.step
        off = np.abs(noisy - exact(table, released.columns, counts).ravel()).sum() / 2 / ROWS
        errors[len(released.columns) == 1].append(off)
    assert len(errors[False]) == told.measured.tables
    assert told.measured.by_class == any(len(released.columns) == 3 for released in counts.tables)
    assert np.mean(errors[True]) == pytest.approx(told.released_counts.one_way, rel=0.1)
    assert np.mean(errors[False]) == pytest.approx(told.released_counts.two_way, rel=0.1)
    # The formula itself, from the deviations that the bundle states: rules that differ would differ here.
    stated = [
        math.sqrt(2 / math.pi) / 2 * np.size(released.cells) * released.noise_std / ROWS
        for released in counts.tables
    ]
    columns = len(shape.cardinalities)
    if max(int(of.max()) for of in counts.groups) < told.measured.most_groups:
        assert np.mean(stated[:columns]) == pytest.approx(told.released_counts.one_way, rel=5e-3)
        assert np.mean(stated[columns:]) == pytest.approx(told.released_counts.two_way, rel=5e-3)


def test_every_column_has_the_groups_of_its_own_kind() -> None:
    """In one table the columns without an order have more, wherever they stand."""
    shape, most = Shape(cardinalities=(80, 80, 80, 80), target_index=None), []
    plan, uniform = plan_of(shape, screened=False), uniform_table(shape)
    for ordered in ((True, False, True, False), (False, True, False, True)):
        table = replace(uniform, ordered=ordered)
        counts = released_counts(measure(table, plan, KeyedStreams(KEY)), table, plan)
        assert counts is not None
        groups = [int(of.max()) + 1 for of in counts.groups]
        most.append(
            [
                max(of for of, is_so in zip(groups, ordered, strict=True) if is_so is kind)
                for kind in (True, False)
            ]
        )
        assert most[-1][1] > 1.3 * most[-1][0]
    assert most[0] == pytest.approx(most[1], abs=2)


def test_rows_of_independent_typical_columns_are_as_far_off_as_expected() -> None:
    shape = Shape(cardinalities=(3, 12, 20, 2, 7, 30, 5, 9), target_index=0)
    rng, size = np.random.default_rng(3), 3000
    distributions = [np.arange(1, codes + 1) ** -1.5 for codes in shape.cardinalities]
    codes = np.stack(
        [
            rng.choice(len(distribution), size, p=distribution / distribution.sum())
            for distribution in distributions
        ],
        axis=1,
    )
    task = Task(
        codes=codes.astype(np.int16), cardinalities=shape.cardinalities, target=0,
        ordered=(False,) * len(distributions), epsilon=1.0, delta=1e-6, seed=1,
    )  # fmt: skip

    made, _ = synthesize(task)
    measured = distances(made, task.codes, shape.cardinalities, 0)

    told = expected(shape, plan_of(shape, size=size)).if_independent
    for way in ("one_way", "two_way", "three_way"):
        assert 1 / 1.5 < getattr(told, way) / measured[way] < 1.5, way
