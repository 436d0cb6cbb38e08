from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

from models import randomness
from models.devices import noise as device_noise
from models.devices.noise import DeviceNoise
from models.dp.clipping import Layout, each_block_alone
from models.dp.noise import NoisePlan, NoisyMean, noise_plan
from models.randomness import PIECE, KeyedStreams, Purpose
from tests.gpu.fake_graph import captured_on_cpu
from tests.gpu.places import on_every_device

CPU = torch.device("cpu")
STREAMS = KeyedStreams(bytes(range(5, 37)))
LAYOUTS = {
    "two": Layout(shapes=((1, 1),), grouping="flat"),
    "pieces of odd sizes": Layout(shapes=((1, PIECE + 7), (1, 1)), grouping="layers"),
    "rows": Layout(shapes=((40, 301), (9, 40), (1, 9)), grouping="rows", row_blocks=7),
    "flat": Layout(shapes=((128, 300), (1, 128)), grouping="flat"),
}
layouts = pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)


def plan_of(layout: Layout, multiplier: float) -> NoisePlan:
    thresholds = [0.5 + 0.37 * block for block in range(layout.blocks)]
    return noise_plan(each_block_alone(layout.sizes, thresholds), noise_multiplier=multiplier, max_batch=1000)


def both(
    layout: Layout, device: torch.device, *, step: int, multiplier: float = 1.5
) -> tuple[Tensor, Tensor]:
    plan = plan_of(layout, multiplier)
    host = NoisyMean(layout).draw(plan, STREAMS.reader(Purpose.GRADIENT_NOISE, step))
    there = DeviceNoise(layout, device)
    return host, there.draw(plan, STREAMS.reader(Purpose.GRADIENT_NOISE, step)).cpu()


@on_every_device
@layouts
def test_the_noise_is_the_hosts_to_the_bit(layout: Layout, device: torch.device) -> None:
    for step, multiplier in ((0, 40.0), (2**40, 0.3)):
        host, there = both(layout, device, step=step, multiplier=multiplier)
        assert torch.equal(host, there)


