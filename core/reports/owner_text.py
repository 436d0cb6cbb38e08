"""What an owner report says in words: what each figure is, what it shows, and what it does not.

Constant sentences are HTML; whatever comes from a table is escaped.
"""

from collections.abc import Iterator
from html import escape
from typing import Final

from core.reports.attacks import NEIGHBOURS, Closeness, Copies, Inference
from core.reports.learning import Learning
from core.reports.owner_contents import REAL_ROWS, OwnerReportContents
from core.reports.owner_plots import percent

PURPOSE: Final = (
    "This report compares synthetic rows with the <strong>real rows</strong>, for the owner of the real rows and nobody else. "
    "It cost no budget because it is sealed: the service shows it to the owner alone."
)
WARNING: Final = (
    "<p><strong>Whatever you do because of this report is outside the promise of differential privacy.</strong> To publish a "
    "figure from it, to pass it on, or to choose among several releases by it and to publish the choice, tells something about "
    "the real rows that no budget was charged for. To tell others how good a release is, order a <em>charged</em> report.</p>"
)
FAILURE: Final = (
    "<p>What follows is the account of the failure, of a long one its end, for you alone: it may quote values of rows. To others this file looks "
    "like any report, from its size to the audit log. Delete it and order the report again once the cause is gone.</p>"
)
COLUMNS: Final = (
    "<p>The shares of every value. The <em>distance</em> is the total variation: the part of the rows that would have to change "
    "their value for the shares to be alike; <em>by chance</em> is the distance that two samples of one law and of these sizes "
    "would show.</p>"
)
EVERY_COLUMN: Final = (
    "<p>The distance of the column, the mean distance of its pairs with every other column, and how often an attacker who knows "
    "all other values of a record guesses this one right (see “Privacy attacks”): <em>lead</em> is synthetic minus marginal, "
    "<em>excess</em> synthetic minus other people, in points of a hundred.</p>"
)
PAIRS: Final = (
    "<p>The total variation of the shares of every pair of columns, in percent; on the diagonal of single columns. Pairs of "
    "columns with many values differ by chance alone: what counts is which cells stand out.</p>"
)
ASSOCIATION: Final = (
    "<p>Cramér’s V of every two columns, corrected for the number of rows: 0 where they are independent, 1 where one tells the "
    "other. Numbers count in their declared bins, so that they and categories stand on one scale.</p>"
)
LEARNING_LIMITS: Final = (
    '<p class="fine">The test rows are of units that the models have not seen; the generator has, because it was trained on all '
    "rows, which flatters the synthetic rows a little. A task that you care about may go better or worse than this one.</p>"
)
ATTACKS: Final = (
    "<p>The real records are split in two halves by privacy unit. One half is attacked, with synthetic rows and, to compare, with "
    "the records of the other half: of other people. A generator that has learnt the law, and nothing about single records, does "
    "about as well as those; so what shows a leak is an <em>excess</em> over them, not the figure itself.</p>"
)
CLOSENESS_LIMITS: Final = (
    '<p class="fine">It would show a generator that repeats what it was trained on. It does not show that nothing leaks: a '
    "generator can be far from every record and still tell whether somebody was among them.</p>"
)
COPIES_LIMITS: Final = (
    '<p class="fine">A copy is no leak by itself: of coarse columns many people share all values, and then copies are due. A row '
    "that is as the declared bins see it equal may differ in the exact value of a number.</p>"
)
INFERENCE_LIMITS: Final = (
    '<p class="fine">A lead over the most frequent value is what the data teaches about people like this one, and would be there '
    "had this person not taken part; differential privacy does not promise against it. What other people’s records give as well "
    "is no leak about anybody. An excess over them would be. One attack is tried here; others may do better, which is why the "
    "guarantee and not this report is the promise.</p>"
)
_NO_LEAK: Final = 0.03


def signed(share: float) -> str:
    """A difference of shares in points of a hundred, with its sign."""
    return f"{100 * share:+.1f}".replace("-", "\u2212")


