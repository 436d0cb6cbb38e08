"""Trials of engines for tables: which counts are measured, what is believed of them, and what is fitted to them.

    python -m benchmarks.tables.trials --table adult --size 2000 --epsilon 1 --trial "sweep, shrunk" --save

A trial is one Gaussian release of counts, or a few, then post-processing. Its noise comes from numpy, so nothing that is made
here is private. docs/rules-study.md says what the trials showed.
"""

import argparse
import itertools
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch

from benchmarks.datasets import Codes
from benchmarks.results_file import merge, rounded
from benchmarks.tables.budget import mu_of
from benchmarks.tables.scores import distances, train_and_test
from benchmarks.tables.sources import SIZES, SOURCES, split

DELTA: Final = 1e-6
ONE_WAY: Final = 0.12
"""Share of squared mu for one-way counts."""
ERRORS: Final = 0.1
"""Share for the noisy errors of all pairs, over all rounds."""
FREE: Final = 2.0
"""Standard deviations above what noise alone explains from which a pair is believed to hold more than its columns."""

Floats = npt.NDArray[np.float64]
Pair = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Noisy:
    """A count table with the standard deviation of each cell's noise, in records."""

    counts: Floats
    std: float

    def combined(self, other: "Noisy") -> "Noisy":
        """Both by inverse variance."""
        a, b = self.std**-2, other.std**-2
        return Noisy(counts=(a * self.counts + b * other.counts) / (a + b), std=(a + b) ** -0.5)


@dataclass(kw_only=True)
class Board:
    """Everything that is measured of one table. `measure` alone reads its rows.

    Args:
        codes: (rows, columns).
        sizes: codes of every column.
        rng: of the noise.
    """

    codes: npt.NDArray[np.int64]
    sizes: tuple[int, ...]
    rng: np.random.Generator
    direct: list[Noisy] = field(default_factory=list)
    pairs: dict[Pair, Noisy] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """Number of rows, public here."""
        return len(self.codes)

    @property
    def every_pair(self) -> list[Pair]:
        """All pairs of columns."""
        return list(itertools.combinations(range(len(self.sizes)), 2))

    @property
    def blocks(self) -> list[slice]:
        """The cells of every column in a one-hot row."""
        return [
            slice(stop - size, stop)
            for size, stop in zip(self.sizes, itertools.accumulate(self.sizes), strict=True)
        ]

    def exact(self, *columns: int) -> Floats:
        """Counts without noise."""
        shape = [self.sizes[column] for column in columns]
        flat = np.ravel_multi_index(tuple(self.codes[:, column] for column in columns), shape)
        return np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape).astype(np.float64)

    def measure_columns(self, budget: float) -> None:
        """Measure all columns at once, with a share of squared mu."""
        std = np.sqrt(len(self.sizes) / budget)
        for column, size in enumerate(self.sizes):
            self.direct.append(Noisy(counts=self.exact(column) + self.rng.normal(0, std, size), std=std))

    def measure(self, chosen: list[Pair], budget: float, power: float) -> None:
        """Measure pairs at once, each with a share of squared mu in proportion to a power of its cells."""
        weights = {pair: float(self.sizes[pair[0]] * self.sizes[pair[1]]) ** power for pair in chosen}
        for pair, weight in weights.items():
            std = float(np.sqrt(sum(weights.values()) / (weight * budget)))
            exact = self.exact(*pair)
            found = Noisy(counts=exact + self.rng.normal(0, std, exact.shape), std=std)
            self.pairs[pair] = found if pair not in self.pairs else self.pairs[pair].combined(found)

    def errors(self, model: Callable[[Pair], Floats], budget: float) -> dict[Pair, float]:
        """Noisy L1 errors of a model's counts of all pairs: one record moves each by one at most."""
        every = self.every_pair
        std = np.sqrt(len(every) / budget)
        return {
            pair: float(np.abs(self.exact(*pair) - self.rows * model(pair)).sum() + self.rng.normal(0, std))
            for pair in every
        }

    def distributions(self) -> list[Floats]:
        """One-way shares: the direct counts and the margins of all measured pairs by inverse variance, made a distribution."""
        sums = [one.counts / one.std**2 for one in self.direct]
        precision = [one.std**-2 for one in self.direct]
        for (i, j), noisy in self.pairs.items():
            for column, axis, other in ((i, 1, j), (j, 0, i)):
                variance = noisy.std**2 * self.sizes[other]
                sums[column] = sums[column] + noisy.counts.sum(axis=axis) / variance
                precision[column] += 1 / variance
        return [_distribution(total / weight) for total, weight in zip(sums, precision, strict=True)]


