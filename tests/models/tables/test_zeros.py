"""What declared rules leave empty is empty in the targets and rare in what is drawn; without rules nothing changes."""

import itertools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from core.artifacts.bundle import unpack
from core.artifacts.sampling.sampler import Sampler
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.plan.domain.codec import codes_of
from core.plan.domain.forbidden import forbidden_pairs
from core.plan.domain.table import TableDomain
from core.plan.plan import make_plan
from core.plan.spec import SynthesisSpec
from core.plan.stages import anchor_plan
from models.bundle import write_bundle
from models.encoding import PrivateTable
from models.idpgan.synthesizer import IdpganSynthesizer
from models.synthesizer import NullHost
from models.tables.anchor import MomentLayout, exact_moments, noisy_columns, noisy_moments
from models.tables.code_groups import Groups, group_counts
from models.tables.estimation.targets import Counted, MomentTargets, moment_targets
from models.tables.estimation.zeros import Pattern
from tests.cases import daily
from tests.core.plan.domain.ruled import EVERY_RULE, document, number, words
from tests.core.plan.domain.test_keeping import drawn
from tests.models.coded_tables import grouped, streams
from tests.models.idpgan.jobs import generator_bytes, small_plan

Document = dict[str, Any]
TARGET = words("t", "x", "y", "z")
SUM = document(
    [number("a", 0, 9), number("b", 0, 9), number("c", 0, 18)],
    [{"kind": "sum", "parts": ["a", "b"], "total": "c"}],
)
KINDS = {kind: found for kind, found in EVERY_RULE.items() if kind != "duration"} | {"sum": SUM}
"""Without durations, which forbid no combination of two columns."""
OF_TARGET = document(
    [number("a", 0, 5), number("b", 0, 5), TARGET],
    [
        {"kind": "impossible", "columns": ["a", "t"], "combinations": [[{"to": 2}, "x"], [{"from": 3}, "y"]]},
        {"kind": "at_most", "columns": ["a", "b"]},
    ],
    target="t",
)
"""One rule ties the target, the other does not."""
RECORDS = 4000


def with_target(found: Mapping[str, Any]) -> Document:
    return dict(found) | {"columns": [*found["columns"], TARGET], "target": "t"}


def table_of(found: Mapping[str, Any], *, records: int = RECORDS) -> PrivateTable:
    """Rows with even codes that keep the rules; the target has to do with the first column."""
    domain = TableDomain.from_json(found)
    codes = codes_of(domain, drawn(domain, records, 1)).astype(np.int16)
    return PrivateTable(
        codes=codes,
        unit_of_record=np.arange(records),
        cardinalities=domain.cardinalities,
        target_index=domain.target_index,
    )


def targets_of(
    table: PrivateTable,
    forbidden: Mapping[tuple[int, int], npt.NDArray[np.bool_]] | None,
    *,
    by_class: bool,
    noise: float,
    groups: tuple[Groups, ...] | None = None,
    key: int = 0,
) -> tuple[MomentTargets, MomentLayout]:
    """Targets of one noisy release; `None` leaves the rules out of the call."""
    groups = groups or tuple(np.arange(codes) for codes in table.cardinalities)
    plan = anchor_plan(len(table.cardinalities), diagonal_weight=1.5, noise_multiplier=noise)
    layout = MomentLayout(
        cardinalities=group_counts(groups), target_index=table.target_index, by_class=by_class
    )
    counted = Counted(
        columns=tuple(noisy_columns(table, plan, streams(key))),
        groups=groups,
        moments=noisy_moments(grouped(table, groups), layout, plan, streams(key)),
    )
    if forbidden is None:
        return moment_targets(counted, layout, plan), layout
    return moment_targets(counted, layout, plan, forbidden=forbidden), layout


def as_bytes(targets: MomentTargets) -> bytes:
    arrays = [
        targets.pairs,
        targets.pair_std,
        targets.ones,
        targets.one_std,
        targets.distribution,
        *targets.columns,
    ]
    return b"".join(array.tobytes() for array in arrays)


@pytest.mark.parametrize("by_class", [True, False])
def test_without_rules_the_targets_are_what_they_were_to_the_last_bit(by_class: bool) -> None:
    found = with_target(SUM)
    table = table_of(found)
    none = forbidden_pairs(TableDomain.from_json(found | {"rules": []}))
    assert none == {}
    expected, _ = targets_of(table, None, by_class=by_class, noise=2.0)
    made, _ = targets_of(table, none, by_class=by_class, noise=2.0)
    assert as_bytes(made) == as_bytes(expected)
    assert made.impossible is None
    ruled = forbidden_pairs(TableDomain.from_json(found))
    assert as_bytes(targets_of(table, ruled, by_class=by_class, noise=2.0)[0]) != as_bytes(expected)


