"""Clipped sums of per-example gradients: the closed forms and opacus' agree, with each other and with automatic differentiation."""

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from models.classifier.dense_form import DenseForm
from models.classifier.even_batches import EvenBatches
from models.classifier.networks import DenseClassifier, ImageClassifier, flattened
from models.critic.forms import checked_form
from models.dp.clipping import Layout, Partition
from models.dp.errors import ModuleUnsuitable, RecordsMixed, UnevenRounding
from tests.models.classifier.small import batch_of

WIDTH, CLASSES, CAP = 12, 3, 1000
NETWORKS = {
    "linear": {"widths": (WIDTH, CLASSES)},
    "mlp": {"widths": (WIDTH, 7, CLASSES)},
    "two hidden layers": {"widths": (WIDTH, 7, 5, CLASSES)},
    "components": {"widths": (4, 6, CLASSES), "components": 4},
}


def network_of(name: str) -> DenseClassifier:
    chosen = dict(NETWORKS[name])
    generator = torch.Generator().manual_seed(3)
    if "components" in chosen:
        random = torch.randn(WIDTH, 4, generator=generator, dtype=torch.float64)
        chosen["components"] = torch.linalg.qr(random)[0]
    network = DenseClassifier(**chosen)
    for parameter in network.parameters():
        parameter.data = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
    return network


def ordered(network: DenseClassifier) -> list[nn.Parameter]:
    layers = network.linear_layers()
    return [*(layer.weight for layer in layers), *(layer.bias for layer in layers)]


def layout_of(network: DenseClassifier) -> Layout:
    shapes = tuple((layer.out_features, layer.in_features) for layer in network.linear_layers())
    return Layout(shapes=shapes, grouping="flat")


def partition_of(coordinates: int, norm: float) -> Partition:
    return Partition(sizes=(coordinates,), group_of_block=(0,), thresholds=(norm,))


def records(count: int = 300) -> tuple[Tensor, Tensor]:
    rng = np.random.default_rng(4)
    rows = torch.from_numpy(rng.normal(size=(count, WIDTH)) * rng.lognormal(size=(count, 1)))
    return rows, torch.from_numpy(rng.integers(0, CLASSES, count))


def by_hand(
    network: nn.Module, parameters: list[nn.Parameter], rows: Tensor, labels: Tensor, norm: float
) -> Tensor:
    """The clipped sum, one record after the other."""
    total = torch.zeros(sum(one.numel() for one in parameters), dtype=torch.float64)
    for row, label in zip(rows, labels, strict=True):
        loss = cross_entropy(network(row[None]), label[None])
        gradient = torch.cat([one.flatten() for one in torch.autograd.grad(loss, parameters)]).double()
        total += gradient * min(1.0, norm / float(gradient.norm()))
    return total


@pytest.mark.parametrize("norm", [0.05, 0.8, 1e4])
@pytest.mark.parametrize("name", NETWORKS)
def test_both_engines_make_the_clipped_sum_of_automatic_differentiation(name: str, norm: float) -> None:
    from models.classifier.sampled_form import SampledForm

    network, (rows, labels) = network_of(name), records()
    parameters = ordered(network)
    expected = by_hand(network, parameters, rows, labels, norm)
    layout = layout_of(network)
    partition = partition_of(layout.coordinates, norm)
    with torch.no_grad():
        closed = DenseForm(network, layout, width=WIDTH, partition=partition, max_batch=CAP)
        found = closed.clipped_sum(batch_of(rows, labels)).clone()
    opacus = SampledForm(network, parameters, width=WIDTH, partition=partition, max_batch=CAP)
    other = opacus.clipped_sum(batch_of(rows, labels))
    scale = float(expected.abs().max())
    assert torch.allclose(found, expected, rtol=0, atol=1e-4 * scale)
    assert torch.allclose(other, found, rtol=0, atol=1e-5 * scale)


class Convolved(nn.Module):
    """`ImageClassifier` as modules that opacus knows."""

    def __init__(self, network: ImageClassifier) -> None:
        super().__init__()
        critic = network.critic
        *hidden, last = critic.linear_layers()
        self.hidden = nn.ModuleList()
        for geometry, layer in zip(critic.geometries, hidden, strict=True):
            own = nn.Conv2d(geometry.channels, geometry.outputs, 4, stride=2, padding=1, dtype=torch.float64)
            # Copied, not replaced: opacus reads the memory of activations, whose order follows that of the weights.
            own.weight.data.copy_(geometry.kernels(layer.weight.detach()))
            own.bias.data.copy_(layer.bias.detach())
            self.hidden.append(own)
        self.last = nn.Linear(last.in_features, last.out_features, dtype=torch.float64)
        self.last.weight.data, self.last.bias.data = (
            last.weight.detach().double(),
            last.bias.detach().double(),
        )

    def forward(self, rows: Tensor) -> Tensor:
        values = rows.reshape(-1, 1, 12, 12) * 2.0 - 1.0
        for layer in self.hidden:
            values = nn.functional.leaky_relu(layer(values), 0.2)
        return self.last(values.permute(0, 2, 3, 1).flatten(1))


