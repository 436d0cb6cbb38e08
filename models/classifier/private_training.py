"""The training of a classifier by DP-SGD (Abadi and others 2016, algorithm 1), from private records to noisy weights.

Every release passes `models.releases`: components, one clipped sum a step, and the number of wrong answers on held-out units.
Everything else here is post-processing of these, or reads public facts alone. A step is

    batch     every unit by its own coin of rate q, one record of each
    sum       of the records' gradients of the cross entropy, each clipped to norm C
    release   (sum + N(0, sigma^2 C^2)) / L, with sum and noise rounded to one public grid, and what comes out to 20 bits of the noise
    move      momentum or Adam; the rate falls linearly

Resuming from a checkpoint continues with the same bits: noise, coins and choices are keyed by their step.
"""

import secrets
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from core.plan.private_models.plan import HELD_OUT, ModelPlan
from models.checkpoint import inside, pack, under, unpack
from models.classifier.components import noisy_components
from models.classifier.dense_form import DenseForm
from models.classifier.even_batches import EvenBatches
from models.classifier.features import Batch, FeatureSource, PrivateRecords, features_of, labels_of
from models.classifier.networks import DenseClassifier, ImageClassifier, dense_network, flattened
from models.classifier.registered import registered_module, require_registered
from models.critic.forms import checked_form
from models.dp.clipping import Layout, Partition
from models.dp.count_noise import release_counts
from models.dp.errors import BatchOverCap
from models.dp.flat_adam import FlatAdam
from models.dp.noise import NoisyMean, noise_plan
from models.dp.poisson import UnitSampler
from models.encoding import PrivateImages
from models.randomness import KEY_BYTES, KeyedStreams, Purpose
from models.selection.split import first_records, part_of, part_of_unit
from models.synthesizer import TrainingHost

ADAM_BETAS: Final = (0.9, 0.999)
MOMENTUM: Final = 0.9
MARK_INTERVAL: Final = 10
"""Steps that one durable mark covers."""
ANSWERED: Final = 128
"""Records that are answered at a time."""


class GradientForm(Protocol):
    """Clipped sums of per-example gradients."""

    def clipped_sum(self, batch: Batch) -> Tensor:
        """(coordinates,) float64 of a batch of records."""
        ...

    def close(self) -> None:
        """Leave the network as it was without the form."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TrainedClassifier:
    """Everything that leaves a training; all of it is differentially private.

    Args:
        network: rows (n, width) of features to logits (n, classes), in float32.
        wrong: the noisy number of held-out units that it answers wrongly; None if no accuracy is measured.
    """

    network: nn.Module
    wrong: float | None


def train_classifier(
    records: PrivateRecords,
    plan: ModelPlan,
    streams: KeyedStreams,
    host: TrainingHost,
    *,
    features: FeatureSource | None = None,
) -> TrainedClassifier:
    """Run a plan, from the latest checkpoint if there is one.

    Args:
        features: of the records, where several trainings share them and no unit is held out; made here if None.

    Raises:
        BatchOverCap: a Poisson batch exceeds the plan's public cap.
        UnevenRounding: this machine rounds a record differently by its place among others.
        RecordsMixed: the module that the plan names mixes the records of a batch, or keeps something of them.
        InvalidSpec: the plan names a module that is not registered here.
    """
    state = host.load_checkpoint()
    if state is None:
        host.advance(stage="measure", step=1, total=1)
    training, held_out = records, None
    if plan.options.accuracy_share:
        assert features is None, "held-out units are in the features"
        part = part_of_unit(records.units, parts=HELD_OUT, streams=streams) == 0
        training, held_out = part_of(records, ~part), part_of(records, part)
    network = _train(training, plan, streams, host, features or features_of(training, plan), state)
    wrong = None
    if held_out is not None:
        wrong = _noisy_wrong(network, held_out, plan, streams)
    host.advance(stage="export", step=1, total=1)
    return TrainedClassifier(network=network, wrong=wrong)


class PrivateClassifier:
    """A network and everything its private steps need.

    Args:
        network: trained in place; its parameters become views of one flat buffer.
        width: numbers of a record.
    """

    def __init__(self, plan: ModelPlan, network: nn.Module, *, width: int) -> None:
        self._plan = plan
        self._network = network
        self._flat = flattened(_in_order(network))
        self.layout = _layout(network, self._flat.numel())
        self.partition = Partition(
            sizes=self.layout.sizes, group_of_block=(0,), thresholds=(plan.options.clipping_norm,)
        )
        self.form = _form(network, self.layout, self.partition, plan, width=width)
        self._noise = noise_plan(
            self.partition, noise_multiplier=plan.noise_multiplier, max_batch=plan.max_sampled_batch
        )
        # A member of a federation hands in its state in float64: every bit of a release.
        self._mean = NoisyMean(self.layout, coarse=True)
        self._gradient = torch.zeros_like(self._flat)
        options = plan.options
        self._optimizer: FlatAdam | FlatMomentum
        if options.optimizer == "adam":
            self._optimizer = FlatAdam(self._flat, learning_rate=options.learning_rate, betas=ADAM_BETAS)
        else:
            self._optimizer = FlatMomentum(self._flat, learning_rate=options.learning_rate)
        self._averaged = torch.zeros_like(self._flat, dtype=torch.float64)

    @torch.no_grad()
    def step(
        self,
        step: int,
        batch: Batch,
        streams: KeyedStreams,
        *,
        address: int | None = None,
        divisor: float | None = None,
    ) -> None:
        """Perform one complete private step on the realised Poisson batch, possibly empty.

        Args:
            streams: the noise; of a federation, those of the round.
            address: of the noise, where several owners make the same step; `step` if None.
            divisor: the public expected batch of one owner; the plan's if None.

        Raises:
            BatchOverCap: the batch exceeds the plan's public cap.
        """
        if len(batch) > self._plan.max_sampled_batch:
            raise BatchOverCap
        drawn_at = step if address is None else address
        total = self.form.clipped_sum(batch)
        parts = self._mean.parts(total, self._noise)
        sensitivity = self.partition.thresholds[0] / self._noise.stds[0]
        streams.releases.exact(Purpose.GRADIENT_NOISE, drawn_at, parts, sensitivity=sensitivity)
        drawn = self._mean.draw(self._noise, streams.reader(Purpose.GRADIENT_NOISE, drawn_at))
        divisor = divisor or self._plan.options.expected_batch_size
        self._mean.write(total, self._noise, drawn, divisor=divisor, into=self._gradient)
        streams.releases.noisy(Purpose.GRADIENT_NOISE, drawn_at, self._gradient)
        self._optimizer.step(self._gradient, share=self._plan.rate_at(step))
        if step >= self._plan.steps - self._plan.options.averaged_steps:
            self._averaged += self._flat

    @torch.no_grad()
    def finished(self) -> nn.Module:
        """Return the network with the average of the last weights, free of the form, in float32."""
        self._flat.copy_(self._averaged / self._plan.options.averaged_steps)
        self.form.close()
        return self._network.eval().requires_grad_(requires_grad=False).float()

    def state_dict(self) -> dict[str, Tensor]:
        """All state as plain tensors."""
        return {
            "parameters": self._flat.clone(),
            "averaged": self._averaged.clone(),
            **self._optimizer.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Restore the result of `state_dict`."""
        with torch.no_grad():
            self._flat.copy_(state["parameters"])
        self._averaged.copy_(state["averaged"])
        self._optimizer.load_state_dict(state)


