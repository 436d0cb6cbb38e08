"""The generator: a residual network with one softmax block per column, conditioned on the target."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from core.plan.options import IdpganOptions
from models.counting.question import Counter
from models.encoding import PrivateTable
from models.idpgan.grouped_logits import GroupedLogits
from models.randomness import KeyedStreams, Purpose
from models.tables.code_groups import Groups

SLOPE = 0.1
_BRANCH_GAIN = 0.3
_OUTPUT_GAIN = 0.5


class ResidualBlock(nn.Module):
    """`x + W2 phi(W1 x)`."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = nn.Linear(width, width)
        self.second = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        """Shapes (rows, width) to (rows, width)."""
        branch: Tensor = self.second(nn.functional.leaky_relu(self.first(x), SLOPE))
        return x + branch


class Generator(GroupedLogits):
    """(latent, label one-hot) to the logits of every column's codes.

    Args:
        groups: of every column (codes,) the group of each code. Those of the target are its codes.
        target_index: the column that is given, or None.
    """

    def __init__(
        self,
        *,
        groups: Sequence[Groups],
        target_index: int | None,
        latent_dimension: int,
        width: int,
        blocks: int,
    ) -> None:
        super().__init__(groups, target_index)
        self.enter = nn.Linear(latent_dimension + self.classes, width)
        self.blocks = nn.ModuleList(ResidualBlock(width) for _ in range(blocks))
        self.leave = nn.Linear(width, self.group_cells - self.classes)

    def forward(self, latent: Tensor, label: Tensor) -> Tensor:
        """Shapes (rows, latent_dimension) and (rows, classes) to logits (rows, cells)."""
        return self.spread(self.grouped(latent, label))

    def grouped(self, latent: Tensor, label: Tensor) -> Tensor:
        """Shapes (rows, latent_dimension) and (rows, classes) to logits of groups (rows, group cells)."""
        hidden = self.enter(torch.cat([latent, label], dim=1))
        for block in self.blocks:
            hidden = block(hidden)
        logits = self.leave(nn.functional.leaky_relu(hidden, SLOPE))
        if self.classes == 0:
            return torch.as_tensor(logits)
        return self.with_label(logits[:, : self.label_start], label, logits[:, self.label_start :])

    def initialise(self, streams: KeyedStreams, *, columns: Sequence[npt.NDArray[np.float64]] | None) -> None:
        """Draw fan-in scaled weights from the keyed stream; start every column at its one-way shares.

        Args:
            columns: of every column (codes,) noisy shares, or None for the uniform distribution.
        """
        layers = [module for module in self.modules() if isinstance(module, nn.Linear)]
        counts = [layer.weight.numel() for layer in layers]
        drawn = torch.split(streams.torch_normals(Purpose.GENERATOR_INIT, 0, sum(counts)), counts)
        second = {id(block.second) for block in self.blocks if isinstance(block, ResidualBlock)}
        with torch.no_grad():
            for layer, values in zip(layers, drawn, strict=True):
                gain = _BRANCH_GAIN if id(layer) in second else _OUTPUT_GAIN if layer is self.leave else 1.0
                layer.weight.copy_(values.reshape(layer.weight.shape) * (gain * layer.in_features**-0.5))
                layer.bias.zero_()
            if columns is not None:
                block = np.arange(self.label_start, self.label_start + self.classes)
                self.leave.bias.copy_(torch.from_numpy(np.log(np.delete(self.keep_shares(columns), block))))


def make_generator(
    table: PrivateTable | Counter, options: IdpganOptions, groups: Sequence[Groups] | None = None
) -> Generator:
    """The generator of a plan's options for a table's public shape.

    Args:
        table: of which public facts are read.
        groups: of every column (codes,) the group of each code; None if every code is its own.
    """
    return Generator(
        groups=groups or [np.arange(codes) for codes in table.cardinalities],
        target_index=table.target_index,
        latent_dimension=options.latent_dimension,
        width=options.generator_width,
        blocks=options.generator_blocks,
    )


def probabilities(logits: Tensor, cardinalities: tuple[int, ...]) -> Tensor:
    """The softmax of every column's block; shapes (rows, cells) to (rows, cells)."""
    blocks = torch.split(logits, list(cardinalities), dim=1)
    return torch.cat([torch.softmax(block, dim=1) for block in blocks], dim=1)


def _running_sums(block: Tensor) -> Tensor:
    """(rows, codes) cumulative sums; on a GPU as a product, because torch's own are not deterministic there."""
    if block.device.type == "cpu":
        return torch.cumsum(block, dim=1)
    codes = block.shape[1]
    upper = torch.ones(codes, codes, dtype=torch.float64, device=block.device).triu()
    return (block.double() @ upper).to(block.dtype)


def draw(shares: Tensor, uniforms: Tensor, cardinalities: tuple[int, ...]) -> Tensor:
    """Draw one code per column by inversion, as one-hot records; no gradient passes.

    Args:
        shares: (rows, cells), every block sums to one.
        uniforms: (rows, columns) in [0, 1).
    """
    drawn = []
    for column, block in enumerate(torch.split(shares.detach(), list(cardinalities), dim=1)):
        sums = _running_sums(block)
        threshold = uniforms[:, column : column + 1] * sums[:, -1:]
        code = (sums[:, :-1] <= threshold).sum(dim=1)
        drawn.append(nn.functional.one_hot(code, block.shape[1]))
    return torch.cat(drawn, dim=1).to(torch.float32)
