"""Inception score of synthetic rows, as the paper gives one for Poker Hand.

The classifier is boosted trees trained on every other test row, which no synthesizer sees. No score can exceed
`exp(H(p))` for the entropy `H` of the classes that are answered (`ceiling`): where half of all hands are "nothing", that is
far below the number of classes.
"""

import numpy as np
import pyarrow as pa

from benchmarks.datasets import Table
from benchmarks.images.scores import inception_score
from benchmarks.scoring import features, models
from core.plan.domain.table import TableDomain


def table_inception(table: Table, made: pa.RecordBatch) -> dict[str, float]:
    """Score synthetic rows, beside the most that any rows with the real classes could score.

    Args:
        table: real rows.
        made: synthetic rows of the same domain.

    Returns:
        `inception_score` and `inception_ceiling`.
    """
    inputs, target = features(table.domain, table.test)
    trees = models(table.domain)["trees"]
    trees.fit(inputs[::2], target[::2])
    answers = trees.predict_proba(features(table.domain, made)[0])
    return {
        "inception_score": inception_score(answers),
        "inception_ceiling": ceiling(table.domain, table.test),
    }


def ceiling(domain: TableDomain, rows: pa.RecordBatch) -> float:
    """`exp(H)` of the target's shares in these rows: every row answered with certainty."""
    shares = np.bincount(features(domain, rows)[1]) / rows.num_rows
    shares = shares[shares > 0]
    return float(np.exp(-(shares * np.log(shares)).sum()))
