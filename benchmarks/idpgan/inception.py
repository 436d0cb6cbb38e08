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


class Judge:
    """The classifier of one table; training it takes longer than scoring rows by it.

    Args:
        table: real rows.
    """

    def __init__(self, table: Table) -> None:
        inputs, target = features(table.domain, table.test)
        self._domain = table.domain
        self._ceiling = ceiling(table.domain, table.test)
        self._trees = models(table.domain)["trees"].fit(inputs[::2], target[::2])

    def scores(self, made: pa.RecordBatch) -> dict[str, float]:
        """Score rows of the table's domain, beside the most that any rows with the real classes could score.

        Returns:
            `inception_score` and `inception_ceiling`.
        """
        answers = self._trees.predict_proba(features(self._domain, made)[0])
        return {"inception_score": inception_score(answers), "inception_ceiling": self._ceiling}


def ceiling(domain: TableDomain, rows: pa.RecordBatch) -> float:
    """`exp(H)` of the target's shares in these rows: every row answered with certainty."""
    shares = np.bincount(features(domain, rows)[1]) / rows.num_rows
    shares = shares[shares > 0]
    return float(np.exp(-(shares * np.log(shares)).sum()))
