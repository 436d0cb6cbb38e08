from datetime import UTC, datetime, timedelta

import pytest

from core.jobs.visible_progress import PARTS, Edges, charged_steps, shown_steps

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
EDGES = Edges(claimed_at=NOON, seconds=10.0)


def after(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("seconds", "following", "latest"),
    [(0, 10, 0), (0.001, 10, 0), (9.999, 10, 0), (10, 10, 10), (10.1, 20, 10)],
)
def test_edges_are_whole_buckets_after_the_claim_and_never_the_claim(seconds, following, latest):
    assert EDGES.next(after(seconds)) == after(following)
    assert EDGES.latest(after(seconds)) == after(latest)
    assert EDGES.passed(after(seconds)) == latest // 10


def test_a_clock_that_was_set_back_passes_no_edge():
    assert EDGES.passed(after(-5)) == 0
    assert EDGES.latest(after(-5)) == NOON


@pytest.mark.parametrize("total", [0, 1, 7, 20, 60, 4000, 10**6 + 3])
def test_parts_bracket_the_steps_and_are_few(total):
    steps = range(0, total + 1, max(1, total // 997))
    told, charged = (
        [shown_steps(step, total) for step in steps],
        [charged_steps(step, total) for step in steps],
    )
    assert all(
        below <= step <= above <= total for below, step, above in zip(told, steps, charged, strict=True)
    )
    assert len(set(told)) <= PARTS + 1
    assert len(set(charged)) <= PARTS + 1
    assert told == sorted(told)
    assert (charged_steps(0, total), charged_steps(total, total), shown_steps(total, total)) == (
        0,
        total,
        total,
    )