def in_short(contents: OwnerReportContents) -> Iterator[tuple[str, str, str]]:
    """The figures of the first screen: value, what it is, what to hold it against."""
    count = len(contents.columns)
    chance = sum(compared.by_chance for compared in contents.columns) / count
    yield (
        percent(sum(compared.variation for compared in contents.columns) / count),
        "mean distance of single columns",
        f"{percent(chance)} by chance; 0 is best",
    )
    pairs = [compared.pairs for compared in contents.columns if compared.pairs is not None]
    if pairs:
        yield percent(sum(pairs) / len(pairs)), "mean distance of pairs of columns", "0 is best"
    learnt = contents.learning
    if learnt is not None:
        made, real = learnt.from_synthetic[0], learnt.from_real[0]
        yield (
            percent(made.accuracy),
            f"right answers of {made.model} learnt from synthetic rows",
            f"{percent(real.accuracy)} learnt from real rows, {percent(learnt.majority)} always the most frequent answer",
        )
    found = contents.attacks
    if found is not None:
        yield (
            percent(found.closeness.nearer),
            "of records have a synthetic row nearer than any record of other people",
            "about 50 % where nothing was learnt by heart; more would be a warning",
        )
        yield (
            percent(found.copies.synthetic),
            "of synthetic rows equal a record in every column",
            f"{percent(found.copies.others)} of the records of other people do",
        )
        told = found.inferences[contents.target]
        yield (
            f"{signed(told.excess)} points",
            f"excess in guessing “{contents.columns[contents.target].column.name}”",
            "above 0: synthetic rows tell more than other people’s records do",
        )


def learning(found: Learning) -> str:
    """What was learnt, from how many rows."""
    return (
        f"<p>The same models are trained on {found.trained_rows:,} synthetic and on {found.trained_rows:,} real rows, and asked "
        f"on {found.tested_rows:,} real rows of other units for {escape(found.question)}. The nearer the scores, the more of "
        "what the columns say about each other has been kept.</p>"
    )


def closeness(found: Closeness) -> str:
    """How near records are to synthetic rows."""
    verdict = (
        "Synthetic rows are nearer than strangers’ records are: look at what was learnt by heart."
        if found.nearer > 0.5 + _NO_LEAK
        else "Synthetic rows are no nearer to the records than records of other people are."
    )
    return (
        f"<p>For {found.records:,} records the closest of {found.rows:,} synthetic rows and the closest of {found.rows:,} records "
        "of other people were looked for. Distance 0 is an equal row, 1 a row that differs as much as it can in every column. "
        f"For <strong>{percent(found.nearer)}</strong> of the records the synthetic row is the nearer one (ties count half; 50 % "
        f"would be even). {verdict}</p>"
    )


def copies(found: Copies) -> str:
    """How many synthetic rows are copies."""
    verdict = (
        "more than chance and law explain: look at what was learnt by heart"
        if found.synthetic > found.others + _NO_LEAK
        else "not more than the law explains"
    )
    return (
        f"<p>Of {found.rows:,} rows of each kind, those that equal one of the attacked records in every column as it is coded: "
        f"<strong>{verdict}</strong>. Rows whose columns are drawn independently of each other say how many there would be were "
        "nothing kept but single columns.</p>"
    )


def inference(found: Inference, name: str) -> str:
    """How well the target is guessed."""
    return (
        f"<p>An attacker knows all values of a record but “{escape(name)}”, and lets the {NEIGHBOURS} nearest rows vote. With "
        f"synthetic rows the guess is right for <strong>{percent(found.synthetic)}</strong>, with as many records of other people "
        f"for {percent(found.others)}, and for {percent(found.marginal)} by always saying the most frequent value: a lead of "
        f"{signed(found.lead)} points, an excess of {signed(found.excess)} points. The table of columns has every other "
        "column.</p>"
    )


def limits(contents: OwnerReportContents, *, seed: int) -> str:
    """What the report is made of, and what it cannot say."""
    sampled = (
        f"<li>Of the real rows a random {REAL_ROWS:,} were looked at.</li>"
        if contents.real_rows == REAL_ROWS
        else ""
    )
    return (
        "<ul><li>It is no proof of privacy. The proof is the guarantee on the certificate, which holds against every attack; the "
        "attacks here are few, and their figures have chance in them of a few points of a hundred.</li>"
        "<li>It is not for comparing many releases in order to publish the best: that choice would tell of the real rows. A "
        "<em>selection</em> among candidates pays for such a choice.</li>"
        f"<li>It speaks of {contents.synthetic_rows:,} synthetic rows drawn with the fixed public seed {seed}, and of "
        f"{contents.real_rows:,} real rows; made again, it says the same.</li>{sampled}"
        "<li>Values are compared in the declared bins and categories, as the generator sees them; what happens inside a bin is "
        "not looked at.</li></ul>"
    )
