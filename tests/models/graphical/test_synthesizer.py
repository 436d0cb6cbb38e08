"""Whole trainings of aim and mst: how near they come, that they resume, and what they leave. JAX runs here."""

import itertools
from functools import cache

import numpy as np
import pytest
import torch

from core.plan.errors import InvalidSpec
from models.encoding import PrivateImages, PrivateTable
from models.graphical.synthesizer import GraphicalSynthesizer
from models.randomness import KeyedStreams, Purpose
from models.registry import make_synthesizer
from models.release_recorder import CertificateRecorder
from models.sampled import codes, outputs
from models.synthesizer import NullHost, TrainedGenerator
from tests.cases import daily
from tests.models.coded_tables import small_table, streams
from tests.models.graphical.jobs import plan_for
from tests.models.idpgan.jobs import generator_bytes
from tests.privacy.whole_job import Host, Interrupted

ROWS = 6000
FEW: dict[str, dict[str, int]] = {"aim": {"rounds": 2}, "mst": {}}
"""Options of short trainings: every round of aim compiles a model of its own for seconds."""
ENGINES = pytest.mark.parametrize("engine", ["aim", "mst"])


@cache
def chained() -> PrivateTable:
    """Three columns in a chain, then one that depends on two of them together and one on none."""
    rng = np.random.default_rng(7)
    columns = [rng.integers(0, 4, ROWS)]
    for _ in range(2):
        columns.append(np.where(rng.random(ROWS) < 0.75, columns[-1], rng.integers(0, 4, ROWS)))
    both = (columns[0] // 2 + columns[2] // 2) % 2
    columns += [np.where(rng.random(ROWS) < 0.9, both, 1 - both), rng.integers(0, 3, ROWS)]
    return PrivateTable(
        codes=np.column_stack(columns).astype(np.int16), unit_of_record=np.arange(ROWS),
        cardinalities=(4, 4, 4, 2, 3), target_index=3,
    )  # fmt: skip


def records_of(generator: TrainedGenerator) -> np.ndarray:
    key = streams(3)
    pieces = []
    for number, (_labels, logits) in enumerate(outputs(generator, key, Purpose.TEST, rows=ROWS)):
        uniforms = key.torch_uniforms(Purpose.TEST, 2 + number, (len(logits), len(generator.cardinalities)))
        pieces.append(codes(logits, uniforms, generator.cardinalities))
    return np.concatenate(pieces)


def error(found: np.ndarray, truth: np.ndarray, sizes: tuple[int, ...], ways: int) -> float:
    """Mean total variation of all marginals of so many columns."""
    distances = []
    for clique in itertools.combinations(range(len(sizes)), ways):
        shape = [sizes[column] for column in clique]
        one, other = (
            np.bincount(np.ravel_multi_index(tuple(each[:, clique].T.astype(int)), shape), minlength=np.prod(shape)) / len(each)
            for each in (found, truth)
        )  # fmt: skip
        distances.append(np.abs(one - other).sum() / 2)
    return float(np.mean(distances))


def fitted(engine: str, key: KeyedStreams, host: Host | NullHost) -> TrainedGenerator:
    plan = plan_for(chained(), engine, epsilon=1.0, **FEW[engine])
    return make_synthesizer(engine).fit(chained(), plan, key, host)


@cache
def trained(engine: str) -> TrainedGenerator:
    plan = plan_for(chained(), engine, epsilon=1.0, **FEW[engine])
    record = CertificateRecorder(plan)
    key = streams(1)
    key.releases = record
    made = fitted(engine, key, NullHost())
    record.executed()
    return made


@ENGINES
@pytest.mark.long
def test_pairs_are_far_nearer_than_those_of_independent_columns(engine):
    table, found = chained(), records_of(trained(engine))
    alone = np.column_stack(
        [np.random.default_rng(n).permutation(column) for n, column in enumerate(table.codes.T)]
    )
    ours, independent = (error(one, table.codes, table.cardinalities, 2) for one in (found, alone))
    assert ours < 0.5 * independent


@pytest.mark.long
def test_aim_finds_what_depends_on_two_columns_together():
    table = chained()
    aim, mst = (
        error(records_of(trained(engine)), table.codes, table.cardinalities, 3) for engine in ("aim", "mst")
    )
    assert aim < 0.8 * mst


@pytest.mark.parametrize("engine", daily(["aim", "mst"], some=["mst"]))
def test_counts_leave_with_their_noise_and_the_distribution_of_the_target(engine):
    table, made = chained(), trained(engine)
    plan = plan_for(table, engine, epsilon=1.0, **FEW[engine])
    assert made.counts is not None
    assert made.label_probabilities is not None
    assert made.label_probabilities.sum() == pytest.approx(1.0, abs=1e-12)
    found = {one.columns: one for one in made.counts.tables}
    assert {(column,) for column in range(5)} <= set(found)
    assert len(found) == 5 + 4 if engine == "mst" else len(found) > 5
    for columns, one in found.items():
        exact = np.zeros(one.cells.shape)
        np.add.at(exact, tuple(table.codes[:, columns].T.astype(int)), 1)
        off = (one.cells * made.counts.step - exact) / one.noise_std
        assert np.abs(off).max() < 6
        assert one.noise_std > 1
    assert plan.anchor is not None


@cache
def ordered_codes() -> PrivateTable:
    """Two close codes of which the first is never the larger, a third that the second determines, and one more."""
    rng = np.random.default_rng(11)
    first = rng.integers(0, 6, ROWS)
    second = np.minimum(first + rng.integers(0, 3, ROWS), 5)
    codes = np.column_stack([first, rng.integers(0, 3, ROWS), second, second // 2]).astype(np.int16)
    places = np.arange(6)
    forbidden = {
        (0, 2): places[:, None] > places,
        (2, 3): places[:, None] // 2 != np.arange(3),
    }
    return PrivateTable(
        codes=codes, unit_of_record=np.arange(ROWS), cardinalities=(6, 3, 6, 3), target_index=1,
        forbidden=lambda: forbidden,
    )  # fmt: skip


@pytest.mark.parametrize("engine", daily(["aim", "mst"], some=["aim"]))
def test_rules_between_columns_hold_in_the_model(engine):
    table = ordered_codes()
    plan = plan_for(table, engine, epsilon=0.05, **FEW[engine])
    made = make_synthesizer(engine).fit(table, plan, streams(2), NullHost())
    records = records_of(made)
    for (one, other), cells in table.forbidden().items():
        assert not cells[records[:, one], records[:, other]].any()
    spread = [len(np.unique(column)) for column in records.T]
    assert spread == list(table.cardinalities), "every possible code is drawn"


@pytest.mark.parametrize(
    ("engine", "unsaved"),
    daily(itertools.product(["aim", "mst"], [False, True]), some=[("aim", True), ("mst", False)]),
)
def test_a_resumed_training_ends_with_the_same_bytes(engine, unsaved):
    host = Host(interrupt_at=2, unsaved=unsaved)
    with pytest.raises(Interrupted):
        fitted(engine, streams(1), host)
    assert generator_bytes(fitted(engine, streams(1), host)) == generator_bytes(trained(engine))


class Rigged:
    """Puts scores of its own in place of the released ones: the tree of the pairs with the first column wins."""

    def __init__(self) -> None:
        self.candidates = list(itertools.combinations(range(4), 2))

    def exact(self, purpose: int, step: int, parts: object, *, sensitivity: float) -> None:
        pass

    def noisy(self, purpose: int, step: int, *released: torch.Tensor) -> None:
        if purpose == Purpose.SCORE_NOISE:
            wanted = [1e6 if 0 in clique else 0.0 for clique in self.candidates]
            released[0].copy_(torch.tensor(wanted, dtype=torch.float64))


def test_the_choice_follows_the_released_scores_and_nothing_else():
    table, key = small_table(records=2000), streams()
    key.releases = Rigged()
    made = make_synthesizer("mst").fit(table, plan_for(table, "mst", epsilon=50.0), key, NullHost())
    assert made.counts is not None
    chosen = {one.columns for one in made.counts.tables if len(one.columns) == 2}
    assert chosen == {(0, 1), (0, 2), (0, 3)}


@pytest.mark.parametrize(
    ("engine", "cardinalities"),
    [
        pytest.param(
            engine,
            cardinalities,
            marks=pytest.mark.long if engine == "aim" and len(cardinalities) > 1 else (),
        )
        for engine in ("aim", "mst")
        for cardinalities in ((5,), (1, 3), (1, 1))
    ],
)
def test_narrow_tables(engine, cardinalities):
    rng = np.random.default_rng(0)
    table = PrivateTable(
        codes=np.column_stack([rng.integers(0, size, 50) for size in cardinalities]).astype(np.int16),
        unit_of_record=np.arange(50), cardinalities=cardinalities, target_index=None,
    )  # fmt: skip
    made = GraphicalSynthesizer().fit(table, plan_for(table, engine), streams(), NullHost())
    found = records_of(made)
    assert (found < cardinalities).all()


@pytest.mark.parametrize("engine", daily(["aim", "mst"], some=["mst"]))
def test_a_table_without_records(engine):
    none = PrivateTable(
        codes=np.zeros((0, 2), np.int16), unit_of_record=np.zeros(0, np.int64), cardinalities=(3, 2), target_index=1,
    )  # fmt: skip
    made = GraphicalSynthesizer().fit(none, plan_for(none, engine), streams(), NullHost())
    assert np.isfinite(made.label_probabilities).all()


def test_images_are_refused():
    plan = plan_for(small_table(records=20), "mst")
    pictures = PrivateImages(
        pixels=np.zeros((1, 8, 8, 1), np.uint8), labels=np.zeros(1, np.int16), unit_of_record=np.zeros(1, np.int64), classes=0
    )  # fmt: skip
    with pytest.raises(InvalidSpec):
        GraphicalSynthesizer().fit(pictures, plan, streams(), NullHost())
