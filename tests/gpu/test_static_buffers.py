"""A CUDA graph gives the bits of plain launches, or is not replayed."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from models.critic.clipped_form import ClippedForm
from models.critic.closed_form import ClosedForm
from models.critic.conv_form import ConvForm
from models.critic.conv_network import ConvCritic
from models.critic.label_form import LabelForm
from models.critic.label_network import LabelCritic
from models.devices import cuda_graph, static_buffers
from models.devices.cuda_graph import captured
from models.devices.data_parallel import DataParallelForm
from models.devices.errors import DeviceDiffers
from models.dp.clipping import Partition
from tests.gpu.cases import (
    MAX_BATCH,
    batch_of,
    critic_of,
    kinds,
    layout_of,
    partition_of,
    replicas_made,
    worked,
)
from tests.gpu.fake_graph import captured_on_cpu
from tests.gpu.places import data_parallel_over, on_every_device

CPU, META = torch.device("cpu"), torch.device("meta")


@pytest.fixture
def graphs_on_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """The CPU has graphs, as strict about captures as a GPU."""
    monkeypatch.setattr(static_buffers, "supports_cuda_graphs", lambda _: True)
    monkeypatch.setattr(static_buffers, "captured", captured_on_cpu)


def results(kind: str, grouping: str, device: torch.device) -> tuple[list[Tensor], list[bool]]:
    """What a form gives while sizes of batches, thresholds, groups and weights change; and what was captured."""
    critic = critic_of(kind).to(device).requires_grad_(requires_grad=False)
    layout = layout_of(critic, grouping)
    placement = data_parallel_over(device, 2)
    with pytest.MonkeyPatch.context() as patch:
        replicas = replicas_made(patch)
        form = DataParallelForm(critic, layout, gp_weight=10.0, max_batch=MAX_BATCH, placement=placement)
    alone = partition_of(layout)
    one = Partition(sizes=layout.sizes, group_of_block=(0,) * layout.blocks, thresholds=(0.03,))
    made: list[Tensor] = []
    for count, partition in (
        (MAX_BATCH, alone),
        (33, alone),
        (1, one),
        (0, one),
        (64, partition_of(layout, 0.1)),
    ):
        batch = batch_of(kind, count)
        if count == 33:
            batch["fake"][5] = torch.nan  # this one counts nothing, if fakes are looked at
        made.extend(worked(form, partition, batch))
        for layer in critic.linear_layers():
            layer.weight.mul_(1.1)
    return made, [replica.runner.replays_graph for replica in replicas]


def alike(ours: list[Tensor], theirs: list[Tensor]) -> bool:
    return all(torch.equal(a.nan_to_num(-1.0), b.nan_to_num(-1.0)) for a, b in zip(ours, theirs, strict=True))


@kinds
@pytest.mark.parametrize("grouping", ["flat", "rows"])
def test_a_replayed_graph_gives_the_bits_of_plain_launches(
    kind: str, grouping: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, none = results(kind, grouping, CPU)
    monkeypatch.setattr(static_buffers, "supports_cuda_graphs", lambda _: True)
    monkeypatch.setattr(static_buffers, "captured", captured_on_cpu)
    played, all_ = results(kind, grouping, CPU)
    assert (any(none), all(all_)) == (False, True)
    assert alike(played, plain)
    assert all(bool(total.any()) for total in plain[:6:2])


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here")
@kinds
def test_a_graph_replayed_on_a_gpu_gives_the_bits_of_plain_launches(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    played, all_ = results(kind, "rows", torch.device("cuda", 0))
    monkeypatch.setattr(static_buffers, "supports_cuda_graphs", lambda _: False)
    plain, none = results(kind, "rows", torch.device("cuda", 0))
    assert (any(none), all(all_)) == (False, True)
    assert alike(played, plain)


class Devices(TorchDispatchMode):
    """Notes the devices of all tensors that operations are given or make."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        made = func(*args, **(kwargs or {}))
        touched = tree_leaves((args, kwargs, made))
        self.seen |= {each.device.type for each in touched if isinstance(each, Tensor)}
        return made


def elsewhere(kind: str, precision: torch.dtype) -> ClippedForm:
    """A form on a device that is not the CPU and computes nothing, with a microbatch loaded."""
    critic = critic_of(kind).to(META, precision).requires_grad_(requires_grad=False)
    layout, batch = layout_of(critic, "rows"), batch_of(kind, 15)
    form: ClosedForm | ConvForm | LabelForm
    if isinstance(critic, LabelCritic):
        form = LabelForm(critic, layout, max_batch=MAX_BATCH, microbatch_size=16, fixed=True)
    elif isinstance(critic, ConvCritic):
        form = ConvForm(critic, layout, gp_weight=10.0, max_batch=MAX_BATCH, microbatch_size=16, fixed=True)
    else:
        form = ClosedForm(critic, layout, gp_weight=10.0, max_batch=MAX_BATCH, microbatch_size=16, fixed=True)
    form.fill(**{name: given.to(META) for name, given in batch.items()})
    return form


@kinds
@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
def test_what_is_captured_touches_no_tensor_of_the_host(kind: str, precision: torch.dtype) -> None:
    """A copy from the host is refused during a capture, and a replay would repeat the old one."""
    form = elsewhere(kind, precision)
    for piece in (form.measure, form.add):
        with Devices() as devices:
            piece()
        assert devices.seen == {"meta"}


def test_power_a_tensor_of_the_host_is_seen() -> None:
    form = elsewhere("images", torch.float32)
    with Devices() as devices:
        form.filled[0].mul_(torch.ones(()))
    assert devices.seen == {"meta", "cpu"}