def test_the_closed_form_of_convolutions_is_that_of_opacus() -> None:
    from models.classifier.sampled_form import SampledForm

    torch.manual_seed(1)
    network = ImageClassifier((1, 12, 12), CLASSES)
    for layer in network.linear_layers():
        nn.init.normal_(layer.weight, std=0.2)
        nn.init.normal_(layer.bias, std=0.2)
    rows, labels = torch.rand(40, 144), torch.randint(0, CLASSES, (40,))
    norm, layers = 0.7, network.linear_layers()
    layout = Layout(shapes=tuple((one.out_features, one.in_features) for one in layers), grouping="flat")
    module = Convolved(network)
    flattened([*(one.weight for one in layers), *(one.bias for one in layers)])
    network.requires_grad_(requires_grad=False)
    form = checked_form(network.critic, layout, gp_weight=0.0, max_batch=CAP)
    pixels = rows.view(-1, 1, 12, 12)
    partition = partition_of(layout.coordinates, norm)
    found = form.clipped_sum(pixels, pixels, torch.zeros(40), partition, labels=labels)
    weights = [*(one.weight for one in module.hidden), module.last.weight]
    biases = [*(one.bias for one in module.hidden), module.last.bias]
    opacus = SampledForm(module, [*weights, *biases], width=144, partition=partition, max_batch=CAP)
    other = opacus.clipped_sum(batch_of(rows.double(), labels))
    # Our matrices have the channels of a patch last.
    sizes = [one.numel() for one in weights]
    pieces = list(torch.split(other, [*sizes, *(one.numel() for one in biases)]))
    for place, one in enumerate(weights[:-1]):
        pieces[place] = pieces[place].view(one.shape).permute(0, 2, 3, 1).flatten()
    assert torch.allclose(torch.cat(pieces), found, rtol=0, atol=1e-5 * float(found.abs().max()))


@pytest.mark.parametrize("name", NETWORKS)
def test_no_record_moves_the_sum_by_more_than_the_norm(name: str) -> None:
    network, (rows, labels) = network_of(name), records(200)
    rows[7] *= 1e6
    layout = layout_of(network)
    partition = partition_of(layout.coordinates, 0.3)
    with torch.no_grad():
        form = DenseForm(network, layout, width=WIDTH, partition=partition, max_batch=CAP)
        whole = form.clipped_sum(batch_of(rows, labels)).clone()
        for left in (0, 7, 150, 199):
            kept = torch.arange(200) != left
            moved = whole - form.clipped_sum(batch_of(rows[kept], labels[kept]))
            assert 0.0 < float(moved.norm()) <= 0.3


def test_a_record_that_is_no_number_counts_nothing() -> None:
    network, (rows, labels) = network_of("mlp"), records(20)
    rows[3, 5] = torch.inf
    layout = layout_of(network)
    partition = partition_of(layout.coordinates, 0.3)
    kept = torch.arange(20) != 3
    with torch.no_grad():
        form = DenseForm(network, layout, width=WIDTH, partition=partition, max_batch=CAP)
        found = form.clipped_sum(batch_of(rows, labels)).clone()
        assert torch.isfinite(found).all()
        assert torch.allclose(found, form.clipped_sum(batch_of(rows[kept], labels[kept])), atol=1e-12)


def test_a_function_that_looks_at_the_place_of_a_record_is_refused() -> None:
    batches = EvenBatches(8, 4)
    with pytest.raises(UnevenRounding):
        batches.require_alike(lambda rows, _labels: [rows + torch.arange(8.0)[:, None]])


class MinusMean(nn.Module):
    """Centres a batch by its own mean."""

    def forward(self, rows: Tensor) -> Tensor:
        return rows - rows.mean(dim=0, keepdim=True)


