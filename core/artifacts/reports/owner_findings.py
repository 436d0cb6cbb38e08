"""The findings of an owner report in sentences. NOT differentially private."""

from collections.abc import Iterator
from statistics import fmean
from typing import Final

from core.artifacts.reports.learning_findings import lost_sentence, score_sentence
from core.artifacts.reports.owner_contents import UNLISTED, ColumnCompared, OwnerReportContents
from core.artifacts.reports.owner_summary import OwnerSummary
from core.artifacts.reports.page import percent

NO_LEAK: Final = 0.03
"""Differences of attacks from their reference up to this share are put down to chance."""
STANDS_OUT: Final = 3.0
"""A column or the farthest pair is named if its distance is this many times the distance by chance."""
_LEAST: Final = 0.01
_LEAST_OF_A_PAIR: Final = 0.1


def summarise(contents: OwnerReportContents) -> OwnerSummary:
    """The figures in sentences, and what stands out among them."""
    return OwnerSummary(sentences=tuple(_sentences(contents)), look_at=tuple(_look_at(contents)))


def _sentences(contents: OwnerReportContents) -> Iterator[str]:
    columns = sorted(contents.singles, key=lambda each: each.variation)
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
        yield score_sentence(learning, "rows", "answer")
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
            "count each of them as an error."
        )
    far = [each for each in contents.singles if _listed(each) > max(STANDS_OUT * each.by_chance, _LEAST)]
    if far:
        worst = sorted(far, key=lambda each: -_listed(each) / max(each.by_chance, 1e-9))[:3]
        named = ", ".join(f"“{each.column.name}”" for each in worst)
        more = f" and {len(far) - len(worst)} more" if len(far) > len(worst) else ""
        yield f"Look first at {named}{more}: over {STANDS_OUT:.0f} times as far from the real rows as by chance."
    pair = contents.farthest_listed
    if pair is not None and pair.variation > max(STANDS_OUT * pair.by_chance, _LEAST_OF_A_PAIR):
        yield (
            f"“{pair.names[0]}” and “{pair.names[1]}” together are over {STANDS_OUT:.0f} times as far from the real rows as by "
            "chance: if one determines the other, drop one or declare a rule."
        )
    if contents.learning is not None:
        lost_of_target = lost_sentence(contents.learning, "rows", "answer", "the target's dependence")
        if lost_of_target is not None:
            yield lost_of_target
    attacks = contents.attacks
    if attacks is None:
        return
    if attacks.closeness.nearer > 0.5 + NO_LEAK:
        yield "Synthetic rows are nearer to the records than other people's records are: check for memorised records."
    if attacks.copies.synthetic > attacks.copies.others + NO_LEAK:
        yield "More synthetic rows than records of other people equal a record: check for memorised records."


def _unlisted(column: ColumnCompared) -> str:
    return (
        f", and {percent(column.unlisted)} of the real rows have a value that the release does not list"
        if column.unlisted > UNLISTED
        else ""
    )


def _listed(column: ColumnCompared) -> float:
    """The part of a column's distance that is not the real rows whose value the release does not list."""
    return column.variation - column.unlisted
