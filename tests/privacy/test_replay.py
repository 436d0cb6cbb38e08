"""Record a whole job, replay its releases on a neighbour: everything after them is the same to the byte.

What differs between the two runs is one privacy unit. With every noisy release frozen, whatever else a job does or
leaves behind must not differ at all, and the exact values that the noise hides may differ by no more than the plan
has paid for. The added unit comes last, so that the coins of everybody else stay the same: the coupling under which
neighbours are compared.

Here a job is intake, training, bundle and samples in one process, which takes a moment, so there is room for every kind
of unit, for random domains and for random options; tests/privacy/replay/test_service_job.py runs it through the whole
deployment.
"""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from core.data.errors import EmptyUpload, NoAcceptableRows
from core.data.intake.intake import CSV
from core.errors import UnderstudyError
from core.plan.domain.table import TableDomain
from core.plan.errors import InvalidSpec
from core.plan.options import IdpganRequest
from core.plan.plan import Plan
from models.randomness import Purpose
from tests.cases import daily
from tests.privacy.replay.domains import FILES, UNIT_KINDS, file_of, unit_of, worlds
from tests.privacy.replay.neighbours import UNITS, is_person
from tests.privacy.replay.options import EVERY_OPTION, options
from tests.privacy.seam import Recorder, Replayer, require_stated, require_within
from tests.privacy.whole_job import DECLARED_SIZE, csv_of, declared, plan_for, run, table_of

