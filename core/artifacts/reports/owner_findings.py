"""The findings of an owner report in sentences. NOT differentially private."""

import math
from collections.abc import Iterator
from statistics import fmean
from typing import Final

from core.artifacts.reports.learning import Learning
from core.artifacts.reports.owner_contents import ColumnCompared, OwnerReportContents
from core.artifacts.reports.owner_summary import OwnerSummary
from core.artifacts.reports.page import percent

NO_LEAK: Final = 0.03
"""Differences of attacks from their reference up to this share are put down to chance."""
STANDS_OUT: Final = 3.0
"""A column or the farthest pair is worth a look if its distance is this many times the distance by chance."""
UNLISTED: Final = 0.02
"""A share of rows with values that the release does not list is worth a look from here on."""
_LEAST: Final = 0.01
_LEAST_OF_A_PAIR: Final = 0.1


def summarise(contents: OwnerReportContents) -> OwnerSummary:
    """The figures in sentences, and what stands out among them."""
    return OwnerSummary(sentences=tuple(_sentences(contents)), look_at=tuple(_look_at(contents)))


def _sentences(contents: OwnerReportContents) -> Iterator[str]:
    columns = sorted(contents.columns, key=lambda each: each.variation + each.unlisted)
    nearest, farthest = columns[0], columns[-1]
    mean = fmean(each.variation for each in columns)
    by_chance = fmean(each.by_chance for each in columns)
    yield (
        f"Single columns are {percent(mean)} away from the real rows on average; chance alone would make {percent(by_chance)}."
    )
    if len(columns) > 1:
        yield (
            f"Nearest is “{nearest.column.name}” ({percent(nearest.variation)}), farthest “{farthest.column.name}” "
            f"({percent(farthest.variation)}, by chance {percent(farthest.by_chance)}{_unlisted(farthest)})."
        )
    pair = contents.farthest
    if pair is not None:
        yield (
            f"Pairs of columns are {percent(pair.mean)} away on average; farthest are “{pair.names[0]}” and “{pair.names[1]}” "
            f"({percent(pair.variation)})."
        )
    learning = contents.learning
    if learning is not None:
        target = contents.columns[contents.target].column.name
        synthetic, real = learning.from_synthetic[0], learning.from_real[0]
        yield (
            f"A classifier that learnt from synthetic rows is right about “{target}” for {percent(synthetic.accuracy)} of real rows; "
            f"from real rows {percent(real.accuracy)}, and {percent(learning.majority)} by always giving the most frequent answer."
        )
    if contents.target_note is not None:
        yield contents.target_note


def _look_at(contents: OwnerReportContents) -> Iterator[str]:
    lost = sorted(
        (each for each in contents.columns if each.unlisted > UNLISTED), key=lambda each: -each.unlisted
    )
    if lost:
        worst = lost[:3]
        named = ", ".join(
            f"“{each.column.name}” ({percent(each.unlisted)} of the real rows)" for each in worst
        )
        more = f" and {len(lost) - len(worst)} more columns" if len(lost) > len(worst) else ""
        yield (
            f"The release does not list all values of {named}{more}: synthetic rows have one word for them, and the distances "
            "count them as equal."
        )
    far = [each for each in contents.columns if each.variation > max(STANDS_OUT * each.by_chance, _LEAST)]
    if far:
        worst = sorted(far, key=lambda each: -each.variation / max(each.by_chance, 1e-9))[:3]
        named = ", ".join(f"“{each.column.name}”" for each in worst)
        more = f" and {len(far) - len(worst)} more" if len(far) > len(worst) else ""
        yield f"Look first at {named}{more}: over {STANDS_OUT:.0f} times as far from the real rows as by chance."
    pair = contents.farthest
    if pair is not None and pair.variation > max(STANDS_OUT * pair.by_chance, _LEAST_OF_A_PAIR):
        yield (
            f"“{pair.names[0]}” and “{pair.names[1]}” together are over {STANDS_OUT:.0f} times as far from the real rows as by "
            "chance: if one tells the other, drop one or declare a rule."
        )
    learning = contents.learning
    if learning is not None and learning.from_synthetic[0].accuracy <= learning.majority:
        yield (
            "What was learnt from synthetic rows is no better than the most frequent answer: the target's dependence is lost."
            if learning.from_real[0].accuracy - learning.majority > _by_chance(learning)
            else "Even real rows teach no more than the most frequent answer: the classifiers do not tell how good synthetic rows are."
        )
    attacks = contents.attacks
    if attacks is None:
        return
    if attacks.closeness.nearer > 0.5 + NO_LEAK:
        yield "Synthetic rows are nearer to the records than other people's records are: check for memorised records."
    if attacks.copies.synthetic > attacks.copies.others + NO_LEAK:
        yield "More synthetic rows than records of other people equal a record: check for memorised records."


def _unlisted(column: ColumnCompared) -> str:
    return (
        f", and {percent(column.unlisted)} of its values are not listed" if column.unlisted > UNLISTED else ""
    )


def _by_chance(learning: Learning) -> float:
    """How far an accuracy is from that of the most frequent answer by chance: two standard errors on the rows that test."""
    return 2.0 * math.sqrt(learning.majority * (1.0 - learning.majority) / learning.tested_rows)
