"""The private step on devices, end to end."""

from typing import Any

import pytest
import torch
from torch import Tensor

from models.critic.conv_network import ConvCritic
from models.critic.label_network import LabelCritic
from models.critic.network import Critic
from models.devices.noise import DeviceNoise
from models.devices.placement import HOST, Placement
from models.private_step import PrivateCritic
from models.randomness import KeyedStreams, Purpose
from models.releases import NullRecorder
from tests.gpu.places import data_parallel_over, on_every_device
from tests.models.dp.plans import small_plan
from tests.models.dp.test_private_images import IMAGE, batch
from tests.models.dp.test_private_step import CELLS, WIDTHS, cells, fakes

STREAMS = KeyedStreams(bytes(range(32)))
OPTIONS: dict[str, dict[str, Any]] = {
    "flat": {},
    "layers, ACTS": {"acts": True},
    "rows": {"grouping": "rows"},
}
options = pytest.mark.parametrize("chosen", OPTIONS.values(), ids=OPTIONS)
kinds = pytest.mark.parametrize("kind", ["table", "images", "labels"])


class Gradients(NullRecorder):
    """Keeps the gradient that each step releases."""

    def __init__(self) -> None:
        self.released: list[Tensor] = []

    def noisy(self, purpose: int, step: int, *released: Tensor) -> None:
        if purpose == Purpose.GRADIENT_NOISE:
            self.released.append(released[0].cpu().clone())


def private_of(
    kind: str, plan: Any, placement: Placement, *, streams: KeyedStreams = STREAMS
) -> PrivateCritic:
    asked = LabelCritic if kind == "labels" else ConvCritic
    critic: Critic | ConvCritic = (
        Critic(inputs=CELLS, widths=WIDTHS)
        if kind == "table"
        else asked(image=IMAGE, widths=(16, 16), classes=2)
    )
    return PrivateCritic(critic.initialise(STREAMS), plan, streams, placement=placement)


def trained(kind: str, private: PrivateCritic, first: int, steps: int) -> PrivateCritic:
    for step in range(first, first + steps):
        count = (5 * step) % 23  # step 0 is an empty batch
        given = batch(count, step) if kind != "table" else (cells(count, step), fakes(count, step))
        private.step(step, *given)
    return private


def bits(private: PrivateCritic) -> dict[str, bytes]:
    return {name: value.cpu().numpy().tobytes() for name, value in private.state_dict().items()}


@on_every_device
@kinds
@options
def test_resumed_and_on_any_number_of_devices_it_is_byte_identical(
    chosen: dict[str, Any], kind: str, device: torch.device
) -> None:
    plan = small_plan(**chosen)
    whole = trained(kind, private_of(kind, plan, data_parallel_over(device)), 0, 8)
    half = trained(kind, private_of(kind, plan, data_parallel_over(device, 2)), 0, 4)
    other = private_of(kind, plan, data_parallel_over(device, 3))
    other.load_state_dict(half.state_dict())
    assert bits(trained(kind, other, 4, 4)) == bits(whole)


@on_every_device
@kinds
def test_an_empty_batch_releases_the_cpus_noise_to_the_bit(kind: str, device: torch.device) -> None:
    plan = small_plan()
    made = Gradients()
    streams = KeyedStreams(bytes(range(32)), releases=made)
    for placement in (HOST, data_parallel_over(device)):
        trained(kind, private_of(kind, plan, placement, streams=streams), 0, 1)
    here, there = made.released
    assert torch.equal(here, there)
    assert bool(here.abs().min() > 0.0)


@on_every_device
@kinds
def test_it_is_the_cpus_own_step_but_for_rounding(kind: str, device: torch.device) -> None:
    plan = small_plan(clipping_norm=0.1)
    here = trained(kind, private_of(kind, plan, HOST), 1, 3).state_dict()
    there = trained(kind, private_of(kind, plan, data_parallel_over(device, 2)), 1, 3).state_dict()
    slack = 1e-5 if device.type == "cpu" else 2e-3
    assert torch.allclose(there["parameters"].cpu(), here["parameters"], atol=slack)


@on_every_device
def test_noise_is_drawn_once_for_all_devices(device: torch.device, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[int] = []
    whole = KeyedStreams.reader

    def counted(streams: KeyedStreams, purpose: Purpose, step: int) -> Any:
        if purpose is Purpose.GRADIENT_NOISE:
            drawn.append(step)
        return whole(streams, purpose, step)

    monkeypatch.setattr(KeyedStreams, "reader", counted)
    trained("table", private_of("table", small_plan(), data_parallel_over(device, 3)), 0, 4)
    assert drawn == [0, 1, 2, 3]


@on_every_device
def test_noise_that_found_no_memory_beside_the_sum_is_the_same_when_made_anew(
    device: torch.device, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = trained("table", private_of("table", small_plan(), data_parallel_over(device)), 1, 3)
    tight = private_of("table", small_plan(), data_parallel_over(device))
    own, calls = DeviceNoise.draw, list[int]()

    def short(*given: Any) -> Tensor:
        calls.append(1)
        made = own(*given)
        if len(calls) == 2:
            raise torch.OutOfMemoryError
        return made

    monkeypatch.setattr(DeviceNoise, "draw", short)
    assert bits(trained("table", tight, 1, 3)) == bits(whole)
    assert len(calls) == 4
    monkeypatch.setattr(DeviceNoise, "draw", lambda *_: (_ for _ in ()).throw(torch.OutOfMemoryError))
    with pytest.raises(torch.OutOfMemoryError):
        trained("table", tight, 4, 1)


@on_every_device
def test_neighbours_releases_differ_by_one_record_alone(device: torch.device) -> None:
    """Same key, one record more: the noise cancels, and what is left is within the bound."""
    plan = small_plan(clipping_norm=0.3)
    made = Gradients()
    streams = KeyedStreams(bytes(range(32)), releases=made)
    for count in (20, 19):
        private = private_of("table", plan, data_parallel_over(device, 2), streams=streams)
        private.step(0, cells(20, 7)[:count], fakes(20, 7)[:count])
    whole, less = (released.double() * plan.expected_batch_size for released in made.released)
    moved = float((whole - less).norm())
    assert 0.2 < moved <= 0.3 * (1.0 + 1e-5)  # the release is rounded to float32