def test_a_training_of_a_domain_whose_rules_empty_no_cell_is_the_training_without_rules() -> None:
    table = table_of(with_target(SUM), records=400)
    nothing = replace(table, forbidden=lambda: {(0, 1): np.zeros((10, 10), dtype=np.bool_)})
    plan = small_plan(table, critic=False)
    made = [IdpganSynthesizer().fit(one, plan, streams(), NullHost()) for one in (table, nothing)]
    assert generator_bytes(made[0]) == generator_bytes(made[1])


every_rule = pytest.mark.parametrize(
    ("kind", "by_class"),
    daily(
        [(kind, by_class) for kind in KINDS for by_class in (True, False)],
        # Every rule once, in one layout or the other.
        some=[(kind, number % 2 == 0) for number, kind in enumerate(KINDS)],
    ),
)


@every_rule
def test_forbidden_cells_are_zero_and_the_others_have_the_margins(kind: str, by_class: bool) -> None:
    found = with_target(KINDS[kind])
    table = table_of(found)
    forbidden = forbidden_pairs(TableDomain.from_json(found))
    targets, layout = targets_of(table, forbidden, by_class=by_class, noise=2.0)
    assert forbidden
    for (first, second), cells in forbidden.items():
        block, other = layout.blocks[first], layout.blocks[second]
        pair = targets.pairs[:, block, other]
        assert (pair[:, cells] == 0.0).all()
        assert (pair >= 0.0).all()
        assert np.array_equal(targets.pairs[:, other, block], pair.transpose(0, 2, 1))
        # Shares of all records; the noise of such a sum is a hundredth.
        assert np.abs(pair.sum(axis=2) - targets.ones[:, block]).max() < 1e-4
        assert np.abs(pair.sum(axis=1) - targets.ones[:, other]).max() < 1e-3
        assert targets.impossible is not None
        assert np.array_equal(targets.impossible[:, block, other], np.broadcast_to(cells, pair.shape))
    for block in layout.blocks:
        assert targets.ones[:, block].sum(axis=1) == pytest.approx(targets.distribution)
    for distribution in targets.columns:
        assert distribution.sum() == pytest.approx(1.0)
        assert (distribution > 0).all()


@every_rule
def test_the_pairs_of_a_rule_come_nearer_to_the_truth(kind: str, by_class: bool) -> None:
    """Total variation of the tables that hold forbidden cells, over five releases with fixed keys."""
    found = with_target(KINDS[kind])
    table = table_of(found)
    forbidden = forbidden_pairs(TableDomain.from_json(found))
    error = {}
    for name, known in (("without", {}), ("with", forbidden)):
        error[name] = 0.0
        for key in range(2 if kind == "exactly_one" else 5):
            targets, layout = targets_of(table, known, by_class=by_class, noise=3.0, key=key)
            truth = exact_moments(table, layout).pairs / RECORDS
            for first, second in forbidden:
                cells = np.s_[:, layout.blocks[first], layout.blocks[second]]
                error[name] += float(np.abs(targets.pairs[cells] - truth[cells]).sum())
    # Where few of many cells are forbidden (null together) little is gained, else a tenth to two thirds.
    assert error["with"] < (1.0 if kind == "null_together" else 0.92) * error["without"]


@pytest.mark.parametrize("by_class", [True, False])
def test_rules_that_tie_the_target_empty_cells_of_its_classes(by_class: bool) -> None:
    table = table_of(OF_TARGET)
    forbidden = forbidden_pairs(TableDomain.from_json(OF_TARGET))
    assert set(forbidden) == {(0, 1), (0, 2)}
    targets, layout = targets_of(table, forbidden, by_class=by_class, noise=2.0)
    first, second = layout.blocks[:2]
    if by_class:
        assert (targets.ones[0, first][:3] == 0).all()
        assert (targets.ones[1, first][3:] == 0).all()
        assert (targets.ones[2, first] > 0).all()
        assert (targets.pairs[0, first, second][:3] == 0).all()
    else:
        third = layout.blocks[2]
        assert (targets.pairs[0, first, third][:3, 0] == 0).all()
        assert (targets.pairs[0, first, third][3:, 1] == 0).all()
    assert (targets.pairs[:, first, second][:, forbidden[0, 1]] == 0).all()
    truth = exact_moments(table, layout)
    assert np.abs(targets.pairs - truth.pairs / RECORDS).max() < 0.02