def _distribution(counts: Floats) -> Floats:
    """The nearest distribution to shares of counts (Duchi et al. 2008, figure 1)."""
    shares = counts / max(counts.sum(), 1.0)
    ordered = np.sort(shares)[::-1]
    excess = (np.cumsum(ordered) - 1) / np.arange(1, len(shares) + 1)
    distribution: Floats = np.maximum(shares - excess[np.flatnonzero(ordered > excess)[-1]], 0.0)
    return distribution


def _centred(table: Floats) -> Floats:
    centred: Floats = table - table.mean(axis=0) - table.mean(axis=1)[:, None] + table.mean()
    return centred


def raw(board: Board, _distributions: list[Floats]) -> dict[Pair, Floats]:
    """Shares of the pairs as they were measured."""
    return {pair: noisy.counts / board.rows for pair, noisy in board.pairs.items()}


def shrunk(board: Board, distributions: list[Floats], *, spectrum: bool) -> dict[Pair, Floats]:
    """Shares of the pairs, what noise explains taken off: by the eigenvalues of all residuals, then pair by pair (James-Stein)."""
    blocks, cells = board.blocks, sum(board.sizes)
    residual, noise = np.zeros((cells, cells)), np.zeros((cells, cells))
    for (i, j), noisy in board.pairs.items():
        block = _centred(noisy.counts / board.rows - np.outer(distributions[i], distributions[j]))
        residual[blocks[i], blocks[j]], residual[blocks[j], blocks[i]] = block, block.T
        noise[blocks[i], blocks[j]] = noise[blocks[j], blocks[i]] = noisy.std / board.rows
    common = np.zeros_like(residual)
    if spectrum:
        values, vectors = np.linalg.eigh(residual)
        edge = 2 * np.sqrt((noise**2).sum() / cells)  # of the semicircle that noise alone fills
        kept = np.where(
            np.abs(values) > edge, np.sign(values) * np.sqrt(np.maximum(values**2 - edge**2, 0)), 0
        )
        common = (vectors * kept) @ vectors.T
    found = {}
    for (i, j), noisy in board.pairs.items():
        variance, freedom = (noisy.std / board.rows) ** 2, (board.sizes[i] - 1) * (board.sizes[j] - 1)
        part = common[blocks[i], blocks[j]]
        rest = residual[blocks[i], blocks[j]] - part
        energy = float((rest**2).sum())
        if energy - freedom * variance > FREE * variance * np.sqrt(2 * freedom):
            part = part + rest * (1 - variance * freedom / energy)
        shares = np.maximum(np.outer(distributions[i], distributions[j]) + part, 0) + 1e-12
        found[i, j] = shares / shares.sum()
    return found


