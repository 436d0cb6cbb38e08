"""The prose of an owner report: what each figure is, what it shows, and what it does not.

Constant sentences are HTML; text from a table is escaped.
"""

from collections.abc import Iterator
from html import escape
from typing import Final

from core.artifacts.reports.attacks import NEIGHBOURS, Closeness, Copies, Inference
from core.artifacts.reports.learning import Learning
from core.artifacts.reports.owner_contents import REAL_ROWS, OwnerReportContents
from core.artifacts.reports.owner_plots import percent

PURPOSE: Final = (
    "This report compares synthetic rows with the <strong>real rows</strong>, and is for the owner of the real rows only. "
    "It cost no budget because it is sealed: the service shows it only to the owner."
)
WARNING: Final = (
    "<p><strong>Whatever you do because of this report is outside the promise of differential"
    " privacy.</strong> Publishing a "
    "figure from it, passing it on, or choosing among several releases by it and publishing the choice"
    " reveals something about "
    "the real rows that no budget was charged for. To tell others how good a release is, order a"
    " <em>utility</em> report.</p>"
)
FAILURE: Final = (
    "<p>Below is the account of the failure, or its end if it is long, for you alone: it may quote values of"
    " rows. To others "
    "this file looks like any report, from its size to the audit log. Delete it and order the report again"
    " once the cause is "
    "gone.</p>"
)
COLUMNS: Final = (
    "<p>The shares of every value. The <em>distance</em> is the total variation: the share of the rows that"
    " would have to change "
    "their value for the shares to be equal; <em>by chance</em> is the expected distance between two samples"
    " of these sizes "
    "from one distribution.</p>"
)
EVERY_COLUMN: Final = (
    "<p>The distance of the column, the mean distance of its pairs with every other column, and how often an attacker who knows "
    "all other values of a record guesses this one right (see “Privacy attacks”): <em>lead</em> is synthetic minus marginal, "
    "<em>excess</em> synthetic minus other people, in percentage points.</p>"
)
PAIRS: Final = (
    "<p>The total variation of the shares of every pair of columns, in percent; the diagonal shows single"
    " columns. Pairs of "
    "columns with many values differ by chance alone: look for cells that stand out.</p>"
)
ASSOCIATION: Final = (
    "<p>Cramér’s V of every two columns, corrected for the number of rows: 0 if they are independent, 1 if"
    " one determines the "
    "other. Numbers are compared in their declared bins, so they and categories share one scale.</p>"
)
LEARNING_LIMITS: Final = (
    '<p class="fine">The test rows are of units that the models have not seen; the generator has, because it was trained on all '
    "rows, which flatters the synthetic rows a little. A task that you care about may go better or worse than this one.</p>"
)
ATTACKS: Final = (
    "<p>The real records are split in two halves by privacy unit. One half is attacked, once with synthetic rows and once, as a "
    "reference, with the records of the other half, which are other people's. A generator that has learnt the distribution, and"
    " nothing about single records, "
    "does about as well as those: a leak shows as an <em>excess</em> over them, not in the figure itself.</p>"
)
CLOSENESS_LIMITS: Final = (
    '<p class="fine">It would show a generator that repeats what it was trained on. It does not show that nothing leaks: a '
    "generator can be far from every record and still reveal whether a person's record was among them.</p>"
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
    """A difference of shares in percentage points, with its sign."""
    return f"{100 * share:+.1f}".replace("-", "\u2212")


def in_short(contents: OwnerReportContents) -> Iterator[tuple[str, str, str]]:
    """The figures of the first screen: value, meaning, reference."""
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
            "about 50 % if nothing was memorised; more would be a warning",
        )
        yield (
            percent(found.copies.synthetic),
            "of synthetic rows equal a record in every column",
            f"{percent(found.copies.others)} of the records of other people do",
        )
        inference = found.inferences[contents.target]
        yield (
            f"{signed(inference.excess)} points",
            f"excess in guessing “{contents.columns[contents.target].column.name}”",
            "above 0: synthetic rows reveal more than other people’s records do",
        )


def learning(found: Learning) -> str:
    """The learning task, and the numbers of rows."""
    return (
        f"<p>The same models are trained on {found.trained_rows:,} synthetic and on {found.trained_rows:,} real rows, and asked "
        f"on {found.tested_rows:,} real rows of other units for {escape(found.question)}. The closer the"
        " scores, the more of "
        "the dependence between columns has been kept.</p>"
    )


def closeness(found: Closeness) -> str:
    """How near records are to synthetic rows."""
    verdict = (
        "Synthetic rows are nearer than other people’s records: check for memorised records."
        if found.nearer > 0.5 + _NO_LEAK
        else "Synthetic rows are no nearer to the records than records of other people are."
    )
    return (
        f"<p>For {found.records:,} records the closest of {found.rows:,} synthetic rows and the closest of {found.rows:,} records "
        "of other people were found. Distance 0 is an equal row, 1 a row that differs as much as possible in"
        " every column. "
        f"For <strong>{percent(found.nearer)}</strong> of the records the synthetic row is the nearer one (ties count half; 50 % "
        f"would be even). {verdict}</p>"
    )


def copies(found: Copies) -> str:
    """How many synthetic rows are copies."""
    verdict = (
        "more than chance and the distribution explain: check for memorised records"
        if found.synthetic > found.others + _NO_LEAK
        else "no more than the distribution explains"
    )
    return (
        f"<p>Of {found.rows:,} rows of each kind, those that equal one of the attacked records in every column as it is coded: "
        f"<strong>{verdict}</strong>. Rows whose columns are drawn independently show how many there would be if "
        "only single columns had been kept.</p>"
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
    """The basis and the limits of the report."""
    sampled = (
        f"<li>A random sample of {REAL_ROWS:,} real rows was compared.</li>"
        if contents.real_rows == REAL_ROWS
        else ""
    )
    return (
        "<ul><li>It is no proof of privacy. The proof is the guarantee on the certificate, which holds against every attack; the "
        "attacks here are few, and chance moves their figures by a few percentage points.</li>"
        "<li>It is not for comparing many releases in order to publish the best: that choice would reveal"
        " something about the real rows. A "
        "<em>selection</em> among candidates pays for such a choice.</li>"
        f"<li>It speaks of {contents.synthetic_rows:,} synthetic rows drawn with the fixed public seed {seed}, and of "
        f"{contents.real_rows:,} real rows; made again, it says the same.</li>{sampled}"
        "<li>Values are compared in the declared bins and categories, as the generator sees them; differences inside a bin "
        "are not measured.</li></ul>"
    )
