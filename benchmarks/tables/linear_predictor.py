"""The linear predictor of released counts, on test rows: AUROC beside a logistic regression on the private rows.

    python -m benchmarks.tables.linear_predictor TABLE [TABLE ...] [--sizes 2000 full] [--epsilon 0.2 1 4] [--seeds 1]

Both read the same groups of codes, so the difference is noise and the second-order loss. Keys derive from seeds, so the result
of a benchmark is NOT PRIVATE.
"""

import argparse
import warnings

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from benchmarks.results_file import merge, rounded
from benchmarks.tables.sources import SOURCES, Split, split
from benchmarks.tables.task import key_of
from core.artifacts.asking.estimates import Estimates
from core.artifacts.asking.predictor import LinearPredictor
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.plan.domain.codec import encode
from core.plan.plan import make_plan
from core.plan.spec import SynthesisSpec
from models.encoding import PrivateTable, codes_alone
from models.randomness import KeyedStreams
from models.tables.measurement.counts import released_counts
from models.tables.measurement.measure import measure

NAME = "linear_predictor"
DELTA = 1e-6


def score(rows: Split, epsilon: float, seed: int) -> dict[str, float]:
    """The AUROC on test rows of the predictor, and of a logistic regression on the private rows in the same groups."""
    domain, codes = rows.domain, rows.train_codes
    plan = make_plan(
        spec=SynthesisSpec(synthesizer="idpgan", options={"critic": False}),
        guarantee=PrivacyGuarantee(epsilon=epsilon, delta=DELTA),
        declared_size=len(codes),
        domain=domain,
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
    )
    private = PrivateTable(
        codes=codes.astype(np.int16),
        unit_of_record=np.arange(len(codes)),
        cardinalities=domain.cardinalities,
        target_index=rows.target,
        ordered=domain.ordered,
        alone=codes_alone(domain),
    )
    counts = released_counts(measure(private, plan, KeyedStreams(key_of(seed))), private, plan)
    assert counts is not None, "small tables keep their counts"
    predictor = LinearPredictor.of(domain, Estimates(counts))
    test = encode(domain, rows.test)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        real = LogisticRegression(max_iter=300).fit(_one_hot(predictor, codes), codes[:, rows.target])
    on_real = np.zeros((len(test), domain.cardinalities[rows.target]))
    on_real[:, real.classes_] = real.predict_proba(_one_hot(predictor, test))
    truth = test[:, rows.target]
    return {"auroc": _auroc(truth, predictor.probabilities(test)), "auroc_real": _auroc(truth, on_real)}


def _one_hot(predictor: LinearPredictor, codes: npt.NDArray[np.integer]) -> npt.NDArray[np.float64]:
    parts = [
        np.eye(len(weights))[predictor.groups[column][codes[:, column]]]
        for column, weights in predictor.weights.items()
    ]
    return np.concatenate(parts, axis=1)


def _auroc(truth: npt.NDArray[np.integer], shares: npt.NDArray[np.float64]) -> float:
    """AUROC of two classes, or the mean over classes that occur, each against the others."""
    if shares.shape[1] == 2:
        return float(roc_auc_score(truth, shares[:, 1]))
    kinds = [code for code in range(shares.shape[1]) if 0 < (truth == code).sum() < len(truth)]
    return float(np.mean([roc_auc_score(truth == code, shares[:, code]) for code in kinds]))


def main() -> None:
    """Score and record."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tables.linear_predictor", description=__doc__)
    parser.add_argument("tables", nargs="+", choices=sorted(SOURCES))
    parser.add_argument("--sizes", nargs="+", default=["2000", "full"])
    parser.add_argument("--epsilon", nargs="+", type=float, default=[0.2, 1.0, 4.0])
    parser.add_argument("--seeds", nargs="+", type=int, default=[1])
    chosen = parser.parse_args()
    for table in chosen.tables:
        for size in chosen.sizes:
            rows = split(table, size, 0)
            for epsilon in chosen.epsilon:
                for seed in chosen.seeds:
                    facts = {
                        "table": table,
                        "size": size,
                        "rows": len(rows.train_codes),
                        "epsilon": epsilon,
                        "seed": seed,
                    }
                    entry = facts | rounded(score(rows, epsilon, seed))
                    key = f"{table} {size} epsilon {epsilon:g} seed {seed}"
                    merge(NAME, kind="cells", key=key, entry=entry)
                    print(key, entry["auroc"], entry["auroc_real"], flush=True)


if __name__ == "__main__":
    main()
