"""Record a whole job, replay its releases on a neighbour: everything after them is the same to the byte.

What differs between the two runs is one privacy unit. With every noisy release frozen, whatever else a job does or
leaves behind must not differ at all, and the exact values that the noise hides may differ by no more than the plan
has paid for. The added unit comes last, so that the coins of everybody else stay the same: the coupling under which
neighbours are compared.
"""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.privacy.seam import Recorder, Replayer, require_stated, require_within
from tests.privacy.whole_job import declared, plan_for, run, table_of

UNITS = {
    "ordinary": ["new,B,40,5.0,yes"],
    "extreme": ["new,C,99,10.0,yes"],
    "beyond every bound": ["new,A,99999999,1e308,no"],
    "not a number": ["new,A,20,NaN,no"],
    "infinite": ["new,A,20,-inf,no"],
    "missing": ["new,A,20,,no"],
    "unreadable": ["new,A,20,much,no"],
    "a new category": ["new,Z\u00fcrich,33,2.5,yes"],
    "duplicate of another": ["new,A,30,5.00,no"],
    "refused": ["new,A,20,1.0,perhaps"],
    "a person with many records": [f"new,{'ABC'[n % 3]},{n % 100},{n % 10},yes" for n in range(120)],
}
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


def replayed(
    rows: list[str], unit: list[str], *, options: str, target: bool, by_person: bool, removed: bool, kill: int,
    folder: Path,
    export: bool = False,
) -> Replayer:  # fmt: skip
    domain = declared(target=target, by_person=by_person)
    plan = plan_for(domain, OPTIONS[options])
    first, second = ([*rows, *unit], rows) if removed else (rows, [*rows, *unit])
    recorder = Recorder()
    before = run(first, domain, plan, recorder, folder=folder / "first", interrupt_at=kill, export=export)
    replayer = Replayer(recorder)
    after = run(second, domain, plan, replayer, folder=folder / "second", interrupt_at=kill, export=export)
    assert recorder.calls == replayer.calls
    assert after.marks == before.marks
    assert after.checkpoints == before.checkpoints
    assert after.bundle == before.bundle
    assert after.samples == before.samples
    assert after.printed == before.printed == ""
    assert after.objects == before.objects == ["rows"]
    require_stated(recorder, plan)
    require_within(replayer, recorder, plan)
    return replayer


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("unit", ["ordinary", "beyond every bound", "a person with many records"])
def test_nothing_but_the_releases_knows_the_unit(unit, options, tmp_path):
    by_person = len(UNITS[unit]) > 1
    replayer = replayed(
        table_of(150, by_person=by_person), UNITS[unit], options=options, target=True, by_person=by_person,
        removed=False, kill=3, folder=tmp_path,
    )  # fmt: skip
    assert max(replayer.distances.values()) > 0, "the unit took part, so the test could have failed"


def test_a_published_bundle_and_its_samples_are_the_same_too(tmp_path):
    replayed(
        table_of(150, by_person=False), UNITS["a new category"], options="adaptive thresholds", target=True,
        by_person=False, removed=False, kill=3, folder=tmp_path, export=True,
    )  # fmt: skip


@settings(
    max_examples=25,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    unit=st.sampled_from(sorted(UNITS)),
    options=st.sampled_from(sorted(OPTIONS)),
    target=st.booleans(),
    by_person=st.booleans(),
    removed=st.booleans(),
    size=st.integers(1, 120),
    kill=st.integers(1, 8),
)
def test_random_neighbours_and_configurations(
    tmp_path_factory, unit, options, target, by_person, removed, size, kill
):
    records = UNITS[unit] if by_person else UNITS[unit][:1]
    trains = bool(OPTIONS[options].get("critic", True))
    replayed(
        table_of(size, by_person=by_person), records, options=options, target=target, by_person=by_person,
        removed=removed, kill=kill if trains else min(kill, 4), folder=tmp_path_factory.mktemp("job"),
    )  # fmt: skip
