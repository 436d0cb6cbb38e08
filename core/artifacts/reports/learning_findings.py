"""Sentences on synthetic rows from the scores of classifiers. NOT differentially private.

Accuracy alone is misleading: where an answer is rare, a classifier that ranks it well hardly ever predicts it. The area under the ROC curve and
the balanced accuracy count a rare answer as much as a frequent one.
"""

from typing import Final

from core.artifacts.reports.learning import AUROC, Learning
from core.artifacts.reports.page import percent

MUCH_LOST: Final = 0.2
"""Largest share of what real rows teach that synthetic rows may lose without a finding."""


def best_scores(learning: Learning) -> tuple[str, str, str]:
    """The best score by the measure from synthetic rows, from real ones, and of always giving one answer, as text."""
    numbers = (
        learning.best(learning.from_synthetic),
        learning.best(learning.from_real),
        learning.baseline,
    )
    synthetic, real, frequent = (
        f"{number:.3f}" if learning.measure == AUROC else percent(number) for number in numbers
    )
    return synthetic, real, frequent


def score_sentence(learning: Learning, records: str, answer: str) -> str:
    """How well the best classifiers separate the answers; `records` are "rows" or "images", `answer` is "answer" or "label"."""
    synthetic, real, frequent = best_scores(learning)
    measure = f"{learning.measure[0].upper()}{learning.measure[1:]}"
    return (
        f"{measure}, which counts a rare {answer} as much as a frequent one, is {synthetic} from synthetic {records}, {real} from real {records} "
        f"and {frequent} by always giving the most frequent {answer}."
    )


def lost_sentence(learning: Learning, records: str, answer: str, lost: str) -> str | None:
    """What is lost, or that the classifiers cannot show it; None where synthetic rows teach about what real ones do.

    Args:
        records: "rows" or "images".
        answer: "answer" or "label".
        lost: what is lost where synthetic rows teach nothing.
    """
    synthetic, real = (
        learning.best(scores) - learning.baseline for scores in (learning.from_synthetic, learning.from_real)
    )
    if synthetic <= learning.by_chance:
        if real <= learning.by_chance:
            return (
                f"Even real {records} teach no more than the most frequent {answer}: the classifiers cannot show how good synthetic "
                f"{records} are."
            )
        return f"What was learnt from synthetic {records} is no better than the most frequent {answer}: {lost} is lost."
    part = 1 - synthetic / max(real, synthetic)
    if part <= MUCH_LOST or real - synthetic <= learning.by_chance:
        return None
    from_synthetic, from_real, _ = best_scores(learning)
    return (
        f"Of what real {records} teach beyond the most frequent {answer}, {percent(part)} is lost: {learning.measure} is {from_synthetic} from "
        f"synthetic {records} and {from_real} from real {records}."
    )
