"""Format a quote for a reader: the training, its price, and the remaining budget."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from understudy.documents import Json, take
from understudy.results.jobs import Quote

SELECTION = "selection"
MODEL = "model"
NEARLY = 0.999
"""The remaining budget is rounded down, and a price in millionths is rounded up."""
FEMTO, FEMTO_PLACES = 10**15, 15
"""Charges of delta are whole multiples of 1e-15."""
NOISE = 0.25
"""Expected share of rows in a wrong cell at which counts become of little use (docs/choosing-epsilon.md)."""
VISIBLE_CLAMPED = 0.02
"""Share of a column's numbers outside learnt bounds at which a quote begins to warn."""
GRAPHICAL = ("aim", "mst")
"""Synthesizers that measure and fit, without training steps."""
NO_EXPECTATION = {
    "images": " for images",
    "no-anchor": ": training with a critic alone counts nothing",
}
"""Reasons for a quote without an expected error of counts, by code; the text follows "not known in advance"."""


def quote_lines(quote: Quote) -> list[str]:
    """Format a quote as a few lines, with both prices for a selection."""
    document = quote.document
    if document.get(MODEL) is not None:
        return [
            *_model(document),
            *_groups(document),
            *room_lines(quote),
            *_ledgers(document.get("ledgers", ())),
        ]
    chosen = document.get(SELECTION) is not None
    return [
        *([*_selection(document), *_groups(document)] if chosen else training_lines(document)),
        *room_lines(quote),
        *_report(document),
    ]


def training_lines(document: Json) -> list[str]:
    """Format the training of a generator: its steps, measurements and cost, without the remaining budget."""
    return [*_training(document), *_groups(document)]


def _model(document: Json) -> list[str]:
    """Describe the training of a private classifier."""
    steps, rate, model = take(document, "steps", "sampling_rate", MODEL)
    options = model["options"]
    lines = [
        f"Quote: {_guarantee(document)}",
        f"  a classifier of {model['target']}: {options['network']} on {options['features']} features",
        f"  {steps} noisy steps at sampling rate {rate:.4g}; noise multiplier {model['noise_multiplier']:.4g}",
    ]
    if model["accuracy_error"] is not None:
        lines.append(
            f"  accuracy measured on {model['held_out_size']} held-out units; its noise: {model['accuracy_error']:.2%}"
        )
    return lines + [f"  CAUTION: {one['detail']} [{one['code']}]" for one in model.get("cautions", ())]


def _groups(document: Json) -> list[str]:
    """The joint loss of several units; no line for services of earlier versions."""
    known = [one for one in document.get("groups", ()) if one["epsilon"] is not None]
    if not known:
        return []
    losses = ", ".join(f"{one['units']} units: epsilon {one['epsilon']:.3g}" for one in known)
    return [f"  for one person who is several units, at most: {losses}"]


def _ledgers(ledgers: Sequence[Json]) -> list[str]:
    """The ledgers of several owners, and whether an order fits in each."""
    return [
        f"  ledger of dataset {one['dataset_id']}: {'fits' if one['fits'] else 'NO (' + str(one['refusal']) + ')'}"
        for one in ledgers
    ]


def _training(document: Json) -> list[str]:
    known = ("steps", "sampling_rate", "noise", "split", "synthesizer")
    steps, rate, noise, split, synthesizer = take(document, *known)
    blocks = ", ".join(f"{block['noise_multiplier']:.4g} for {block['steps']} steps" for block in noise)
    shares = ", ".join(
        f"{part.replace('_', ' ')} {share['share']:.0%}"
        + (f" (asks {share['asks']})" if "asks" in share else "")
        for part, share in split.items()
        if isinstance(share, Mapping) and share["share"]
    )
    critic = f"  {steps} noisy steps at sampling rate {rate:.4g}; noise multipliers: {blocks}"
    graphical = synthesizer in GRAPHICAL
    without = "  a graphical model: no steps" if graphical else "  no critic: noisy counts alone"
    unit = document.get("privacy_unit") or {}
    return [
        f"Quote: {_guarantee(document)}",
        critic if steps else without,
        f"  split of the budget: {shares}",
        *_bound(document),
        *_learning(document.get("learning"), by_column=unit.get("column") is not None),
        *expected_error_lines(document),
        *_reused(document.get("reused")),
    ]


def _bound(document: Json) -> list[str]:
    """Describe the declared bound on the records of a unit."""
    unit = document.get("privacy_unit") or {}
    records = unit.get("records")
    if records is None:
        return []
    return [
        f"  at most {records} records of each '{unit['column']}' count; the noise is {records} times that for one record"
    ]