OPTIONS = {
    "anchor and critic": {},
    "anchor only": {"critic": False},
    "critic only": {"anchor": False},
    "layers": {"grouping": "layers"},
    "rows": {"grouping": "rows", "row_blocks": 3},
    "adaptive thresholds": {"acts": True, "acts_interval": 3, "grouping": "rows", "row_blocks": 3},
    "clusters": {
        "acts": True, "weight_clusters": True, "acts_interval": 2, "grouping": "rows", "row_blocks": 4,
        "cluster_min_blocks": 2, "cluster_radius": 2.0,
    },
    "falling noise": {"schedule": "exponential", "schedule_decay": 1.0, "schedule_period": 4, "anchor": False},
    "adaptive critic steps": {"critic_steps": "adaptive"},
    "large norm": {"clipping_norm": 100.0, "anchor": False},
}  # fmt: skip
WAYS = ("added", "removed")
UNHURRIED = settings(
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def replayed(
    files: tuple[bytes, bytes], domain: TableDomain, plan: Plan, *, folder: Path, kill: int, unsaved: bool = False,
    content_type: str = CSV, export: bool = False,
) -> Replayer:  # fmt: skip
    recorder = Recorder()
    replayer = Replayer(recorder)
    before, after = (
        run(
            content, domain, plan, listener, folder=folder / name, content_type=content_type, interrupt_at=kill,
            unsaved=unsaved, export=export,
        )
        for name, content, listener in (("first", files[0], recorder), ("second", files[1], replayer))
    )  # fmt: skip
    assert recorder.calls == replayer.calls
    assert after.marks == before.marks
    assert after.checkpoints == before.checkpoints
    assert after.bundle == before.bundle
    assert after.samples == before.samples
    assert after.domain == before.domain
    assert after.printed == before.printed == ""
    assert after.objects == before.objects == ["rows"]
    require_stated(recorder, plan)
    require_within(replayer, recorder, plan)
    return replayer


def in_turn() -> list[tuple[str, str]]:
    """Every unit with every third of the options or so, every option with several units."""
    units, names = list(UNITS), list(OPTIONS)
    return [(unit, names[(3 * n + k) % len(names)]) for n, unit in enumerate(units) for k in range(3)]


def both_ways() -> list[tuple[str, str, str]]:
    """Each of these added and taken away."""
    return [(*pair, way) for pair in in_turn() for way in WAYS]


def one_way() -> list[tuple[str, str, str]]:
    """Some of these: every unit and every option is added in some and taken away in others."""
    turns = enumerate(in_turn())
    # The way changes from pair to pair, and from one turn of the options to the next.
    once = [(unit, chosen, WAYS[(number + number // len(OPTIONS)) % 2]) for number, (unit, chosen) in turns]
    taken: list[tuple[str, str, str]] = []
    seen: set[tuple[str, str]] = set()
    for unit, chosen, way in once:
        if not {(unit, way), (chosen, way)} <= seen:
            taken.append((unit, chosen, way))
            seen |= {(unit, way), (chosen, way)}
    return taken


def test_every_day_each_unit_and_each_option_is_added_and_taken_away():
    once = one_way()
    assert {(unit, way) for unit, _, way in once} == {(unit, way) for unit in UNITS for way in WAYS}
    assert {(chosen, way) for _, chosen, way in once} == {(chosen, way) for chosen in OPTIONS for way in WAYS}


@pytest.mark.parametrize(("unit", "chosen", "way"), daily(both_ways(), some=one_way()))
def test_nothing_but_the_releases_knows_the_unit(unit, chosen, way, tmp_path):
    by_person = is_person(unit)
    domain, rows = declared(target=True, by_person=by_person), table_of(150, by_person=by_person)
    pair = (csv_of(rows), csv_of([*rows, *UNITS[unit]]))
    replayer = replayed(
        (pair[1], pair[0]) if way == "removed" else pair,
        domain,
        plan_for(domain, OPTIONS[chosen]),
        folder=tmp_path,
        kill=3,
    )
    took_part = max(replayer.distances.values()) > 0
    assert took_part == (unit != "refused"), "the unit took part, so the test could have failed"


@pytest.mark.parametrize(
    ("unit", "chosen", "removed"),
    daily(
        [
            (unit, chosen, removed)
            for unit in ("ordinary", "a person with many records", "a person with records of every kind")
            for chosen in ("anchor and critic", "anchor only")
            for removed in (False, True)
        ],
        some=[
            ("ordinary", "anchor only", False),
            ("a person with records of every kind", "anchor and critic", True),
        ],
    ),
)
def test_nothing_but_the_counts_of_combinations_knows_the_unit(unit, chosen, removed, tmp_path):
    by_person = is_person(unit)
    domain, rows = declared(target=True, by_person=by_person, few=True), table_of(150, by_person=by_person)
    plan = plan_for(domain, OPTIONS[chosen])
    assert plan.summed is not None
    assert plan.summed.combinations
    pair = (csv_of(rows), csv_of([*rows, *UNITS[unit]]))
    moved = replayed((pair[1], pair[0]) if removed else pair, domain, plan, folder=tmp_path, kill=1)
    assert moved.distances[Purpose.ANCHOR_NOISE, 0] > 0
    assert moved.distances[Purpose.ANCHOR_NOISE, 1] > 0


persons = pytest.mark.parametrize(
    ("unit", "removed"),
    daily(
        [
            (unit, removed)
            for unit in ("a person with many records", "a person with records of every kind")
            for removed in (False, True)
        ],
        some=[("a person with many records", False), ("a person with records of every kind", True)],
    ),
)


@persons
@pytest.mark.parametrize("bound", [1, 4])
def test_a_bound_on_records_bounds_what_a_unit_moves(unit, bound, removed, tmp_path):
    domain, rows = declared(target=True, by_person=True, bound=bound), table_of(150, by_person=True)
    pair = (csv_of(rows), csv_of([*rows, *UNITS[unit]]))
    plan = plan_for(domain, OPTIONS["anchor only"])
    moved = replayed((pair[1], pair[0]) if removed else pair, domain, plan, folder=tmp_path, kill=1)
    assert moved.distances[Purpose.ANCHOR_NOISE, 0] > 0


@persons
def test_a_bound_on_records_bounds_what_a_unit_moves_where_the_domain_is_learnt(unit, removed, tmp_path):
    domain = declared(target=True, by_person=True, bound=4, learnt=True)
    rows = table_of(150, by_person=True)
    pair = (csv_of(rows), csv_of([*rows, *UNITS[unit]]))
    plan = plan_for(domain, OPTIONS["anchor only"], epsilon=30.0)
    moved = replayed((pair[1], pair[0]) if removed else pair, domain, plan, folder=tmp_path, kill=1)
    assert moved.distances[Purpose.LEARNING_NOISE, 0] > 0
    assert moved.distances[Purpose.ANCHOR_NOISE, 0] > 0


@persons
@pytest.mark.parametrize("learnt", [False, True], ids=["records alone", "columns too"])
def test_a_learnt_bound_on_records_bounds_what_a_unit_moves(unit, learnt, removed, tmp_path):
    domain = declared(target=True, by_person=True, bound="learn", learnt=learnt)
    rows = table_of(150, by_person=True)
    pair = (csv_of(rows), csv_of([*rows, *UNITS[unit]]))
    plan = plan_for(domain, OPTIONS["anchor only"], epsilon=30.0)
    moved = replayed((pair[1], pair[0]) if removed else pair, domain, plan, folder=tmp_path, kill=1)
    last = len(domain.learnt) - 1
    assert moved.distances[Purpose.LEARNING_NOISE, last] > 0
    assert moved.distances[Purpose.ANCHOR_NOISE, 0] > 0


@pytest.mark.parametrize(
    ("names", "removed"),
    daily(
        [(names, removed) for names in (1, 7, 90) for removed in (False, True)], some=[(7, True), (90, False)]
    ),
)
def test_nothing_but_the_releases_knows_a_unit_with_many_words(names, removed, tmp_path):
    """Words that others have and words that nobody has, some of them more than count."""
    unit = [f"new,{'ABC'[n] if n < 3 else f'ward {n}'},{n},{n % 10},yes" for n in range(names)]
    domain, rows = declared(target=True, by_person=True, learnt=True), table_of(150, by_person=True)
    pair = (csv_of(rows), csv_of([*rows, *unit, *unit[:5]]))
    plan = plan_for(domain, OPTIONS["anchor only"], epsilon=30.0)
    assert domain.learnt[0] == (0, "categories")
    assert plan.learning is not None
    moved = replayed((pair[1], pair[0]) if removed else pair, domain, plan, folder=tmp_path, kill=1)
    reached = moved.distances[Purpose.LEARNING_NOISE, 0] * plan.learning.noise_multiplier
    assert 1 - 1e-4 < reached <= 1 + 1e-12, "such a unit moves the words by the whole sensitivity"


@pytest.mark.parametrize(
    ("unit", "way"),
    daily(
        [(unit, way) for unit in UNITS for way in WAYS],
        some=[(unit, WAYS[number % 2]) for number, unit in enumerate(UNITS)],
    ),
)
def test_nothing_but_the_releases_knows_the_unit_where_the_domain_is_learnt(unit, way, tmp_path):
    by_person = is_person(unit)
    domain = declared(target=True, by_person=by_person, learnt=True)
    rows = table_of(150, by_person=by_person)
    pair = (csv_of(rows), csv_of([*rows, *UNITS[unit]]))
    options = OPTIONS["anchor only"] if by_person else OPTIONS["critic only"]
    plan = plan_for(domain, options, epsilon=30.0)
    files = (pair[1], pair[0]) if way == "removed" else pair
    replayer = replayed(files, domain, plan, folder=tmp_path, kill=3, export=unit == "a new category")
    learning = [
        moved for (purpose, _), moved in replayer.distances.items() if purpose == Purpose.LEARNING_NOISE
    ]
    assert len(learning) == len(domain.learnt) == 5
    assert (max(learning) > 0) == (unit != "refused"), "the unit took part, so the test could have failed"


@pytest.mark.parametrize(
    ("unit", "way"),
    daily(
        [(unit, way) for unit in UNITS for way in WAYS],
        some=[(unit, WAYS[(number + 1) % 2]) for number, unit in enumerate(UNITS)],
    ),
)
def test_nothing_but_the_releases_knows_the_unit_where_declared_bounds_are_checked(unit, way, tmp_path):
    by_person = is_person(unit)
    domain = declared(target=True, by_person=by_person, wide=True)
    rows = table_of(150, by_person=by_person)
    pair = (csv_of(rows), csv_of([*rows, *UNITS[unit]]))
    plan = plan_for(domain, OPTIONS["anchor only"], epsilon=30.0, checks=True)
    assert plan.learning is not None
    files = (pair[1], pair[0]) if way == "removed" else pair
    replayer = replayed(files, domain, plan, folder=tmp_path, kill=3, export=unit == "a new category")
    checks = [
        moved for (purpose, _), moved in replayer.distances.items() if purpose == Purpose.LEARNING_NOISE
    ]
    assert len(checks) == len(plan.learning.checks) == 2
    assert (max(checks) > 0) == (unit != "refused"), "the unit took part, so the test could have failed"


def test_a_published_bundle_and_its_samples_are_the_same_too(tmp_path):
    domain, rows = declared(target=True, by_person=False), table_of(150, by_person=False)
    files = (csv_of(rows), csv_of([*rows, *UNITS["a new category"]]))
    plan = plan_for(domain, OPTIONS["adaptive thresholds"])
    replayer = replayed(files, domain, plan, folder=tmp_path, kill=3, export=True)
    assert max(replayer.distances.values()) > 0, "the unit took part, so the test could have failed"


def test_clusters_follow_released_histograms_and_nothing_else(tmp_path):
    # Every unit is in every batch, and of two records the one with smaller norms decides the exact histograms' fullest bins.
    domain, rows = declared(target=True, by_person=False), UNITS["extreme"]
    sharp = {"acts_smoothing": 0.0, "cluster_radius": 0.1, "expected_batch_size": DECLARED_SIZE}
    pair = (csv_of(rows), csv_of([*rows, *table_of(1, by_person=False)]))
    moved = replayed(pair, domain, plan_for(domain, OPTIONS["clusters"] | sharp), folder=tmp_path, kill=3)
    assert min(moved.distances[Purpose.ACTS_NOISE, step] for step in (0, 2, 4, 6)) > 0


def test_the_random_options_leave_none_out():
    # An effort names a number of steps, and every number of steps occurs.
    assert set(IdpganRequest.model_fields) == EVERY_OPTION | {"effort"}


a_random_job = given(
    world=worlds(),
    chosen=options(),
    kind=st.sampled_from(UNIT_KINDS),
    content_type=st.sampled_from(FILES),
    epsilon=st.sampled_from([0.5, 3.0, 30.0]),
    removed=st.booleans(),
    size=st.integers(0, 120),
    seed=st.integers(0, 2**32 - 1),
    kill=st.integers(1, 8),
    unsaved=st.booleans(),
)
# A table may have its target alone.
without_columns = pytest.mark.filterwarnings("ignore:Initializing zero-element tensors")


@without_columns
@settings(UNHURRIED, max_examples=8)
@a_random_job
def test_random_neighbours_domains_and_options(tmp_path_factory, **drawn):
    assert replayed_neighbours(tmp_path_factory, **drawn).distances, "the job made releases"


@pytest.mark.long
@without_columns
@settings(UNHURRIED, max_examples=60)
@a_random_job
def test_many_random_neighbours_domains_and_options(tmp_path_factory, **drawn):
    assert replayed_neighbours(tmp_path_factory, **drawn).distances, "the job made releases"


def replayed_neighbours(
    tmp_path_factory, world, chosen, kind, content_type, epsilon, removed, size, seed, kill, unsaved
):
    try:
        plan = plan_for(world.domain, chosen, epsilon=epsilon)
    except (InvalidSpec, UnderstudyError):
        reject()  # these options do not suit the size, or no noise brings them under epsilon
    rng = np.random.default_rng(seed)
    rows = world.table(rng, size)
    unit = unit_of(kind, world, rows, rng)
    pair = tuple(file_of(each, world, content_type) for each in (rows, [*rows, *unit]))
    saves = plan.steps + (plan.options.pretraining_steps if plan.anchor is not None else 0)
    try:
        return replayed(
            (pair[1], pair[0]) if removed else pair, world.domain, plan, folder=tmp_path_factory.mktemp("job"),
            kill=min(kill, saves), unsaved=unsaved, content_type=content_type,
        )  # fmt: skip
    except (EmptyUpload, NoAcceptableRows):
        reject()  # a file without an acceptable row is its owner's to mend: there is no job