@layouts
def test_noise_replayed_from_a_graph_is_the_hosts_to_the_bit(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where second words shift what was captured."""
    monkeypatch.setattr(device_noise, "supports_cuda_graphs", lambda _: True)
    played: list[int] = []

    def counted(make: Callable[[], None], device: torch.device) -> Callable[[], None]:
        replay = captured_on_cpu(make, device)
        return lambda: (played.append(1), replay())[1]

    monkeypatch.setattr(device_noise, "captured", counted)
    # private: a rare draw comes once in half a million words
    monkeypatch.setattr(randomness, "_RARE", np.uint64(2**57))
    plan, made = plan_of(layout, 0.7), DeviceNoise(layout, CPU)
    played.clear()
    for step in (0, 1, 5):
        reader = STREAMS.reader(Purpose.GRADIENT_NOISE, step)
        host = NoisyMean(layout).draw(plan, STREAMS.reader(Purpose.GRADIENT_NOISE, step))
        assert torch.equal(made.draw(plan, reader), host)
    assert len(played) >= 3, "it was captured"


@on_every_device
@layouts
def test_what_is_written_is_the_hosts_to_the_bit(layout: Layout, device: torch.device) -> None:
    """Also with another plan after the draw: noise decays, thresholds move."""
    host, there = NoisyMean(layout), DeviceNoise(layout, device)
    total = 100.0 * torch.sin(torch.arange(1.0, 1.0 + layout.coordinates, dtype=torch.float64))
    for plan in (plan_of(layout, 1.5), plan_of(layout, 0.4)):
        drawn = host.draw(plan, STREAMS.reader(Purpose.GRADIENT_NOISE, 3))
        ours, theirs = torch.empty(layout.coordinates), torch.empty(layout.coordinates, device=device)
        host.write(total.clone(), plan, drawn, divisor=37, into=ours)
        there.write(total.to(device, copy=True), plan, drawn.to(device), divisor=37, into=theirs)
        assert torch.equal(ours, theirs.cpu())
        assert bool(ours.any())


def test_power_a_recording_that_gives_other_bits_is_not_played(monkeypatch: pytest.MonkeyPatch) -> None:
    played: list[int] = []

    def off(make: Callable[[], None], _: torch.device) -> Callable[[], None]:
        def play() -> None:
            played.append(1)
            with monkeypatch.context() as during:
                during.setattr(device_noise, "cos", lambda turn: torch.cos(turn) * (1.0 + 2.0**-10))
                make()

        return play

    monkeypatch.setattr(device_noise, "supports_cuda_graphs", lambda _: True)
    monkeypatch.setattr(device_noise, "captured", off)
    layout = LAYOUTS["rows"]
    plan, noise = plan_of(layout, 1.5), DeviceNoise(layout, CPU)
    assert played == [1], "it was tried"
    host = NoisyMean(layout).draw(plan, STREAMS.reader(Purpose.GRADIENT_NOISE, 0))
    assert torch.equal(noise.draw(plan, STREAMS.reader(Purpose.GRADIENT_NOISE, 0)), host)
    assert played == [1], "and not played again"


@on_every_device
def test_nothing_of_a_draw_stays_for_the_next(device: torch.device) -> None:
    layout = LAYOUTS["rows"]
    plan, make = plan_of(layout, 1.5), DeviceNoise(layout, device)
    first = make.draw(plan, STREAMS.reader(Purpose.GRADIENT_NOISE, 0)).clone()
    other = make.draw(plan, STREAMS.reader(Purpose.GRADIENT_NOISE, 1)).clone()
    assert not torch.equal(first, other)
    assert torch.equal(first, make.draw(plan, STREAMS.reader(Purpose.GRADIENT_NOISE, 0)))


@on_every_device
@layouts
def test_radii_with_second_words_shift_all_that_follows(
    layout: Layout, device: torch.device, monkeypatch: pytest.MonkeyPatch
) -> None:
    # private: one word in 64 is rare here, in place of one in half a million.
    monkeypatch.setattr(randomness, "_RARE", np.uint64(2**57))
    host, there = both(layout, device, step=1)
    assert torch.equal(host, there)


def wrong_by(ulps: int, function: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """The function with errors of up to so many units in the last place, other ones at every call."""
    rng = np.random.default_rng(ulps)

    def wrong(numbers: Tensor) -> Tensor:
        exact = function(numbers)
        errors = torch.from_numpy(rng.integers(-ulps, ulps + 1, exact.shape)).to(exact.device)
        return (exact.view(torch.int64) + errors).view(torch.float64)

    return wrong


@pytest.fixture
def other_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device whose logarithm, cosine and sine are as wrong as CUDA's manual allows, and then some."""
    for name in ("log", "cos", "sin"):
        monkeypatch.setattr(device_noise, name, wrong_by(4, getattr(device_noise, name)))


@layouts
def test_another_mathematical_library_gives_the_same_noise(layout: Layout, other_library: None) -> None:
    host, there = both(layout, torch.device("cpu"), step=2)
    assert torch.equal(host, there)


def test_power_without_the_margin_another_library_shows(
    other_library: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device_noise, "DOUBT", 0.0)
    monkeypatch.setattr(device_noise, "DOUBT_FLOOR", 0.0)
    host, there = both(LAYOUTS["pieces of odd sizes"], torch.device("cpu"), step=2)
    differing = int((host != there).sum())
    assert 0 < differing < len(host) // 100
    assert float((host - there).abs().max()) == 1.0


def test_few_numbers_are_made_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    again: list[int] = []
    whole = randomness.NormalSource.from_words

    def counted(source: randomness.NormalSource, words: object, piece: Tensor, **given: object) -> Tensor:
        again.append(piece.numel())
        return whole(source, words, piece, **given)  # type: ignore[arg-type]

    layout = LAYOUTS["pieces of odd sizes"]
    there = DeviceNoise(layout, torch.device("cpu"))
    monkeypatch.setattr(randomness.NormalSource, "from_words", counted)
    there.draw(plan_of(layout, 1.5), STREAMS.reader(Purpose.GRADIENT_NOISE, 0))
    assert sum(again) < layout.coordinates // 100
