"""One step of DP-SGD on the critic: per-example norms, clip, sum, noise, divide, Adam."""

import math
from functools import partial
from traceback import clear_frames

import torch
from torch import Tensor

from core.plan.plan import Plan
from models.acts import AdaptiveThresholds
from models.critic.forms import PrivateNetwork, RecordForm, record_form
from models.devices.data_parallel import DataParallelForm, supports_data_parallel
from models.devices.noise import DeviceNoise
from models.devices.placement import HOST, Placement
from models.dp.clipping import Layout, Partition
from models.dp.errors import BatchOverCap
from models.dp.flat_adam import FlatAdam, ordered_betas
from models.dp.noise import NoisePlan, NoisyMean, noise_plan
from models.dp.noise_ahead import NoiseAhead
from models.randomness import KeyedStreams, Purpose
from models.weight_clusters import cluster_blocks, merged_thresholds

ADAM_BETAS = (0.5, 0.9)
"""For a critic whose generator changes between its steps."""
LABEL_BETAS = (0.9, 0.999)
"""For a critic of labels, whose task does not change: longer averages of noisy gradients."""


class PrivateCritic:
    """The critic and everything its private training needs.

    Args:
        critic: trained in place; its parameters become views of one flat buffer. `models.critic.forms` has its form.
        placement: where it is trained; the critic moves there.

    Raises:
        UnevenRounding: this machine rounds a record differently by its place in a microbatch.
        DeviceDiffers: a device gives other numbers than the library, or than the other devices.
        DeviceMemoryShort: a device's memory does not hold the smallest microbatch.
    """

    def __init__(
        self,
        critic: PrivateNetwork,
        plan: Plan,
        streams: KeyedStreams,
        *,
        placement: Placement = HOST,
    ) -> None:
        options = plan.idpgan_options
        layers = critic.linear_layers()
        self._plan = plan
        self._streams = streams
        self.layout = Layout(
            shapes=tuple((layer.out_features, layer.in_features) for layer in layers),
            grouping=options.grouping,
            row_blocks=options.row_blocks,
        )
        assert self.layout.blocks == critic.public_groups(options), "the public number of groups"
        assert plan.acts is None or plan.acts.groups == self.layout.blocks, "the charged number of histograms"
        self.placement = placement if supports_data_parallel(critic) else HOST
        self._flat = _flatten(critic, self.placement.main)
        self._gradient = torch.zeros_like(self._flat)
        self._adam = FlatAdam(
            self._flat,
            learning_rate=options.critic_learning_rate,
            betas=ordered_betas(options, LABEL_BETAS if options.critic_asks == "labels" else ADAM_BETAS),
        )
        self._form: RecordForm
        self._mean = NoisyMean(self.layout)
        self.microbatch_size = 0
        """Records of a microbatch on devices; 0 on the CPU's own path."""
        if self.placement.data_parallel:
            assert supports_data_parallel(critic), "checked above"
            form = DataParallelForm(
                critic,
                self.layout,
                gp_weight=options.gp_weight,
                max_batch=plan.max_sampled_batch,
                placement=self.placement,
            )
            self._form, self.microbatch_size = form, form.microbatch_size
            self._mean = DeviceNoise(self.layout, self.placement.main)
        else:
            self._form = record_form(
                critic, self.layout, gp_weight=options.gp_weight, max_batch=plan.max_sampled_batch
            )
        self._noise_ahead = NoiseAhead()
        self._acts = AdaptiveThresholds(plan.acts, smoothing=options.acts_smoothing) if plan.acts else None
        # One record's whole gradient is bounded by the clipping norm, shared equally by the blocks.
        first = options.clipping_norm / math.sqrt(self.layout.blocks)
        self._adopt(torch.full((self.layout.blocks,), first, dtype=torch.float64), range(self.layout.blocks))

    @property
    def partition(self) -> Partition:
        """The groups and clipping thresholds of the next step; public, because they follow from noisy releases."""
        return self._partition

    @property
    def replays_graphs(self) -> bool:
        """Whether the last step replayed CUDA graphs; no number depends on it."""
        return isinstance(self._form, DataParallelForm) and self._form.replays_graphs

    def step(self, step: int, real: Tensor, fake: Tensor, labels: Tensor | None = None) -> None:
        """Perform ONE complete private step.

        On a refresh step the noisy histograms of the same batch set the thresholds from the next step on.

        Args:
            step: number of the step, from 0.
            real: the realised Poisson batch, possibly empty: (batch, cells) vectors in the critic's precision, or
                (batch, columns) int64 cells of one-hot records (faster), or
                (batch, channels, height, width) images.
            fake: (batch, cells) or images, one generated record per real one, of the same label.
            labels: (batch,) int64 where the critic has classes.

        Raises:
            BatchOverCap: the batch exceeds the plan's public cap.
        """
        if real.shape[0] > self._plan.max_sampled_batch:
            raise BatchOverCap
        assert real.shape[0] == fake.shape[0], "one generated record per real one"
        noise = noise_plan(
            self._partition,
            noise_multiplier=self._plan.noise_multiplier_at(step),
            max_batch=self._plan.max_sampled_batch,
        )
        self._begin_noise(noise, step)
        mix = self._streams.torch_uniforms(Purpose.INTERPOLATION, step, real.shape[0])
        total, squares = self._form.sum_and_squares(real, fake, mix, self._partition, labels=labels)
        drawn = self._noise(noise, step)
        parts = self._mean.parts(total, noise)
        stated = _sensitivity(self._partition, noise)
        self._streams.releases.exact(Purpose.GRADIENT_NOISE, step, parts, sensitivity=stated)
        self._mean.write(total, noise, drawn, divisor=self._plan.expected_batch_size, into=self._gradient)
        self._streams.releases.noisy(Purpose.GRADIENT_NOISE, step, self._gradient)
        falling = 1.0 - step / self._plan.steps if self._plan.idpgan_options.critic_asks == "labels" else 1.0
        self._adam.step(self._gradient, share=falling)
        if self._acts is not None and self._plan.is_refresh(step):
            noisy = self._acts.release(squares.cpu(), self._streams, step)
            thresholds = self._acts.update(self._thresholds, noisy)
            self._adopt(thresholds, self._cluster(thresholds))

    def state_dict(self) -> dict[str, Tensor]:
        """All state as plain tensors: parameters, Adam's moments, thresholds and groups."""
        return {
            "parameters": self._flat.clone(),
            "thresholds": self._thresholds.clone(),
            "group_of_block": torch.tensor(self._partition.group_of_block),
            **self._adam.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Restore the result of `state_dict`; the next step then has the bits of an uninterrupted training."""
        self._flat.copy_(state["parameters"])
        self._adopt(state["thresholds"].clone(), state["group_of_block"].tolist())
        self._adam.load_state_dict(state)

    def _begin_noise(self, noise: NoisePlan, step: int) -> None:
        reader = self._streams.reader(Purpose.GRADIENT_NOISE, step)
        self._noise_ahead.begin(partial(self._mean.draw, noise, reader))

    def _noise(self, noise: NoisePlan, step: int) -> Tensor:
        """Wait for the noise; draw it again if the device had no memory for it and the sum at once. By now the sum is complete.

        The second draw gives the same numbers, which depend on the key, the step and public sizes alone.
        """
        try:
            return self._noise_ahead.take()
        except torch.OutOfMemoryError as error:
            clear_frames(error.__traceback__)  # they refer to tensors of the failed draw
        self._begin_noise(noise, step)
        return self._noise_ahead.take()

    def _adopt(self, thresholds: Tensor, group_of_block: "range | tuple[int, ...] | list[int]") -> None:
        groups = tuple(group_of_block)
        self._thresholds = thresholds
        self._partition = Partition(
            sizes=self.layout.sizes, group_of_block=groups, thresholds=merged_thresholds(thresholds, groups)
        )

    def _cluster(self, thresholds: Tensor) -> tuple[int, ...]:
        options = self._plan.idpgan_options
        if not options.weight_clusters:
            return self._partition.group_of_block
        return cluster_blocks(
            thresholds, radius=options.cluster_radius, min_blocks=options.cluster_min_blocks
        )


def _sensitivity(partition: Partition, noise: NoisePlan) -> float:
    """Distance by which one record moves the clipped sum, in units of the noise: `sqrt(sum c_j^2 / s_j^2)` over the groups."""
    least = [math.inf] * len(partition.thresholds)
    for block, group in enumerate(partition.group_of_block):
        least[group] = min(least[group], noise.stds[block])
    return math.hypot(*(c / std for c, std in zip(partition.thresholds, least, strict=True)))


def _flatten(critic: PrivateNetwork, device: torch.device) -> Tensor:
    """One buffer in flat layout on a device; the critic's parameters become views of it."""
    layers = critic.linear_layers()
    parts = [*(layer.weight for layer in layers), *(layer.bias for layer in layers)]
    flat = torch.cat([part.detach().reshape(-1) for part in parts]).to(device)
    pieces = torch.split(flat, [part.numel() for part in parts])
    for part, piece in zip(parts, pieces, strict=True):
        part.data = piece.view(part.shape)
        part.requires_grad_(False)  # noqa: FBT003 - torch's signature
    return flat