class Mixture:
    """A mixture of product distributions, all of equal weight: free logits, fitted to shares of pairs.

    Args:
        board: for its sizes.
        distributions: where every component starts, up to normal jitter.
        components: how many.
    """

    def __init__(self, board: Board, distributions: list[Floats], components: int) -> None:
        self._board, self._blocks = board, board.blocks
        start = torch.log(torch.tensor(np.concatenate(distributions), dtype=torch.float32).clamp(min=1e-5))
        self._logits = (
            start.repeat(components, 1) + 0.7 * torch.randn(components, len(start))
        ).requires_grad_()

    def _components(self) -> torch.Tensor:
        return torch.cat([torch.softmax(self._logits[:, block], 1) for block in self._blocks], 1)

    def fit(self, distributions: list[Floats], shares: Mapping[Pair, Floats], steps: int) -> None:
        """Adam on squared errors, each over the root of its share under independence plus its noise."""
        distribution = torch.tensor(np.concatenate(distributions), dtype=torch.float32)
        wanted, weight = (
            torch.zeros(len(distribution), len(distribution)),
            torch.zeros(len(distribution), len(distribution)),
        )
        for (i, j), table in shares.items():
            a, b = self._blocks[i], self._blocks[j]
            wanted[a, b] = torch.tensor(table, dtype=torch.float32)
            alone = torch.sqrt(torch.outer(distribution[a], distribution[b]).clamp(min=1e-6))
            weight[a, b] = 1 / (alone + self._board.pairs[i, j].std / self._board.rows)
        adam = torch.optim.Adam([self._logits], lr=0.15, betas=(0.9, 0.95))
        for step in range(steps):
            adam.param_groups[0]["lr"] = 0.075 * (1 + np.cos(np.pi * step / steps)) + 1e-3
            made = self._components()
            pairs, ones = made.T @ made / len(made), made.mean(0)
            loss = (weight * (pairs - wanted).square()).sum() * len(distribution) / len(self._blocks)
            loss = loss + 5 * ((ones - distribution).square() / (distribution + 1e-3)).sum()
            adam.zero_grad()
            torch.autograd.backward(loss)
            adam.step()

    def numpy(self) -> Floats:
        """(components, cells) probabilities."""
        with torch.no_grad():
            return self._components().double().numpy()

    def draw(self, rows: int, rng: np.random.Generator) -> Codes:
        """Codes, every component in equally many rows."""
        made, owner = self.numpy(), rng.permutation(np.arange(rows) % len(self._logits))
        codes = np.empty((rows, len(self._blocks)), dtype=np.int16)
        for column, block in enumerate(self._blocks):
            sums = np.cumsum(made[:, block], axis=1)
            thresholds = rng.random(rows)[:, None] * sums[owner, -1:]
            codes[:, column] = (sums[owner] < thresholds).sum(axis=1).clip(max=self._board.sizes[column] - 1)
        return codes


def swept(
    board: Board, mu: float, *, believe: Callable[..., dict[Pair, Floats]], components: int = 1500
) -> Mixture:
    """All pairs at once with equal noise."""
    board.measure_columns(ONE_WAY * mu**2)
    board.measure(board.every_pair, (1 - ONE_WAY) * mu**2, power=0.0)
    distributions = board.distributions()
    mixture = Mixture(board, distributions, components)
    mixture.fit(distributions, believe(board, distributions), steps=500)
    return mixture


def chosen(board: Board, mu: float, *, rounds: int, sweep: float = 0.0, components: int = 1500) -> Mixture:
    """In each round the noisy errors of all pairs under the model so far, and the pairs that promise most measured.

    Args:
        board: of the table.
        mu: of the whole.
        rounds: how many.
        sweep: share of squared mu with which all pairs are measured before.
        components: of the mixture.
    """
    board.measure_columns(ONE_WAY * mu**2)
    budget = (1 - ONE_WAY - ERRORS - sweep) * mu**2 / rounds
    believed: dict[Pair, Floats] = {}
    mixture: Mixture | None = None
    if sweep:
        board.measure(board.every_pair, sweep * mu**2, power=0.0)
        believed |= shrunk(board, board.distributions(), spectrum=True)
        mixture = Mixture(board, board.distributions(), components)
        mixture.fit(board.distributions(), believed, steps=200)
    for number in range(rounds):
        model = _predictor(board, board.distributions(), mixture)
        errors = board.errors(model, ERRORS * mu**2 / rounds)
        picked = _worth_measuring(errors, board.sizes, budget)
        board.measure(picked, budget, power=2 / 3)
        believed |= {pair: _towards(model(pair), board.pairs[pair], board.rows) for pair in picked}
        mixture = mixture or Mixture(board, board.distributions(), components)
        mixture.fit(board.distributions(), believed, steps=500 if number == rounds - 1 else 200)
    assert mixture is not None, "there is a round"
    return mixture