def expected_error_lines(document: Json) -> list[str]:
    """The expected error of counts and the measurements, or the reason why they are not known in advance."""
    if "expected_error" not in document:  # services of earlier versions do not state it
        return []
    found = document["expected_error"]
    if found is None:
        code = document.get("expected_error_missing", "")
        return [f"  expected error of counts: not known in advance{NO_EXPECTATION.get(code, f' ({code})')}"]
    alone, measured = found["if_independent"], found["measured"]
    within = ", within each class of the target" if measured["by_class"] else ""
    typically = "typically " if measured.get("screened") else ""
    finer = "; dependence finer than groups of codes adds to the error"
    if measured.get("combinations"):
        counted = "all combinations of their codes"
    elif measured.get("adaptive"):
        counted, finer = f"at most {measured['tables']} marginals, chosen by noisy scores", ""
    else:
        counted = (
            f"{typically}{measured['tables']} tables of groups of codes{within}; "
            f"at most about {measured['most_groups']} groups per column"
        )
    return [
        f"  expected error of counts (rows in a wrong cell), about: {errors_in_words(found)}",
        f"  if columns were independent: {errors_in_words(alone)}{finer}",
        f"  measured: {measured['columns']} columns and {counted}",
        *([] if (noise := noise_line(found)) is None else [f"  WARNING: {noise}"]),
        *(
            [
                "  errors are those of the rows that count: what the bound leaves out of a unit's rows adds to them"
            ]
            if _is_bounded(document)
            else []
        ),
    ]


def noise_line(found: Mapping[str, Any] | None) -> str | None:
    """Warn that counts of the rows would be so inaccurate that they are of little use; None if they would not, or if their errors are unknown in advance."""
    if found is None:
        return None
    remedy = "order with a larger epsilon, or declare fewer columns and codes"
    if found["one_way"] is not None and found["one_way"] >= NOISE:
        return (
            f"the rows would be mostly noise: even in single columns {_percent(found['one_way'])} of the rows are expected in a wrong"
            f" cell; {remedy}"
        )
    if found["two_way"] is not None and found["two_way"] >= NOISE:
        return (
            f"few pairs of columns could be trusted: {_percent(found['two_way'])} of the rows are expected in a wrong cell of a pair;"
            f" {remedy}"
        )
    return None


def _is_bounded(document: Json) -> bool:
    """Whether a declared or learnt bound leaves out some rows of a unit."""
    learning = document.get("learning") or {"releases": ()}
    learns = any(release["learns"] == "records" for release in learning["releases"])
    return learns or (document.get("privacy_unit") or {}).get("records") is not None


def errors_in_words(found: Mapping[str, Any]) -> str:
    """Expected errors of columns, pairs and triples in percent, from shares."""
    kinds = {"one_way": "columns", "two_way": "pairs", "three_way": "triples"}
    return ", ".join(
        f"{kind} {_percent(found[name])}" for name, kind in kinds.items() if found[name] is not None
    )


def _percent(share: float) -> str:
    return f"{float(f'{100 * share:.2g}'):g} %"


def _learning(learning: Mapping[str, Any] | None, *, by_column: bool) -> list[str]:
    """The parts of the domain that are learnt under noise; no line if all of it is declared.

    `by_column` says that a unit may have several records, and so several categories in a column.
    """
    if learning is None:
        return []
    learnt = Counter(release["learns"] for release in learning["releases"])
    parts = ", ".join(
        "the bound on records per unit"
        if part == "records"
        else f"{_LEARNT.get(part, part)} of {count} column{'' if count == 1 else 's'}"
        for part, count in learnt.items()
    )
    thresholds = [
        release["threshold"] for release in learning["releases"] if release["threshold"] is not None
    ]
    if thresholds:
        parts += (
            f"; a category needs about {max(thresholds):.0f} units{', more where each has several' * by_column}; thresholds take delta {learning['delta']:.3g}, "
            "after which this dataset's budget uses basic composition"
        )
    return [f"  learnt parts of the domain: {parts}", *_clamped(learning)]


_LEARNT: Final = {"crowded": "whether the declared bounds are far too wide,"}


def _clamped(learning: Mapping[str, Any]) -> list[str]:
    """Warn where learnt bounds would clamp a visible share of a column's numbers."""
    share = max((release.get("clamped_share") or 0.0 for release in learning["releases"]), default=0.0)
    if share < VISIBLE_CLAMPED:
        return []
    text = f"learnt bounds typically clamp about {_percent(share)} of a column's numbers at this size and epsilon"
    return [f"  WARNING: {text}; declare the bounds of columns whose scale is known"]


def _reused(reused: Mapping[str, Any] | None) -> list[str]:
    """The value of reused counts; no line if none are reused."""
    if reused is None:
        return []
    count = len(reused["releases"]) + sum(len(one["holds"]) for one in reused["releases"])
    releases = "1 release" if count == 1 else f"{count} releases"
    as_if, alone = reused["epsilon_as_if"], reused["epsilon_alone"]
    return [
        (
            f"  earlier counts: reused from {releases} at no cost, equivalent to spending epsilon {as_if:.2f} on counts "
            f"instead of {alone:.2f}"
        )
    ]


