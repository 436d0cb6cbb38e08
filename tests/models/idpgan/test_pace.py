import torch

from models.idpgan.pace import ENOUGH, GRACE, LADDER, Pace


def test_a_fixed_pace_moves_the_generator_after_exactly_so_many_steps():
    pace = Pace(3)
    assert [pace.tick() for _ in range(7)] == [False, False, True, False, False, True, False]


def test_the_adaptive_pace_climbs_when_the_critic_no_longer_tells_fakes():
    pace = Pace("adaptive")
    first = pace.steps
    for _ in range(GRACE + 20):
        pace.observe(torch.tensor([-1.0, 1.0]))  # half below the last average
    assert pace.steps > first
    for _ in range(100 * GRACE):
        pace.observe(torch.tensor([-1.0, 1.0]))
    assert pace.steps == LADDER[-1]


def test_the_adaptive_pace_stays_while_the_critic_tells_fakes():
    pace = Pace("adaptive")
    first = pace.steps
    for moment in range(100):
        pace.observe(torch.full((10,), -float(moment + 1)))  # all below the last average
    assert pace.steps == first
    assert ENOUGH < 1.0


def test_a_restored_pace_goes_on_as_before():
    pace, other = Pace("adaptive"), Pace("adaptive")
    for step in range(40):
        pace.observe(torch.tensor([float(step % 3), -1.0]))
        pace.tick()
    other.restore(pace.state())
    for step in range(60):
        pace.observe(torch.tensor([float(step % 5), -1.0]))
        other.observe(torch.tensor([float(step % 5), -1.0]))
        assert pace.tick() == other.tick()
    assert pace.state().equal(other.state())
