"""Train on synthetic, test on real (TSTR), compared with train on real, test on real (TRTR).

The target becomes a classification task with a few classes: for a category its most frequent values and the
rest; for a number whether it is above the real median. Models, number of training rows and real test rows are
the same, so only the training rows differ.
"""

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from core.artifacts.reports.columns import ReportColumn
from core.artifacts.reports.halves import Halves
from core.artifacts.reports.shares import shares
from core.plan.domain.codec import Codes

MOST_ANSWERS: Final = 10
"""Maximum number of classes; further values are merged into the rest."""
_MOST_STEPS: Final = 200
_TREES: Final = 60
_MOST_CATEGORIES: Final = 255
"""Largest cardinality that the trees accept as a categorical column."""
_PAIR: Final = 2
REST: Final = "any other"
AUROC, BALANCED = "AUROC", "balanced accuracy"
Features = NDArray[np.float64]
Answers = NDArray[np.int64]
Asking = Callable[[NDArray[np.integer]], Answers]


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """Scores of one model on the real test rows.

    Attributes:
        balanced_accuracy: mean recall over the classes.
        auroc: area under the ROC curve with two classes, else None.
    """

    model: str
    accuracy: float
    balanced_accuracy: float
    auroc: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Learning:
    """Scores of models trained on synthetic and on real rows.

    Attributes:
        trained_rows: training rows of each model.
        tested_rows: real test rows, of units that no model was trained on.
        majority: accuracy of always predicting the most frequent class of the real training rows.
        tested_answers: (known classes,) real test rows of every class that they have.
        from_synthetic: models trained on synthetic rows.
        from_real: the same models trained on real rows.
    """

    question: str
    answers: tuple[str, ...]
    trained_rows: int
    tested_rows: int
    majority: float
    tested_answers: tuple[int, ...]
    from_synthetic: tuple[Score, ...]
    from_real: tuple[Score, ...]

    @property
    def baseline(self) -> float:
        """The score `best` of a constant answer, however frequent its class is."""
        return 1.0 / len(self.tested_answers)

    @property
    def by_chance(self) -> float:
        """Two standard errors on the test rows: the distance from `baseline` that a model without skill reaches by chance."""
        counts = self.tested_answers
        if self.measure == AUROC:
            return 2.0 * math.sqrt((sum(counts) + 1) / (12 * math.prod(counts)))  # Mann and Whitney 1947
        part = self.baseline
        return 2.0 * part * math.sqrt(sum(part * (1 - part) / count for count in counts))

    @property
    def measure(self) -> str:
        """The name of `best`: AUROC with two classes, else balanced accuracy. A rare class counts in both as much as a frequent one."""
        scores = (*self.from_synthetic, *self.from_real)
        return AUROC if all(each.auroc is not None for each in scores) else BALANCED

    def best(self, scores: Sequence[Score]) -> float:
        """The best score of some models by `measure`."""
        if self.measure == AUROC:
            return max(each.auroc for each in scores if each.auroc is not None)
        return max(each.balanced_accuracy for each in scores)


def learn(
    real: Halves, synthetic: Codes, columns: tuple[ReportColumn, ...], target: int, *, rows: int
) -> Learning | None:
    """Train and test.

    Args:
        real: the real halves: one for training, the other for testing.
        target: index of the column to predict.
        rows: maximum number of training rows, and of test rows.

    Returns:
        The scores; None if there is nothing to learn: a single column, or a single class among the rows of a kind.
    """
    question, answers, ask = _question(columns[target], real.attacked[:, target])
    trained = min(rows, len(real.attacked), len(synthetic))
    tests = real.others[:rows]
    asked = [ask(codes[:, target]) for codes in (real.attacked[:trained], synthetic[:trained], tests)]
    if len(columns) < _PAIR or any(len(np.unique(each)) < _PAIR for each in asked):
        return None
    majority = float((asked[2] == np.bincount(asked[0]).argmax()).mean())
    scored = [
        tuple(_scores(codes, answers_of_rows, tests, asked[2], columns, target))
        for codes, answers_of_rows in ((synthetic[:trained], asked[1]), (real.attacked[:trained], asked[0]))
    ]
    return Learning(
        question=question,
        answers=answers,
        trained_rows=trained,
        tested_rows=len(tests),
        majority=majority,
        tested_answers=answers_tested(asked[2]),
        from_synthetic=scored[0],
        from_real=scored[1],
    )


