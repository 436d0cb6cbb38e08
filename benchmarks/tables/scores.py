"""Scores of synthetic codes: distances of counts to the training rows, and classifiers tested on real rows."""

import itertools
import warnings
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from benchmarks.datasets import Codes
from benchmarks.tables.sources import Split
from core.plan.domain.codec import decode, encode
from core.plan.domain.columns.kinds import LabelColumn

TRIPLES: Final = 200
MOST_ROWS: Final = 40_000
"""Rows that train a classifier at most."""
_MOST_CATEGORIES: Final = 60
_MISSING: Final = -1.0
Floats = npt.NDArray[np.float64]


def variation(made: Codes, real: Codes, cardinalities: Sequence[int], columns: Sequence[int]) -> float:
    """Total variation of the counts over some columns, between 0 and 1."""
    shape = [cardinalities[column] for column in columns]
    shares = []
    for codes in (made, real):
        flat = np.ravel_multi_index(tuple(codes[:, column].astype(np.int64) for column in columns), shape)
        shares.append(np.bincount(flat, minlength=int(np.prod(shape))) / len(codes))
    return float(np.abs(shares[0] - shares[1]).sum() / 2)


def distances(made: Codes, real: Codes, cardinalities: Sequence[int], target: int) -> dict[str, float]:
    """Mean total variations over all columns, all pairs, 200 triples and the pairs with the target.

    Returns:
        `one_way`, `two_way`, `three_way`, `target_pairs`, and `k_marginal`: 1000 (1 - `three_way`).
    """
    columns = range(len(cardinalities))
    triples = list(itertools.combinations(columns, 3))
    chosen = np.random.default_rng(0).permutation(len(triples))[:TRIPLES]
    asked: dict[str, list[tuple[int, ...]]] = {
        "one_way": [(column,) for column in columns],
        "two_way": list(itertools.combinations(columns, 2)),
        "three_way": [triples[number] for number in chosen],
        "target_pairs": [(column, target) for column in columns if column != target],
    }
    means = {
        name: float(np.mean([variation(made, real, cardinalities, clique) for clique in cliques]))
        for name, cliques in asked.items()
    }
    return means | {"k_marginal": 1000 * (1 - means["three_way"])}


def train_and_test(table: Split, made: Codes, seed: int) -> dict[str, float]:
    """Train boosted trees and logistic regression on decoded synthetic rows, test them on real rows.

    A class of which there is one synthetic row is left out: the trees set rows of every class apart to stop early.

    Returns:
        `auroc_*` (for several classes the mean over those of the test rows, one against the rest) and
        `balanced_accuracy_*`.
    """
    rng = np.random.default_rng(seed)
    kept = rng.permutation(len(made))[:MOST_ROWS]
    inputs, answers = features(table, decode(table.domain, made, np.random.default_rng(seed)), made)
    inputs, answers = inputs[kept], answers[kept]
    common = np.bincount(answers)[answers] > 1
    inputs, answers = inputs[common], answers[common]
    test_inputs, truth = features(table, table.test, encode(table.domain, table.test))
    scores: dict[str, float] = {}
    for name, model in _models(table).items():
        distribution = np.zeros((len(truth), int(max(answers.max(initial=0), truth.max())) + 1))
        if len(np.unique(answers)) > 1:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # too few steps; a class without rows
                model.fit(inputs, answers)
            distribution[:, model.classes_] = model.predict_proba(test_inputs)
        elif len(answers):
            distribution[:, answers[0]] = 1
        scores[f"auroc_{name}"] = auroc(distribution, truth)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scores[f"balanced_accuracy_{name}"] = float(
                balanced_accuracy_score(truth, distribution.argmax(axis=1))
            )
    return scores


def auroc(distribution: Floats, truth: npt.NDArray[np.int64]) -> float:
    """Area under the ROC curve; for more than two classes the mean over those that occur, one against the rest.

    Args:
        distribution: (rows, classes) probabilities.
        truth: (rows,) classes.
    """
    classes = np.unique(truth)
    if len(classes) == 2:
        return float(roc_auc_score(truth == classes[1], distribution[:, classes[1]]))
    return float(np.mean([roc_auc_score(truth == one, distribution[:, one]) for one in classes]))


def features(table: Split, rows: pa.RecordBatch, codes: Codes) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Numbers and times as they are (missing is -1), labels as their codes, without the target; and the target's codes."""
    columns = []
    for index, column in enumerate(table.domain.modelled):
        if isinstance(column, LabelColumn):
            columns.append(codes[:, index].astype(np.float64))
        else:
            values = rows.column(index)
            if pa.types.is_temporal(values.type):
                values = values.cast(pa.int32() if pa.types.is_date32(values.type) else pa.int64())
            numbers = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
            columns.append(np.nan_to_num(numbers, nan=_MISSING))
    target = codes[:, table.target].astype(np.int64)
    del columns[table.target]
    return np.column_stack(columns), target


def _models(table: Split) -> dict[str, Any]:
    """The referee's two classifiers, both on standardised numbers and one-hot labels."""
    kept = [column for index, column in enumerate(table.domain.modelled) if index != table.target]
    labels = [index for index, column in enumerate(kept) if isinstance(column, LabelColumn)]
    numbers = [index for index in range(len(kept)) if index not in labels]
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False, max_categories=_MOST_CATEGORIES)
    encoder = ColumnTransformer([("numbers", StandardScaler(), numbers), ("labels", one_hot, labels)])
    return {
        "trees": make_pipeline(encoder, HistGradientBoostingClassifier(max_iter=150, random_state=0)),
        "logistic": make_pipeline(encoder, LogisticRegression(max_iter=500, C=0.3)),
    }