def _train(
    records: PrivateRecords,
    plan: ModelPlan,
    streams: KeyedStreams,
    host: TrainingHost,
    features: FeatureSource,
    state: bytes | None,
) -> nn.Module:
    tensors, facts = unpack(state) if state is not None else ({}, {"trained": 0})
    labels = labels_of(records)
    components = tensors.get("components")
    if plan.pca_noise_multiplier is not None and components is None:
        components = noisy_components(
            features,
            records.unit_of_record,
            streams,
            components=plan.options.components,
            noise_multiplier=plan.pca_noise_multiplier,
        )
    network = initial_network(records, plan, features, components, streams)
    private = PrivateClassifier(plan, network, width=features.width)
    if tensors:
        private.load_state_dict(inside("private", tensors))
    sampler = UnitSampler(
        records.unit_of_record, sampling_rate=plan.sampling_rate, max_sampled_batch=plan.max_sampled_batch
    )
    first = int(facts["trained"])
    for step in range(first, plan.steps):
        if step == first or step % MARK_INTERVAL == 0:
            mark = min(plan.steps, (step // MARK_INTERVAL + 1) * MARK_INTERVAL)
            host.advance(stage="train", step=mark, total=plan.steps)
        private.step(step, Batch(features, labels, sampler.draw(streams, step)), streams)
        if host.checkpoint_due():
            kept = under("private", private.state_dict())
            if components is not None:
                kept["components"] = components
            host.save_checkpoint(pack(kept, {"trained": step + 1}))
    return private.finished()


def _noisy_wrong(
    network: nn.Module, held_out: PrivateRecords, plan: ModelPlan, streams: KeyedStreams
) -> float:
    """Release how many held-out units are answered wrongly, each by its first record: one unit moves it by one."""
    assert plan.accuracy_noise_multiplier is not None, "a plan that holds units out measures them"
    first = first_records(held_out.unit_of_record)
    features = features_of(held_out, plan)
    batches = EvenBatches(ANSWERED, features.width, torch.float32)
    wrong = 0
    with torch.no_grad():
        batches.require_alike(lambda rows, _labels: [network(rows)])
        for rows, own, _, count in batches.of(Batch(features, labels_of(held_out), first)):
            wrong += int((network(rows).argmax(dim=1) != own)[:count].sum())
    noisy = release_counts(
        np.array([float(wrong)]),
        plan.accuracy_noise_multiplier,
        streams,
        Purpose.MODEL_ACCURACY_NOISE,
        0,
        sensitivity=1.0,
    )
    return float(noisy[0])


def initial_network(
    records: PrivateRecords,
    plan: ModelPlan,
    features: FeatureSource,
    components: Tensor | None,
    streams: KeyedStreams,
) -> nn.Module:
    """Return the network before its first step, from public shapes, noisy components and keyed random numbers alone."""
    options = plan.options
    if options.module is not None:
        return registered_module(options.module, inputs=features.width, classes=plan.classes, streams=streams)
    if options.network == "cnn":
        assert isinstance(records, PrivateImages), "a plan with convolutions is of images"
        height, width, channels = records.shape
        network = ImageClassifier((channels, height, width), plan.classes)
        network.critic.initialise(streams)
        return network.double() if options.engine == "opacus" else network
    return dense_network(plan, features.width, streams, components=components)


def require_trainable(plan: ModelPlan) -> None:
    """Require that a plan's registered module, if it names one, can be trained: tried on public records, but for scattering features.

    Raises:
        RecordsMixed: the module mixes the records of a batch, or keeps something of them.
        ModuleUnsuitable: it has no gradient of its own for every record.
        InvalidSpec: it is not registered here.
    """
    name = plan.options.module
    require_registered(name)
    if name is not None and plan.options.features != "scattering":
        streams = KeyedStreams(secrets.token_bytes(KEY_BYTES))
        module = registered_module(name, inputs=plan.inputs, classes=plan.classes, streams=streams)
        PrivateClassifier(plan, module, width=plan.inputs)


def _in_order(network: nn.Module) -> list[nn.Parameter]:
    """Parameters in the order of the flat buffer: as `models.dp.clipping` lays them out, but for a registered module."""
    if not isinstance(network, DenseClassifier | ImageClassifier):
        return list(network.parameters())
    # Matrices come before biases; the sort keeps the order of layers.
    return sorted(network.parameters(), key=lambda parameter: parameter.dim() == 1)


def _layout(network: nn.Module, coordinates: int) -> Layout:
    if isinstance(network, DenseClassifier | ImageClassifier):
        shapes = tuple((layer.out_features, layer.in_features) for layer in network.linear_layers())
        return Layout(shapes=shapes, grouping="flat")
    # One block has no inner structure: its coordinates may as well be one row and a bias.
    return Layout(shapes=((1, coordinates - 1),), grouping="flat")


def _form(
    network: nn.Module, layout: Layout, partition: Partition, plan: ModelPlan, *, width: int
) -> GradientForm:
    cap = plan.max_sampled_batch
    if plan.options.engine == "opacus":
        from models.classifier.sampled_form import SampledForm

        ordered = _in_order(network)
        return SampledForm(network, ordered, width=width, partition=partition, max_batch=cap)
    if isinstance(network, ImageClassifier):
        network.requires_grad_(requires_grad=False)
        return _ConvolutionForm(network, layout, partition, max_batch=cap)
    assert isinstance(network, DenseClassifier), "a closed form is of our networks"
    network.requires_grad_(requires_grad=False)
    return DenseForm(network, layout, width=width, partition=partition, max_batch=cap)


class _ConvolutionForm:
    """The closed form of convolutions (`models.critic.label_form`) behind the interface of this module."""

    def __init__(
        self, network: ImageClassifier, layout: Layout, partition: Partition, *, max_batch: int
    ) -> None:
        self._image, self._partition = network.critic.image, partition
        self._form = checked_form(network.critic, layout, gp_weight=0.0, max_batch=max_batch)

    def clipped_sum(self, batch: Batch) -> Tensor:
        rows, labels = batch.whole
        images = rows.float().view(-1, *self._image)
        unused = torch.zeros(len(images))
        return self._form.clipped_sum(images, images, unused, self._partition, labels=labels)

    def close(self) -> None:
        """Nothing is left in the network."""


class FlatMomentum:
    """Gradient descent with momentum on one flat vector (Polyak 1964): post-processing of the noisy gradient.

    Args:
        parameters: flat vector, updated in place.
    """

    def __init__(self, parameters: Tensor, *, learning_rate: float) -> None:
        self._parameters = parameters
        self._learning_rate = learning_rate
        self._velocity = torch.zeros_like(parameters)

    @torch.no_grad()
    def step(self, gradient: Tensor, *, share: float = 1.0) -> None:
        """One update at a share of the learning rate."""
        self._velocity.mul_(MOMENTUM).add_(gradient)
        self._parameters.add_(self._velocity, alpha=-share * self._learning_rate)

    def state_dict(self) -> dict[str, Tensor]:
        """The velocity."""
        return {"momentum.velocity": self._velocity.clone()}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Restore the result of `state_dict`; other members are ignored."""
        self._velocity.copy_(state["momentum.velocity"])