@pytest.mark.parametrize("by_class", [True, False])
def test_of_merged_codes_only_groups_all_of_whose_codes_are_forbidden_are_empty(by_class: bool) -> None:
    found = with_target(
        document([number("a", 0, 3), number("b", 0, 3)], [{"kind": "at_most", "columns": ["a", "b"]}])
    )
    halves = np.array([0, 0, 1, 1])
    targets, layout = targets_of(
        table_of(found),
        forbidden_pairs(TableDomain.from_json(found)),
        by_class=by_class,
        noise=2.0,
        groups=(halves, halves, np.arange(3)),
    )
    pair = targets.pairs[:, layout.blocks[0], layout.blocks[1]]
    assert (pair[:, 1, 0] == 0).all()
    assert (pair[:, [0, 0, 1], [0, 1, 1]] > 0).all()


def test_margins_that_no_distribution_has_are_brought_together() -> None:
    """A code book of one code to one: both columns have the same shares, whatever the noise says."""
    book = document(
        [words("k", *"abcdef"), words("v", *"ABCDEF"), TARGET],
        [
            {
                "kind": "determines",
                "columns": ["k", "v"],
                "pairs": [[one, one.upper()] for one in "abcdef"],
            }
        ],
        target="t",
    )
    table = table_of(book)
    errors = {}
    for name, known in (("without", {}), ("with", forbidden_pairs(TableDomain.from_json(book)))):
        errors[name] = 0.0
        for key in range(10):
            targets, _layout = targets_of(table, known, by_class=False, noise=20.0, key=key)
            for column in (0, 1):
                exact = np.bincount(table.codes[:, column], minlength=6) / RECORDS
                errors[name] += float(np.square(targets.columns[column] - exact).sum())
            if name == "with":
                assert np.abs(targets.columns[0] - targets.columns[1]).max() < 1e-4
    # Two independent estimates of the same shares are averaged.
    assert errors["with"] < 0.8 * errors["without"]


@pytest.mark.parametrize("by_class", [True, False])
def test_a_class_that_no_record_can_have_leaves_finite_targets(by_class: bool) -> None:
    """Of class x the rules allow neither value of the first column with any of the second."""
    found = document(
        [words("a", "p", "q"), words("b", "p", "q"), TARGET],
        [
            {"kind": "impossible", "columns": ["a", "t"], "combinations": [["p", "x"]]},
            {"kind": "impossible", "columns": ["b", "t"], "combinations": [["p", "x"]]},
            {"kind": "impossible", "columns": ["a", "b"], "combinations": [["q", "q"]]},
        ],
        target="t",
    )
    forbidden = forbidden_pairs(TableDomain.from_json(found))
    targets, layout = targets_of(table_of(found), forbidden, by_class=by_class, noise=20.0)
    for array in (targets.pairs, targets.ones, *targets.columns):
        assert np.isfinite(array).all()
        assert (array >= 0).all()
    assert (targets.pairs[1:, layout.blocks[0], layout.blocks[1]][:, 1, 1] == 0).all()


def triangle(size: int, slices: int = 1) -> Pattern:
    return Pattern(
        possible=np.broadcast_to(np.triu(np.ones((size, size), dtype=np.bool_)), (slices, size, size))
    )


def test_without_dependence_the_distribution_is_quasi_independent() -> None:
    """On the possible cells every odds ratio of two rows and two columns is one, and the margins are kept."""
    pattern = triangle(6)
    distribution = np.where(pattern.possible[0], np.random.default_rng(0).uniform(0.5, 1.5, (6, 6)), 0.0)
    distribution /= distribution.sum()
    rows, columns = distribution.sum(axis=1), distribution.sum(axis=0)
    by_rows, by_columns = pattern.fitted(np.outer(rows, columns)[None], rows[None], columns[None])
    assert np.abs(by_rows - by_columns).max() < 1e-8
    assert by_rows[0].sum(axis=1) == pytest.approx(rows)
    assert by_rows[0].sum(axis=0) == pytest.approx(columns, abs=1e-8)
    assert (by_rows[0][~pattern.possible[0]] == 0).all()
    for (g, h), (i, j) in itertools.product(itertools.combinations(range(6), 2), repeat=2):
        if pattern.possible[0][h, i]:  # then all four are possible
            ratio = by_rows[0, g, i] * by_rows[0, h, j] / (by_rows[0, g, j] * by_rows[0, h, i])
            assert ratio == pytest.approx(1.0)


