"""Quality of synthetic rows: train on them and test on real ones, and distances of one- and two-way counts."""

import itertools
import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, balanced_accuracy_score, roc_auc_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from core.plan.domain.codec import encode
from core.plan.domain.columns.kinds import NumericColumn
from core.plan.domain.table import TableDomain

Matrix = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]
MOST_ITERATIONS = 1000


def features(domain: TableDomain, rows: pa.RecordBatch) -> tuple[Matrix, Labels]:
    """Numbers as they are, categories as their codes; and the target's codes."""
    codes = encode(domain, rows)
    columns = []
    for index, column in enumerate(domain.modelled):
        if isinstance(column, NumericColumn):
            columns.append(rows.column(index).to_numpy(zero_copy_only=False).astype(np.float64))
        else:
            columns.append(codes[:, index].astype(np.float64))
    assert domain.target_index is not None, "the benchmarks' tables have a target"
    target = codes[:, domain.target_index].astype(np.int64)
    del columns[domain.target_index]
    return np.column_stack(columns), target


def models(domain: TableDomain) -> dict[str, Any]:
    """The two classifiers: boosted trees, and logistic regression on one-hot and standardised features."""
    kept = [column for index, column in enumerate(domain.modelled) if index != domain.target_index]
    numbers = [index for index, column in enumerate(kept) if isinstance(column, NumericColumn)]
    words = [index for index in range(len(kept)) if index not in numbers]
    encoder = ColumnTransformer(
        [("numbers", StandardScaler(), numbers), ("words", OneHotEncoder(handle_unknown="ignore"), words)]
    )
    logistic: Pipeline = make_pipeline(encoder, LogisticRegression(max_iter=MOST_ITERATIONS))
    return {
        "trees": HistGradientBoostingClassifier(categorical_features=words, random_state=0),
        "logistic": logistic,
    }


def train_and_test(domain: TableDomain, made: pa.RecordBatch, real: pa.RecordBatch) -> dict[str, float]:
    """Train both classifiers on `made`, test on `real`.

    A class of which `made` has one row is left out of the training: the trees set rows of every class apart to stop early.

    Returns:
        For a target of two codes `auroc_*`, always `accuracy_*` and `balanced_accuracy_*`.
    """
    inputs, target = _training_rows(domain, made)
    real_inputs, real_target = features(domain, real)
    scores: dict[str, float] = {}
    for name, model in models(domain).items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(inputs, target)
        answers = model.predict(real_inputs)
        if len(np.unique(real_target)) == 2:
            scores[f"auroc_{name}"] = float(
                roc_auc_score(real_target, model.predict_proba(real_inputs)[:, 1])
            )
        scores[f"accuracy_{name}"] = float(accuracy_score(real_target, answers))
        scores[f"balanced_accuracy_{name}"] = float(balanced_accuracy_score(real_target, answers))
    return scores


def tree_accuracy(domain: TableDomain, made: pa.RecordBatch, real: pa.RecordBatch) -> float:
    """The accuracy of `train_and_test`, of the trees alone: they take a fraction of its time."""
    inputs, target = features(domain, real)
    trees = models(domain)["trees"].fit(*_training_rows(domain, made))
    return float(accuracy_score(target, trees.predict(inputs)))


def _training_rows(domain: TableDomain, made: pa.RecordBatch) -> tuple[Matrix, Labels]:
    inputs, target = features(domain, made)
    common = np.bincount(target)[target] > 1
    return inputs[common], target[common]


def majority(domain: TableDomain, made: pa.RecordBatch, real: pa.RecordBatch) -> dict[str, float]:
    """Always answer the commonest class of `made`."""
    _, target = features(domain, made)
    _, real_target = features(domain, real)
    answers = np.full(len(real_target), np.bincount(target).argmax())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        balanced = float(balanced_accuracy_score(real_target, answers))
    return {
        "auroc_trees": 0.5,
        "auroc_logistic": 0.5,
        "accuracy": float(accuracy_score(real_target, answers)),
        "balanced_accuracy": balanced,
    }


def distances(
    made: npt.NDArray[np.integer], real: npt.NDArray[np.integer], cardinalities: tuple[int, ...]
) -> dict[str, float]:
    """Mean total variation of one-way and of two-way counts over all columns and all pairs of columns.

    Args:
        made: (rows, columns) codes of the public bins.
        real: (rows, columns) codes.
        cardinalities: codes of every column.
    """
    one = [_variation(made[:, [i]], real[:, [i]], (cells,)) for i, cells in enumerate(cardinalities)]
    two = [
        _variation(made[:, [i, j]], real[:, [i, j]], (cardinalities[i], cardinalities[j]))
        for i, j in itertools.combinations(range(len(cardinalities)), 2)
    ]
    return {"one_way": float(np.mean(one)), "two_way": float(np.mean(two))}


def _variation(made: npt.NDArray[np.integer], real: npt.NDArray[np.integer], shape: tuple[int, ...]) -> float:
    shares = []
    for codes in (made, real):
        flat = np.ravel_multi_index(tuple(codes.astype(np.int64).T), shape)
        shares.append(np.bincount(flat, minlength=int(np.prod(shape))) / len(codes))
    return float(np.abs(shares[0] - shares[1]).sum() / 2)


def independent(codes: npt.NDArray[np.int16 | np.int32], seed: int) -> npt.NDArray[np.int16 | np.int32]:
    """The trivial baseline: every column drawn on its own, without any noise."""
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.permutation(codes[:, column]) for column in range(codes.shape[1])])