def _question(column: ReportColumn, codes: NDArray[np.integer]) -> tuple[str, tuple[str, ...], Asking]:
    distribution = shares(codes, column.codes)
    if column.codes <= MOST_ANSWERS:
        return f"the value of “{column.name}”", column.words, lambda codes: codes.astype(np.int64)
    if column.is_ordered:
        placed = np.isfinite(column.places)
        running = np.cumsum(np.where(placed, distribution, 0.0))
        middle = int(np.searchsorted(running, running[-1] / 2))
        above = placed & (np.arange(column.codes) > middle)
        words = ("no", "yes")
        return (
            f"whether “{column.name}” is above “{column.words[middle]}”, the median of the real values",
            words,
            lambda codes: above[codes].astype(np.int64),
        )
    frequent = np.argsort(-distribution, kind="stable")[: MOST_ANSWERS - 1]
    answer_of = np.full(column.codes, len(frequent))
    answer_of[frequent] = np.arange(len(frequent))
    words = (*(column.words[code] for code in frequent), REST)
    return f"the value of “{column.name}”", words, lambda codes: answer_of[codes].astype(np.int64)


def _scores(
    trained: Codes, answers: Answers, tests: Codes, truth: Answers, columns: tuple[ReportColumn, ...], target: int
) -> list[Score]:  # fmt: skip
    """Train on some rows and score on the test rows."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    others = [index for index in range(len(columns)) if index != target]
    unordered = [
        place
        for place, index in enumerate(others)
        if not columns[index].is_ordered and columns[index].codes <= _MOST_CATEGORIES
    ]
    trees = HistGradientBoostingClassifier(
        max_iter=_TREES, early_stopping=False, categorical_features=unordered, random_state=0
    )
    line = LogisticRegression(max_iter=_MOST_STEPS)
    found = []
    # One thread: sums in a fixed order, and no busy-waiting threads on a shared machine.
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore", ConvergenceWarning)
        for name, model, prepare in (
            ("boosted trees", trees, lambda codes: codes[:, others].astype(np.float64)),
            ("logistic regression", line, lambda codes: _one_hot(codes, columns, others)),
        ):
            model.fit(prepare(trained), answers)
            found.append(score(name, model, prepare(tests), truth))
    return found


def answers_tested(truth: Answers) -> tuple[int, ...]:
    """The number of test rows of every class that they have."""
    return tuple(int(count) for count in np.unique(truth, return_counts=True)[1])


def score(name: str, model: Any, tests: Features, truth: Answers) -> Score:  # noqa: ANN401 - scikit-learn's models
    """Test a trained classifier against the true answers."""
    from sklearn.metrics import roc_auc_score

    given = model.predict(tests)
    known = np.unique(truth)
    auroc = None
    if len(known) == _PAIR and set(known) == set(model.classes_):
        auroc = float(roc_auc_score(truth, model.predict_proba(tests)[:, 1]))
    return Score(
        model=name,
        accuracy=float((given == truth).mean()),
        balanced_accuracy=float(np.mean([(given[truth == each] == each).mean() for each in known])),
        auroc=auroc,
    )


def _one_hot(codes: Codes, columns: tuple[ReportColumn, ...], chosen: list[int]) -> Features:
    """Positions as they are, and an indicator for every code without a position."""
    blocks = []
    for index in chosen:
        column = columns[index]
        if column.is_ordered:
            blocks.append(np.nan_to_num(column.places, nan=0.5)[codes[:, index]][:, None])
        without = (
            np.flatnonzero(~np.isfinite(column.places)) if column.is_ordered else np.arange(column.codes)
        )
        blocks.append((codes[:, index][:, None] == without[None, :]).astype(np.float64))
    return np.hstack(blocks)