@pytest.mark.parametrize(
    "possible",
    [
        np.triu(np.ones((5, 5), dtype=np.bool_)),
        np.eye(4, dtype=np.bool_),
        np.array([[True, True, False], [True, False, False]]),
        np.arange(12).reshape(3, 4) % 5 != 0,
    ],
    ids=["order", "book", "path", "holes"],
)
def test_centring_projects_on_tables_without_margins(possible: npt.NDArray[np.bool_]) -> None:
    """And what it leaves of a cell's variance is the diagonal of the projection."""
    pattern = Pattern(possible=possible[None])
    for place in range(possible.size):
        unit = np.zeros(possible.size)
        unit[place] = 1.0
        found = pattern.centred(unit.reshape(1, *possible.shape))
        assert pattern.left.reshape(-1)[place] == pytest.approx(found.reshape(-1)[place], abs=1e-12)
        assert (found[0][~possible] == 0).all()
        assert np.abs(found.sum(axis=1)).max() < 1e-9
        assert np.abs(found.sum(axis=2)).max() < 1e-9
        assert pattern.centred(found) == pytest.approx(found)


@pytest.mark.parametrize("by_class", [True, False])
def test_of_what_independent_columns_leave_no_dependence_is_learnt(by_class: bool) -> None:
    """Columns that have nothing to do with each other but for `a <= b`: little noise is kept, and the distribution is quasi-independent."""
    found = with_target(
        document([number("a", 0, 9), number("b", 0, 9)], [{"kind": "at_most", "columns": ["a", "b"]}])
    )
    rng = np.random.default_rng(2)
    pairs = rng.integers(0, 10, (30_000, 2))
    pairs = pairs[pairs[:, 0] <= pairs[:, 1]][:10_000]
    codes = np.column_stack([pairs, rng.integers(0, 3, len(pairs))]).astype(np.int16)
    table = PrivateTable(
        codes=codes, unit_of_record=np.arange(len(codes)), cardinalities=(10, 10, 3), target_index=2
    )
    forbidden = forbidden_pairs(TableDomain.from_json(found))
    left = noise = 0.0
    for key in range(20):
        targets, layout = targets_of(table, forbidden, by_class=by_class, noise=10.0, key=key)
        first, second = layout.blocks[:2]
        pattern = Pattern(possible=~targets.impossible[:, first, second])
        margins = targets.ones[:, first], targets.ones[:, second]
        quasi, _ = pattern.fitted(pattern.possible.astype(np.float64), *margins)
        left += float(np.square(targets.pairs[:, first, second] - quasi).sum())
        noise += float(pattern.left.sum()) * targets.pair_std[first.start, second.start] ** 2
    assert left < 0.1 * noise


@pytest.mark.parametrize("target", ["t", None], ids=["by class", "not by class"])
def test_a_generator_that_knows_the_rules_breaks_them_less(target: str | None) -> None:
    """Codes as the generator draws them, before rows are made to keep the rules."""
    found = with_target(
        document(
            [number("a", 0, 7), number("b", 0, 7), words("k", *"abcd"), words("v", "p", "q")],
            [
                {"kind": "at_most", "columns": ["a", "b"]},
                {"kind": "determines", "columns": ["k", "v"], "pairs": [["a", "p"], ["b", "q"], ["c", "q"], ["d", "p"]]},
            ],
        )
    ) | {"target": target}  # fmt: skip
    domain = TableDomain.from_json(found)
    forbidden = forbidden_pairs(domain)
    bare = {name: value for name, value in found.items() if name != "rules"}
    table = table_of(found)
    shares = []
    for known in ({}, forbidden):
        ruled = replace(table, forbidden=lambda known=known: known)
        plan = make_plan(
            spec=SynthesisSpec(synthesizer="idpgan", options={"pretraining_steps": 150}),
            guarantee=PrivacyGuarantee(epsilon=2.0, delta=1e-6),
            declared_size=RECORDS,
            domain=ruled,
            adjacency=Adjacency.ADD_OR_REMOVE,
            privacy_unit=PrivacyUnit(column=None),
        )
        made = IdpganSynthesizer().fit(ruled, plan, streams(), NullHost())
        made.network.eval()
        guarantee = {"guarantee": {"epsilon": 2.0, "delta": 1e-6}}
        bundle = unpack(write_bundle(generator=made, domain=bare, certificate=guarantee))
        codes = Sampler(bundle).codes(20_000, np.random.default_rng(3))
        broken = np.zeros(len(codes), dtype=np.bool_)
        for (first, second), cells in forbidden.items():
            broken |= cells[codes[:, first], codes[:, second]]
        shares.append(float(broken.mean()))
    assert shares[1] < 0.6 * shares[0]


