"""Whole jobs on devices: resumed, moved, and kept to their kind of device."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from models.checkpoint import unpack
from models.devices import placement as places
from models.devices.errors import DeviceAbsent, OtherDevice
from models.devices.placement import HOST, Placement, placed, settle
from models.idpgan.synthesizer import IdpganSynthesizer
from models.randomness import KeyedStreams
from models.synthesizer import NullHost, TrainingHost
from tests.gpu.places import data_parallel_over, on_every_device
from tests.models.coded_tables import small_table
from tests.models.idpgan.image_jobs import image_plan, small_images
from tests.models.idpgan.jobs import Killed, StubbornHost, generator_bytes, small_plan

CPU = torch.device("cpu")
PLANS: dict[str, dict[str, Any]] = {
    "table": {"pretraining_steps": 1, "steps": 3},
    "images": {"pretraining_steps": 1, "steps": 3, "critic": True},
    "labels": {"pretraining_steps": 1, "steps": 4, "critic": True, "critic_asks": "labels"},
}
kinds = pytest.mark.parametrize("kind", PLANS)


def fitted(kind: str, placement: Placement, host: TrainingHost) -> bytes:
    synthesizer = IdpganSynthesizer(placement)
    streams = KeyedStreams(bytes(range(32)))
    if kind == "table":
        table = small_table()
        return generator_bytes(synthesizer.fit(table, small_plan(table, **PLANS[kind]), streams, host))
    return generator_bytes(synthesizer.fit(small_images(), image_plan(**PLANS[kind]), streams, host))


def killed_at(kind: str, placement: Placement, checkpoint: int) -> bytes:
    host = StubbornHost(kill_at=checkpoint)
    with pytest.raises(Killed):
        fitted(kind, placement, host)
    assert host.state is not None
    return host.state


@on_every_device
@kinds
def test_a_job_resumed_on_other_numbers_of_devices_gives_the_same_bytes(
    kind: str, device: torch.device
) -> None:
    whole = fitted(kind, data_parallel_over(device), NullHost())
    state = killed_at(kind, data_parallel_over(device, 2), 3)
    # A critic of labels learns from made images in one go, which no checkpoint cuts.
    assert unpack(state)[1]["trained"] == (3 if kind == "labels" else 2)
    assert fitted(kind, data_parallel_over(device, 3), StubbornHost(state)) == whole


def test_a_job_is_not_resumed_on_another_kind_of_device() -> None:
    spread = data_parallel_over(CPU)
    for begun, resumed in ((HOST, spread), (spread, HOST)):
        with pytest.raises(OtherDevice):
            fitted("table", resumed, StubbornHost(killed_at("table", begun, 3)))


@on_every_device
def test_a_job_is_not_resumed_in_another_precision(device: torch.device) -> None:
    state = killed_at("labels", data_parallel_over(device, 1, "bf16"), 3)
    with pytest.raises(OtherDevice):
        fitted("labels", data_parallel_over(device), StubbornHost(state))
    whole = fitted("labels", data_parallel_over(device, 1, "bf16"), NullHost())
    assert fitted("labels", data_parallel_over(device, 2, "bf16"), StubbornHost(state)) == whole


def test_the_kind_of_device_is_on_record_before_the_first_private_step() -> None:
    class OnlyWhenTold(StubbornHost):
        def checkpoint_due(self) -> bool:
            return False

    host = OnlyWhenTold(kill_at=0)
    with pytest.raises(Killed):
        fitted("table", data_parallel_over(CPU), host)
    assert host.state is not None
    facts = unpack(host.state)[1]
    assert facts["trained"] == 0
    assert facts["device"] == f"cpu, torch {torch.__version__}, tf32, units of 16"
    assert not any(stage == "train" for stage, _, _ in host.marks)


def test_the_cpus_own_checkpoints_name_no_device() -> None:
    assert "device" not in unpack(killed_at("table", HOST, 1))[1]


def test_another_microbatch_size_is_another_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    state = killed_at("table", data_parallel_over(CPU), 3)
    monkeypatch.setattr("models.devices.data_parallel.data_parallel_microbatch_size", lambda *_: 32)
    with pytest.raises(OtherDevice):
        fitted("table", data_parallel_over(CPU), StubbornHost(state))


def seen(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Torch sees GPUs of these names."""
    monkeypatch.setattr(places.torch.cuda, "is_available", lambda: bool(names))
    monkeypatch.setattr(places.torch.cuda, "device_count", lambda: len(names))
    monkeypatch.setattr(places.torch.cuda, "get_device_name", lambda device: names[device.index])


def test_the_settings_wish_is_met_or_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    seen(monkeypatch)
    assert placed("auto") is placed("cpu") is HOST
    with pytest.raises(DeviceAbsent):
        placed("cuda")
    seen(monkeypatch, "one", "one")
    assert placed("cpu") is HOST
    for wish in ("auto", "cuda"):
        both = placed(wish, "bf16")
        assert (both.data_parallel, [device.index for device in both.devices]) == (True, [0, 1])
        assert both.precision == "bf16"
    seen(monkeypatch, "one", "another")
    with pytest.raises(DeviceAbsent):
        placed("auto")


def test_the_kind_names_what_decides_how_sums_round(monkeypatch: pytest.MonkeyPatch) -> None:
    class Facts:
        name, major, minor, multi_processor_count = "NVIDIA H200", 9, 0, 132

    monkeypatch.setattr(places.torch.cuda, "get_device_properties", lambda _: Facts)
    monkeypatch.setattr(places.torch.backends.cudnn, "version", lambda: 91900)
    gpu = data_parallel_over(torch.device("cuda", 0))
    kinds_: list[Callable[[], str]] = [
        lambda: HOST.kind,
        lambda: data_parallel_over(CPU).kind,
        lambda: gpu.kind,
    ]
    host, cpu, whole = (kind() for kind in kinds_)
    assert (host, len({host, cpu, whole})) == ("", 3)
    assert whole.startswith("NVIDIA H200, 9.0, 132 multiprocessors, ")
    assert "cuDNN 91900" in whole
    assert torch.__version__ in whole
    monkeypatch.setattr(Facts, "multi_processor_count", 66)
    assert gpu.kind != whole, "a part of a GPU is another kind"


def test_a_gpus_products_may_be_of_tf32_and_its_convolutions_are_repeatable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Flags:
        allow_tf32 = False
        allow_bf16_reduced_precision_reduction = True
        benchmark, deterministic = True, False

    monkeypatch.setattr(places.torch.backends.cuda, "matmul", Flags())
    monkeypatch.setattr(places.torch.backends, "cudnn", Flags())
    settle(HOST)
    assert not places.torch.backends.cuda.matmul.allow_tf32, "the CPU's settings stay"
    settle(data_parallel_over(torch.device("cuda", 0), 1, "float32"))
    assert not places.torch.backends.cuda.matmul.allow_tf32
    settle(data_parallel_over(torch.device("cuda", 0)))
    assert not places.torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction
    cudnn = places.torch.backends.cudnn
    assert places.torch.backends.cuda.matmul.allow_tf32
    assert (cudnn.allow_tf32, cudnn.benchmark, cudnn.deterministic) == (True, False, True)
