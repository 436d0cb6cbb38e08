import gc
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from itertools import pairwise

import pytest
import torch
from torch import Tensor

from models.dp.clipping import Layout, Partition
from models.dp.noise import NoisyMean, noise_plan
from models.dp.noise_ahead import NoiseAhead
from models.private_step import PrivateCritic
from models.randomness import PIECE, KeyedStreams, KeystreamReader, Purpose
from tests.models.dp.plans import small_plan
from tests.models.dp.test_private_step import bits, cells, critic_of, fakes, trained

STREAMS = KeyedStreams(bytes(range(32)))
LAYOUT = Layout(shapes=((300, 200), (1, 300)), grouping="layers")
NOISE = noise_plan(
    Partition(sizes=LAYOUT.sizes, group_of_block=(0, 1, 0), thresholds=(2.0, 0.01)),
    noise_multiplier=1.5,
    max_batch=1000,
)
EVERY_THREAD_SLEEPS = 5.0  # seconds, far more than a thread needs to end


class Recorded(KeyedStreams):
    """A twin that remembers which steps' gradient noise was asked for."""

    def __init__(self) -> None:
        super().__init__(bytes(range(32)))
        self.steps: list[int] = []

    def reader(self, purpose: Purpose, step: int) -> KeystreamReader:
        if purpose is Purpose.GRADIENT_NOISE:
            self.steps.append(step)
        return super().reader(purpose, step)


def draw(step: int, mean: NoisyMean) -> Tensor:
    return mean.draw(NOISE, STREAMS.reader(Purpose.GRADIENT_NOISE, step)).clone()


def noise_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("noise-ahead")]


def ended(before: list[threading.Thread]) -> bool:
    """Whether every thread that was not there before ends soon."""
    deadline = time.monotonic() + EVERY_THREAD_SLEEPS
    while set(noise_threads()) - set(before):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True


@pytest.fixture
def ahead() -> Iterator[NoiseAhead]:
    made = NoiseAhead()
    yield made
    made.close()


def test_the_noise_is_that_of_a_direct_draw_in_any_order(ahead: NoiseAhead) -> None:
    mean = NoisyMean(LAYOUT)
    for step in (0, 1, 2, 7, 3, 3, 0):
        ahead.begin(partial(draw, step, mean))
        assert torch.equal(ahead.take(), draw(step, NoisyMean(LAYOUT)))


def test_a_draw_is_whole_numbers_and_differs_by_step(ahead: NoiseAhead) -> None:
    mean = NoisyMean(LAYOUT)
    drawn = []
    for step in (0, 1):
        ahead.begin(partial(draw, step, mean))
        drawn.append(ahead.take())
    assert torch.equal(drawn[0], drawn[0].round())
    assert not any(torch.equal(one, other) for one, other in pairwise(drawn))


def test_a_draw_begun_and_never_taken_does_not_reach_the_next(ahead: NoiseAhead) -> None:
    mean = NoisyMean(LAYOUT)  # both draws write into its buffers
    ahead.begin(partial(draw, 4, mean))
    ahead.begin(partial(draw, 5, mean))
    assert torch.equal(ahead.take(), draw(5, NoisyMean(LAYOUT)))


def test_draws_run_beside_the_caller_and_one_at_a_time(ahead: NoiseAhead) -> None:
    gate, running, order = threading.Event(), threading.Event(), []

    def slow() -> Tensor:
        running.set()
        assert gate.wait(EVERY_THREAD_SLEEPS)
        order.append("slow")
        return torch.zeros(1)

    def quick() -> Tensor:
        order.append("quick")
        return torch.ones(1)

    ahead.begin(slow)
    assert running.wait(EVERY_THREAD_SLEEPS)  # while this thread goes on
    ahead.begin(quick)
    assert order == []
    gate.set()
    assert float(ahead.take()) == 1.0
    assert order == ["slow", "quick"]


def test_an_error_of_the_thread_is_the_callers_and_the_next_draw_works(ahead: NoiseAhead) -> None:
    def broken() -> Tensor:
        raise ArithmeticError("of the draw")

    ahead.begin(broken)
    with pytest.raises(ArithmeticError, match="of the draw"):
        ahead.take()
    ahead.begin(lambda: torch.ones(2))
    assert torch.equal(ahead.take(), torch.ones(2))


def test_a_draw_is_taken_once(ahead: NoiseAhead) -> None:
    with pytest.raises(AssertionError):
        ahead.take()
    ahead.begin(lambda: torch.ones(2))
    ahead.take()
    with pytest.raises(AssertionError):
        ahead.take()


def test_the_thread_starts_with_the_first_draw_and_ends_on_closing() -> None:
    before = noise_threads()
    made = NoiseAhead()
    assert noise_threads() == before
    made.begin(lambda: torch.ones(1))
    assert len(noise_threads()) == len(before) + 1
    made.close()
    made.close()
    assert ended(before)
    with pytest.raises(RuntimeError):
        made.begin(lambda: torch.ones(1))
    NoiseAhead().close()


def test_the_thread_of_a_critic_ends_with_it() -> None:
    before = noise_threads()
    private = trained(small_plan(), 2)
    assert len(noise_threads()) == len(before) + 1
    del private
    gc.collect()
    assert ended(before)


def test_a_process_ends_though_nothing_was_closed() -> None:
    program = (
        "import torch; from models.dp.noise_ahead import NoiseAhead; made = NoiseAhead(); "
        "made.begin(lambda: torch.ones(1)); print(float(made.take())); made.begin(lambda: torch.ones(1))"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=120, check=True)
    assert ran.stdout.split() == [b"1.0"]


def test_the_callers_threads_of_torch_stay_as_they_were(ahead: NoiseAhead) -> None:
    before = torch.get_num_threads()
    mean = NoisyMean(LAYOUT)
    assert max(LAYOUT.sizes) > PIECE  # whole pieces are drawn
    ahead.begin(partial(draw, 0, mean))
    ahead.take()
    assert torch.get_num_threads() == before


def test_every_step_asks_for_its_own_noise_and_no_other() -> None:
    streams, plan = Recorded(), small_plan()
    private = PrivateCritic(critic_of(), plan, streams)
    for step in (0, 1, 5, plan.steps - 1):
        private.step(step, cells(3, step), fakes(3, step))
    assert streams.steps == [0, 1, 5, plan.steps - 1]


def test_a_step_after_a_failed_one_is_what_it_would_have_been() -> None:
    plan = small_plan()
    whole, failed = (PrivateCritic(critic_of(), plan, STREAMS) for _ in range(2))
    with pytest.raises(RuntimeError):
        failed.step(0, cells(3, 0), fakes(3, 0)[:, :-1])  # one cell too few, found once the noise is begun
    for private in (whole, failed):
        private.step(1, cells(7, 1), fakes(7, 1))
    assert bits(whole.state_dict()) == bits(failed.state_dict())