def close_table(records: int, codes: int, seed: int = 0) -> PrivateTable:
    """Two ordered columns whose codes are equal or neighbours, as of two dates a few days apart."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, codes, records)
    second = np.minimum(first + (rng.random(records) < 0.17), codes - 1)
    return PrivateTable(
        codes=np.column_stack([first, second]).astype(np.int16),
        unit_of_record=np.arange(records),
        cardinalities=(codes, codes),
        target_index=None,
    )


def test_columns_of_close_codes_keep_their_shares_under_an_order() -> None:
    """The distribution under the order is nearly a diagonal: scaling in turn would stop far from it, and shift one column up and the other down."""
    table = close_table(20_000, 24)
    order = {(0, 1): np.tril(np.ones((24, 24), dtype=np.bool_), -1)}
    exact = [np.bincount(table.codes[:, column], minlength=24) / 20_000 for column in (0, 1)]
    distance = (np.arange(24) - np.arange(24)[:, None]) * np.ones((24, 24))
    for key in range(3):
        targets, layout = targets_of(table, order, by_class=False, noise=3.0, key=key)
        for found, truth in zip(targets.columns, exact, strict=True):
            assert abs(float((found - truth) @ np.arange(24))) < 0.05
        pair = targets.pairs[0, layout.blocks[0], layout.blocks[1]]
        assert abs(float((pair * distance).sum()) - 0.16) < 0.05
        assert np.abs(pair.sum(axis=1) - targets.columns[0]).max() < 1e-6
        assert np.abs(pair.sum(axis=0) - targets.columns[1]).max() < 1e-6


@pytest.mark.parametrize("apart", [0.1, 0.001, 0.0])
def test_a_distribution_under_an_order_reaches_margins_that_are_nearly_equal(apart: float) -> None:
    pattern = triangle(12)
    rows = np.full(12, 1 / 12)
    columns = rows.copy()
    columns[0], columns[-1] = (1 - apart) / 12, (1 + apart) / 12
    by_rows, by_columns = pattern.fitted(np.outer(rows, columns)[None], rows[None], columns[None])
    for found in (by_rows[0], by_columns[0]):
        assert np.abs(found.sum(axis=1) - rows).max() < 1e-7
        assert np.abs(found.sum(axis=0) - columns).max() < 1e-7
        assert (found[~pattern.possible[0]] == 0).all()


def test_margins_that_keep_an_order_stay_and_others_meet_where_they_cross() -> None:
    order = triangle(4).order
    assert order is not None
    rows, columns = np.array([[0.4, 0.2, 0.2, 0.2]]), np.array([[0.1, 0.5, 0.1, 0.3]])
    kept = order.agreed(rows, columns, 0.25)
    assert kept[0] == pytest.approx(rows)
    assert kept[1] == pytest.approx(columns)
    crossing = np.array([[0.2, 0.2, 0.3, 0.3]]), np.array([[0.4, 0.0, 0.2, 0.4]])
    made_rows, made_columns = order.agreed(*crossing, 0.25)
    # Up to the first code .2 and .4 become .35; up to the second both sums are .4 already, and the rest stays.
    assert made_rows[0] == pytest.approx([0.35, 0.05, 0.3, 0.3])
    assert made_columns[0] == pytest.approx([0.35, 0.05, 0.2, 0.4])


def test_an_order_may_have_codes_that_are_outside_it_and_groups_that_it_forbids_in_part() -> None:
    """Missing values go with every code, and of some groups only part of the codes is beyond the other group."""
    possible = np.array(
        [[1, 1, 1, 1, 1], [0, 1, 1, 1, 1], [0, 1, 1, 1, 1], [0, 0, 0, 1, 1], [1, 1, 1, 1, 1]], dtype=np.bool_
    )
    pattern = Pattern(possible=possible[[3, 1, 0, 4, 2]][None])
    assert pattern.order is not None
    rng = np.random.default_rng(0)
    for _ in range(20):
        rows, columns = rng.dirichlet(np.ones(5), 1), rng.dirichlet(np.ones(5), 1)
        agreed = pattern.order.agreed(rows, columns, 0.5)
        by_rows, by_columns = pattern.fitted(pattern.possible + 0.0, *agreed)
        assert np.abs(by_rows - by_columns).max() < 1e-6
        assert by_rows.sum() == pytest.approx(1.0)
    assert Pattern(possible=np.eye(3, dtype=np.bool_)[None]).order is None
    assert Pattern(possible=np.stack([np.eye(2), np.ones((2, 2))]) > 0).order is None
