"""A table of few rows, three ways to predict its target at one epsilon: the AUROC on its test rows.

    python -m benchmarks.tables.small_tables [--epsilon 1 3 10] [--seeds 0 1 2]

The table is scikit-learn's breast cancer: 398 rows train, 171 test, and its domain is drafted. The ways are a private model (`fit_classifier`),
a logistic regression on 5,000 rows drawn from a generator, and the linear predictor of that generator's counts. Seeds split the rows; the noise is
fresh in every run, so figures differ between runs.
"""

import argparse
import tempfile
import warnings
from pathlib import Path
from typing import Any, Final

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.results_file import merge, rounded
from understudy import Synthesizer
from understudy.errors import HiddenByNoise
from understudy.local import fit_classifier

NAME: Final = "small_tables"
DELTA: Final = 1e-6
DRAWN: Final = 5000


def score(epsilon: float, seed: int) -> dict[str, float]:
    """The AUROC of the three ways, and of a logistic regression on the private rows."""
    train, test = train_test_split(load_breast_cancer(as_frame=True).frame, test_size=0.3, random_state=seed)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", HiddenByNoise)
        named: dict[str, Any] = {"dataset": "cancer", "ledgers": Path(folder)}
        made = Synthesizer(epsilon, delta=DELTA, cap=(3 * epsilon, 1e-4), progress=False, **named)
        made.draft(train)
        drawn = made.accept_draft().fit(train).sample(DRAWN)
        model = fit_classifier(train, made.domain_, (epsilon, DELTA), **named)
    return {
        "model": _auroc(test, model.predict_proba(test)),
        "rows": _auroc(test, _regression(drawn, test)),
        "counts": _auroc(test, made.predictor().predict_proba(test)),
        "real": _auroc(test, _regression(train, test)),
    }


def _regression(train: Any, test: Any) -> Any:  # noqa: ANN401 - frames of pandas have no types
    fitted = make_pipeline(StandardScaler(), LogisticRegression(max_iter=3000))
    return fitted.fit(train.drop(columns="target"), train["target"]).predict_proba(
        test.drop(columns="target")
    )


def _auroc(test: Any, shares: Any) -> float:  # noqa: ANN401
    return float(roc_auc_score(test["target"], np.asarray(shares)[:, 1]))


def main() -> None:
    """Score and record."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tables.small_tables", description=__doc__)
    parser.add_argument("--epsilon", nargs="+", type=float, default=[1.0, 3.0, 10.0])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    chosen = parser.parse_args()
    for epsilon in chosen.epsilon:
        for seed in chosen.seeds:
            entry = {"table": "cancer", "epsilon": epsilon, "seed": seed} | rounded(score(epsilon, seed))
            key = f"cancer epsilon {epsilon:g} seed {seed}"
            merge(NAME, kind="cells", key=key, entry=entry)
            print(key, entry, flush=True)


if __name__ == "__main__":
    main()