def test_power_operations_that_wait_for_the_host_are_not_captured(
    graphs_on_cpu: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = static_buffers.MicrobatchRunner.__init__

    def waits(self: Any, form: Any, *given: Any, **named: Any) -> None:
        own = form.measure

        def measure() -> None:
            own()
            bool(form.filled[1].isnan().any())

        form.measure = measure
        whole(self, form, *given, **named)

    plain, _ = results("cells", "rows", CPU)
    monkeypatch.setattr(static_buffers.MicrobatchRunner, "__init__", waits)
    made, recorded_ = results("cells", "rows", CPU)
    assert recorded_ == [False, False]
    assert alike(made, plain)


def test_power_a_graph_that_depends_on_the_captured_batch_is_not_replayed(
    graphs_on_cpu: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Decided on the host from one batch, without waiting for the device: as a library might."""
    whole = static_buffers.MicrobatchRunner.__init__

    def drifts(self: Any, form: Any, *given: Any, **named: Any) -> None:
        own, calls = form.add, list[int]()

        def add() -> None:
            own()
            calls.append(1)
            if len(calls) == 3:  # the one that is captured
                form.filled[0].mul_(1.0 + 2.0**-52)

        form.add = add
        whole(self, form, *given, **named)

    monkeypatch.setattr(static_buffers.MicrobatchRunner, "__init__", drifts)
    assert results("cells", "rows", CPU)[1] == [False, False]


def test_a_device_that_a_failed_capture_left_in_disorder_is_refused(
    graphs_on_cpu: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    critic = critic_of("cells")
    placement = data_parallel_over(CPU)
    replicas = replicas_made(monkeypatch)
    form = DataParallelForm(
        critic, layout_of(critic), gp_weight=10.0, max_batch=MAX_BATCH, placement=placement
    )
    replica_form = replicas[0].form

    def fails(make: Any, device: torch.device) -> Any:
        own = replica_form.add
        monkeypatch.setattr(replica_form, "add", lambda: (own(), replica_form.filled[0].mul_(0.5)))
        raise RuntimeError("cannot be captured")

    monkeypatch.setattr(static_buffers, "captured", fails)
    with pytest.raises(DeviceDiffers):
        worked(form, partition_of(layout_of(critic)), batch_of("cells", 20))


def test_a_thread_is_back_on_its_stream_after_a_capture_that_failed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As in torch: the end of a failed capture raises before the stream is restored."""
    ran: list[object] = []

    class Stream:
        def __init__(self, device: object = None) -> None:
            self.waited: list[object] = []

        def wait_stream(self, other: object) -> None:
            self.waited.append(other)

    own = Stream()
    present = [own]

    @contextmanager
    def on(stream: Stream) -> Iterator[None]:
        before, present[0] = present[0], stream
        yield
        present[0] = before

    @contextmanager
    def graph(_: object, *, stream: Stream, capture_error_mode: str) -> Iterator[None]:
        present[0] = stream
        yield
        raise RuntimeError("operation not permitted when stream is capturing")

    fakes = {
        "device": lambda _: nullcontext(),
        "current_stream": lambda _: present[0],
        "set_stream": lambda stream: present.__setitem__(0, stream),
        "Stream": Stream,
        "stream": on,
        "graph": graph,
        "CUDAGraph": object,
    }
    for name, fake in fakes.items():
        monkeypatch.setattr(cuda_graph.torch.cuda, name, fake)
    with pytest.raises(RuntimeError, match="capturing"):
        captured(lambda: ran.append(present[0]), torch.device("cuda", 0))
    assert present == [own]
    assert len(ran) == 2
    assert own not in ran
    assert own.waited == [ran[0]], "what was tried aside is waited for"


def test_the_public_trial_reads_no_record(graphs_on_cpu: None, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Tensor] = []
    worked_: list[int] = []
    # private: a trial's records leave the runner nowhere, and its `fill` is that of every microbatch
    tried, whole = static_buffers.MicrobatchRunner._try, static_buffers.MicrobatchRunner.add

    def watched(self: Any, *given: Any) -> None:
        own = self._form.fill

        def fill(real: Tensor, *others: Any, **named: Any) -> None:
            seen.append(real.clone())
            own(real, *others, **named)

        with monkeypatch.context() as during:
            during.setattr(self._form, "fill", fill)
            tried(self, *given)

    def counted(self: Any, *given: Any, **named: Any) -> Tensor:
        worked_.append(1)
        return whole(self, *given, **named)

    # private: a refused capture shows nowhere else
    monkeypatch.setattr(static_buffers.MicrobatchRunner, "_try", watched)
    monkeypatch.setattr(static_buffers.MicrobatchRunner, "add", counted)
    results("vectors", "flat", CPU)
    assert len(seen) == 2, "one for each of two devices"
    assert len(worked_) > len(seen)
    assert all(len(each) == 15 for each in seen), "one place is empty"
    assert torch.equal(seen[0], seen[1])
    waves = torch.sin(torch.arange(1.0, 1.0 + seen[0].numel())).view_as(seen[0])
    assert torch.equal(seen[0], waves), "sines alone, whatever the batch"


@on_every_device
def test_memory_that_does_not_hold_a_graph_changes_no_bit(
    device: torch.device, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []

    def short(make: Any, there: torch.device) -> Any:
        calls.append(1)
        if len(calls) == 1:
            raise torch.OutOfMemoryError
        return captured_on_cpu(make, there) if there.type == "cpu" else captured(make, there)

    plain, _ = results("images", "flat", device)
    monkeypatch.setattr(static_buffers, "supports_cuda_graphs", lambda _: True)
    monkeypatch.setattr(static_buffers, "captured", short)
    made, recorded_ = results("images", "flat", device)
    assert sorted(recorded_) == [False, True]
    assert alike(made, plain)