def _predictor(
    board: Board, distributions: list[Floats], mixture: Mixture | None
) -> Callable[[Pair], Floats]:
    if mixture is None:
        return lambda pair: np.outer(distributions[pair[0]], distributions[pair[1]])
    made, blocks = mixture.numpy(), board.blocks
    return lambda pair: made[:, blocks[pair[0]]].T @ made[:, blocks[pair[1]]] / len(made)


def _towards(model: Floats, noisy: Noisy, rows: int) -> Floats:
    """Measurements, shrunk towards a model by as much as their noise explains (James-Stein)."""
    difference, variance = noisy.counts / rows - model, (noisy.std / rows) ** 2
    kept = max(0.0, 1 - variance * (difference.size - 1) / float((difference**2).sum()))
    shares: Floats = np.maximum(model + kept * difference, 0) + 1e-12
    return shares / float(shares.sum())


def _worth_measuring(errors: dict[Pair, float], sizes: tuple[int, ...], budget: float) -> list[Pair]:
    """The pairs, by error over the cube root of cells, as many as lower the sum of errors left and of noise most."""
    cells = {pair: float(sizes[pair[0]] * sizes[pair[1]]) for pair in errors}
    order = sorted(errors, key=lambda pair: -errors[pair] / cells[pair] ** (1 / 3))
    gains = np.cumsum([max(errors[pair], 0.0) for pair in order])
    weights = np.cumsum([cells[pair] ** (2 / 3) for pair in order])
    noise = (
        0.6 * weights * np.sqrt(weights / budget)
    )  # sum over pairs of cells times mean absolute noise, three quarters kept
    best = int(np.argmin(noise - gains)) + 1
    return order[:best] if noise[best - 1] < gains[best - 1] else order[:1]


Trial = Callable[[Board, float], Mixture]
TRIALS: Final[Mapping[str, Trial]] = {
    "sweep, raw": partial(swept, believe=raw),
    "sweep, pair by pair": partial(swept, believe=partial(shrunk, spectrum=False)),
    "sweep, shrunk": partial(swept, believe=partial(shrunk, spectrum=True)),
    "sweep, shrunk, 300 components": partial(swept, believe=partial(shrunk, spectrum=True), components=300),
    "chosen in one round": partial(chosen, rounds=1),
    "chosen in four rounds": partial(chosen, rounds=4),
    "a third swept, then four rounds": partial(chosen, rounds=4, sweep=0.3),
}


def cell(table: str, size: str, epsilon: float, trial: str, seed: int) -> dict[str, Any]:
    """Run one trial on one table, and score it as the comparison is scored."""
    rows = split(table, size, seed)
    sizes = rows.domain.cardinalities
    torch.manual_seed(seed)
    begun = time.process_time()
    board = Board(codes=rows.train_codes.astype(np.int64), sizes=sizes, rng=np.random.default_rng(seed))
    mixture = TRIALS[trial](board, mu_of(epsilon, DELTA))
    made = mixture.draw(board.rows, board.rng)
    seconds = time.process_time() - begun
    scores = distances(made, rows.train_codes, sizes, rows.target) | train_and_test(rows, made, seed)
    return {
        "table": table, "size": size, "rows": board.rows, "epsilon": epsilon, "trial": trial, "seed": seed,
        "pairs_measured": len(board.pairs), **rounded(scores), "cpu_seconds": round(seconds, 1),
    }  # fmt: skip


def main() -> None:
    """Run the trials that were asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--table", choices=tuple(SOURCES), required=True)
    parser.add_argument("--size", choices=SIZES, default="full")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument(
        "--trial", choices=tuple(TRIALS), action="append", help="all of them unless some are named"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    for trial in options.trial or TRIALS:
        found = cell(options.table, options.size, options.epsilon, trial, options.seed)
        print(found, flush=True)
        if options.save:
            key = (
                f"{options.table}, {options.size}, epsilon {options.epsilon:g}, {trial}, seed {options.seed}"
            )
            merge("table_trials", kind="trials", key=key, entry=found)


if __name__ == "__main__":
    main()