def _selection(document: Json) -> list[str]:
    selection, final = take(document, SELECTION, "final")
    candidates = selection["candidates"]
    each = max(candidate["epsilon"]["reported"] for candidate in candidates)
    return [
        f"Quote of a selection, in total: {_guarantee(document)}",
        (
            f"  selecting among {len(candidates)} candidates: epsilon {selection['epsilon']['reported']:.4f} (each candidate, on "
            f"one of {selection['parts']} parts of about {selection['part_size']} units: {each:.4g}; selecting the best: "
            f"{selection['choice_epsilon']:g})"
        ),
        f"  training the winner on all units: epsilon {final['epsilon']['reported']:.4f}",
    ]


def _guarantee(document: Json) -> str:
    guarantee, epsilon = take(document, "guarantee", "epsilon")
    return (
        f"epsilon {guarantee['epsilon']:g}, delta {guarantee['delta']:g} "
        f"(by PLD {epsilon['pld']:.4f}, by RDP {epsilon['rdp']:.4f})"
    )


def _report(document: Json) -> list[str]:
    """The budget that the cap leaves for a utility report of the release; no line without a cap."""
    guarantee, left = take(document, "guarantee", "remaining_epsilon_after")
    if left is None:
        return []
    part = guarantee["epsilon"] / 10
    fits = "is left" if left >= NEARLY * part else "is NOT left"
    return [
        f"  for one utility report of the release, a tenth of this epsilon ({part:.4g}), {fits} under the cap"
    ]


def refused_by_cap(quote: Quote) -> str:
    """The cost of an order and the remaining cap that refuses it, as a sentence without its full stop."""
    left, epsilon, guarantee = take(quote.document, "remaining_epsilon_after", "epsilon", "guarantee")
    basic = quote.document.get("filters", {}).get("basic")
    costs = f"It costs epsilon {epsilon['reported']:.4g}"
    if basic is not None and basic["used"] <= basic["capacity"]:
        return f"{costs} and delta {guarantee['delta']:.4g}. {_free_delta(quote.document)}"
    if epsilon["reported"] > left:
        return f"{costs}, and the dataset's cap has {left:.4g} left for one more order"
    return (
        f"{costs} and delta {guarantee['delta']:.4g}; of the dataset's cap epsilon {left:.4g} is left for one more order at a"
        " smaller delta"
    )


def _free_delta(document: Json) -> str:
    """The delta that basic composition leaves for an order whose epsilon fits."""
    basic = document["filters"]["basic"]
    before = basic["used_delta"] - document["charge"]["delta_femtos"] / FEMTO
    free = round(basic["capacity_delta"] - before, FEMTO_PLACES)
    half = ", half of the cap's delta" if len(document["filters"]) > 1 else ""
    has = f"delta {free:.4g}" if free > 0 else "no delta"
    return f"The dataset's cap has {has} left: the deltas of all orders may add up to {basic['capacity_delta']:.4g}{half}"


def _grant_has(document: Json, grant: Json) -> str:
    """The remaining epsilon of a grant that refuses an order, or its remaining delta if only delta is short."""
    left = f"your grant of epsilon {grant['epsilon']:g} has {grant['remaining_epsilon']:.4g} left for one more order"
    if grant.get("short_of") != ["delta"]:  # services of earlier versions do not state it
        return f", and {left}"
    return f" and delta {document['guarantee']['delta']:.4g}, and {left}, but of delta {grant['remaining_delta']:.4g}"


def room_lines(quote: Quote) -> list[str]:
    """Whether an order fits under the cap and the grant; if a grant is short, the cost, the remainder and how to get more."""
    left, grant, epsilon = take(quote.document, "remaining_epsilon_after", "grant", "epsilon")
    under_cap = "" if left is None else f"; available under the cap after it: epsilon {left:.4g}"
    costs = f"  fits into the budget: NO. It costs epsilon {epsilon['reported']:.4g}"
    if quote.refusal == "budget-refused" and left is not None:
        return [
            f"  fits into the budget: NO. {refused_by_cap(quote)}",
            "  order with a smaller epsilon or delta, or ask an admin to raise the cap with a reason",
        ]
    if quote.refusal == "no-grant":
        ask = "  ask for a grant: `understudy budget request`, or the dataset's page"
        return [f"{costs}, and you have no open grant{under_cap}", ask]
    if quote.refusal == "grant-refused" and grant is not None:
        return [
            f"{costs}{_grant_has(quote.document, grant)}{under_cap}",
            "  order with a smaller epsilon or delta, or ask for more: `understudy budget request`, or the dataset's page",
        ]
    under_grant = "" if grant is None else f", under your grant: {grant['remaining_epsilon_after']:.4g}"
    fits = "yes" if quote.fits else f"NO ({quote.refusal})"
    return [f"  fits into the budget: {fits}{under_cap}{under_grant}"]