class Remembering(nn.Module):
    """Answers each record by itself, and keeps the mean of all records in a buffer, as normalisations do for later."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(WIDTH, dtype=torch.float64))

    def forward(self, rows: Tensor) -> Tensor:
        self.mean.lerp_(rows.detach().mean(dim=0), 0.1)
        return rows


MIXING = {
    "batch normalisation": lambda: nn.BatchNorm1d(WIDTH),
    "batch normalisation without weights": lambda: nn.BatchNorm1d(WIDTH, affine=False),
    "batch normalisation without weights and buffers": lambda: nn.BatchNorm1d(
        WIDTH, affine=False, track_running_stats=False
    ),
    "mean of the batch": MinusMean,
    "softmax over the batch": lambda: nn.Softmax(dim=0),
    "a buffer that remembers records": Remembering,
}


@pytest.mark.parametrize("name", MIXING)
def test_a_module_that_mixes_records_or_keeps_them_is_refused(name: str) -> None:
    from models.classifier.sampled_form import SampledForm

    module = nn.Sequential(MIXING[name](), nn.Linear(WIDTH, CLASSES)).double()
    parameters = list(module.parameters())
    partition = partition_of(sum(one.numel() for one in parameters), 1.0)
    with pytest.raises(RecordsMixed):
        SampledForm(module, parameters, width=WIDTH, partition=partition, max_batch=CAP)


class Frozen(nn.Module):
    """A layer of which nothing is trained."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(WIDTH, WIDTH)
        self.layer.requires_grad_(requires_grad=False)

    def forward(self, rows: Tensor) -> Tensor:
        return self.layer(rows)


class Unused(Frozen):
    def __init__(self) -> None:
        super().__init__()
        self.layer.requires_grad_(requires_grad=True)

    def forward(self, rows: Tensor) -> Tensor:
        return rows


class Borrowed(Unused):
    """Its weights are read once more, beside the layer."""

    def forward(self, rows: Tensor) -> Tensor:
        return nn.functional.linear(self.layer(rows), self.layer.weight)


class InPieces(Unused):
    """Every record goes through the layer in two pieces, which look like records of their own."""

    def forward(self, rows: Tensor) -> Tensor:
        return self.layer(torch.cat([rows, -rows])).unflatten(0, (2, -1)).sum(dim=0)


class Failing(Unused):
    def forward(self, rows: Tensor) -> Tensor:
        raise ValueError("not today")


@pytest.mark.parametrize(
    "first", [Frozen, Unused, Borrowed, InPieces, Failing, nn.Dropout], ids=lambda made: made.__name__
)
def test_a_module_that_is_not_trained_record_by_record_is_refused(first: Callable[[], nn.Module]) -> None:
    from models.classifier.sampled_form import SampledForm

    module = nn.Sequential(first(), nn.Linear(WIDTH, CLASSES)).double()
    parameters = list(module.parameters())
    partition = partition_of(sum(one.numel() for one in parameters), 1.0)
    with pytest.raises(ModuleUnsuitable):
        SampledForm(module, parameters, width=WIDTH, partition=partition, max_batch=CAP)


def test_a_function_that_looks_at_other_records_is_refused() -> None:
    batches = EvenBatches(8, 4)
    with pytest.raises(RecordsMixed):
        batches.require_alike(lambda rows, _labels: [rows / rows.abs().max()])


def saturated(network: DenseClassifier, *, hidden: float, margin: float) -> None:
    """Weights with which a record of ones has one hidden value, and the other classes `margin` below class 0."""
    first, last = network.linear_layers()
    for parameter in network.parameters():
        parameter.data.zero_()
    first.bias.data[0] = hidden
    last.weight.data[1:, 0] = -margin / hidden


@pytest.mark.parametrize("margin", [360.0, 371.5, 372.6, 380.0, 700.0])
@pytest.mark.parametrize("engine", ["closed form", "opacus"])
def test_a_gradient_whose_squares_are_below_the_smallest_number_is_clipped_all_the_same(
    engine: str, margin: float
) -> None:
    """The board of a federation hands out weights, and may choose them so that squares of cotangents are lost."""
    from models.classifier.sampled_form import SampledForm

    network, norm = network_of("mlp"), 1e-9
    saturated(network, hidden=1e154, margin=margin)
    rows, labels = torch.ones(1, WIDTH, dtype=torch.float64), torch.zeros(1, dtype=torch.int64)
    layout, parameters = layout_of(network), ordered(network)
    partition = partition_of(layout.coordinates, norm)
    with torch.no_grad():
        form = (
            SampledForm(network, parameters, width=WIDTH, partition=partition, max_batch=CAP)
            if engine == "opacus"
            else DenseForm(network, layout, width=WIDTH, partition=partition, max_batch=CAP)
        )
        found = form.clipped_sum(batch_of(rows, labels))
    assert math.hypot(*found.tolist()) <= norm
