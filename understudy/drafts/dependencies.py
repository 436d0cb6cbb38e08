"""Redundant columns in a draft: copies are left out, and functional dependencies become rules.

Rules found in rows are proposals. Their pairs are marked like every value taken from the data. Only pairs with many rows are listed, because
a rare code reveals that somebody has it.
"""

from collections.abc import Mapping, Sequence
from itertools import groupby
from math import lgamma, log
from typing import Any, Final

from understudy.drafts.categories import NOT_MODELLED, NOTE
from understudy.drafts.dependency_search import Copy, Dependency, DependencySearch
from understudy.drafts.differences import hold_starts
from understudy.drafts.facts import Facts, is_number
from understudy.drafts.frame_words import FrameWords
from understudy.drafts.numbers import COVER_ALL, FEWEST_ROWS_OF_A_WORD, NATURAL_BOUNDS
from understudy.drafts.sums import can_sum
from understudy.errors import InputUnusable
from understudy.plain_text import plain_number
from understudy.table_files import MARK

ELSE: Final = "_else"
"""Key of a copy's kind and values without the copy, for the answer "keep"."""
RULES: Final = "rules"
ORDER: Final = "at_most"
DURATION: Final = "duration"
TIMES: Final = ("date", "datetime")
"""Kind of the rule that one number is at most another one."""
MISSING_TOGETHER: Final = "null_together"
"""Kind of the rule that columns are missing in the same rows."""
SKIPPED: Final = "impossible"
"""Kind of the rule that a column is missing wherever another one has certain words."""
_FEWEST_ROWS_OF_A_COPY = 100
_SHARE_SUPPORTED = 0.95
_LOG_CHANCE = log(1e-6)
_FEWEST_OF_A_RANGE = 3

Column = dict[str, Any]


def leave_out(column: Column, note: str) -> None:
    """Draft a column as ignored, and keep its kind and values for the answer "keep"."""
    name = column["name"]
    otherwise = {key: value for key, value in column.items() if key != "name"}
    column.clear()
    column |= {"name": name, "kind": "ignored", NOTE: note, MARK: ["name", "kind"], ELSE: otherwise}


def leave_copies_out(
    columns: Sequence[Column],
    facts: Mapping[str, Facts],
    search: DependencySearch,
    *,
    target: str | None,
    words: FrameWords,
) -> None:
    """Draft a column as ignored if it equals an earlier one times a constant in every row; the target stays."""
    by_name = {str(column["name"]): column for column in columns}
    for copy in search.copies():
        kept, dropped = (by_name[name] for name in (copy.of, copy.name))
        factor = copy.factor
        if dropped["name"] == target:
            kept, dropped, factor = dropped, kept, 1 / copy.factor
        if kept["kind"] in NOT_MODELLED or dropped["kind"] in NOT_MODELLED or not _is_copy(facts[copy.of]):
            continue
        found = Copy(name=str(dropped["name"]), of=str(kept["name"]), factor=factor)
        leave_out(dropped, _on_copy(found, words))


def propose_rules(
    columns: Sequence[Column], facts: Mapping[str, Facts], search: DependencySearch, *, target: str | None
) -> list[dict[str, Any]]:
    """Draft a rule for each functional dependency worth declaring, and note it at the dependent column. No rule computes the target."""
    by_name = {str(column["name"]): column for column in columns}
    rules = []
    for found in _worth_declaring(columns, facts, search, target=target):
        column, by = by_name[found.dependent], by_name[found.determinant]
        rule = None if found.dependent == target else _rule(by, column, found, facts[found.determinant])
        column[NOTE] = (
            f"{column[NOTE]} {_on_dependency(found, has_rule=rule is not None, is_target=found.dependent == target)}"
        )
        if rule is not None:
            rules.append(rule)
    return rules


def bound_determinants(
    columns: Sequence[Column], rules: Sequence[Column], facts: Mapping[str, Facts], search: DependencySearch
) -> None:
    """Let each bound of a numeric determinant be a value with a pair, because a rule implies nothing outside the pairs.

    Values beyond the outermost pair are too rare for a pair of their own. Where all of them have its image, as ages above 39 have an age group, the pair
    is widened to the bound; otherwise the bound is narrowed to the pair. Bounds of a natural scale stay in any case, because narrower ones would be
    extremes of the rows.
    """
    held = {column["name"]: column for column in columns}
    images = {(one.determinant, one.dependent): one.images for one in search.dependencies()}
    for rule in rules:
        determinant, dependent = (held[name] for name in rule["columns"])
        if determinant["kind"] != "numeric" or "edges" in determinant or "lower" not in determinant:
            continue
        counts = {text: facts[determinant["name"]].values[text] for text in images[tuple(rule["columns"])]}
        is_natural = str(determinant[NOTE]).startswith(NATURAL_BOUNDS)
        # Beside special values the pairs are in no order.
        widened = [
            place
            for place in (() if determinant.get("specials") else (0, -1))
            if is_natural or _have_its_image(rule["pairs"], place, images[tuple(rule["columns"])], dependent)
        ]
        _reach_bounds(rule["pairs"], widened, determinant)
        if widened:
            determinant[NOTE] += (
                f" The outermost values that determine {dependent['name']} also stand for values beyond them."
            )
        if not is_natural:
            _narrow(determinant, dependent, rule["pairs"], counts)


def _have_its_image(
    pairs: Sequence[Sequence[Any]], place: int, images: Mapping[str, str | None], dependent: Column
) -> bool:
    """Whether there are numbers beyond the first or the last of the sorted pairs, and all of them have its image."""
    low, high = _ends(pairs[place][0])
    beyond = {
        image
        for text, image in images.items()
        if is_number(text) and (float(text) < low if place == 0 else float(text) > high)
    }
    return bool(beyond) and all(
        image is not None and _value(dependent, image) == pairs[place][1] for image in beyond
    )


def _narrow(
    determinant: Column, dependent: Column, pairs: Sequence[Sequence[Any]], counts: Mapping[str, int]
) -> None:
    """Narrow the bounds to the values with a pair, and note how many rows lie beyond."""
    ends = [_ends(one) for one, _ in pairs]
    lower = max(determinant["lower"], min(low for low, _ in ends))
    upper = min(determinant["upper"], max(high for _, high in ends))
    if (lower, upper) == (determinant["lower"], determinant["upper"]) or lower >= upper:
        return
    determinant |= {"lower": lower, "upper": upper}
    numbers = {float(text): count for text, count in counts.items() if is_number(text)}
    specials = determinant.get("specials", ())
    beyond = sum(
        count for value, count in numbers.items() if not lower <= value <= upper and value not in specials
    )
    share = f" ({plain_number(100 * beyond / sum(numbers.values()), 1)} % of the rows)" if beyond else ""
    determinant[NOTE] = determinant[NOTE].replace(COVER_ALL, "Bounds are rounded;") + (
        f" Bounds span the values that determine {dependent['name']}; other values{share} are clamped to them."
    )


def _ends(value: Any) -> tuple[Any, Any]:  # noqa: ANN401 - a number of a domain, or a range of numbers
    return (value["from"], value["to"]) if isinstance(value, dict) else (value, value)


def _reach_bounds(pairs: list[list[Any]], places: Sequence[int], by: Column) -> None:
    """Widen the first or the last of the sorted numeric pairs to the bounds."""
    for place in places:
        key, bound = ("from", by["lower"]) if place == 0 else ("to", by["upper"])
        low, high = _ends(pairs[place][0])
        ends = {"from": low, "to": high, key: bound}
        if ends["from"] < ends["to"]:
            pairs[place][0] = ends


def require_possible(document: dict[str, Any]) -> None:
    """Drop what columns no longer support from marked rules and differences, after a person changed or left out columns.

    Raises:
        InputUnusable: A marked rule was edited and lacks columns or pairs.
    """
    hold_starts(document.get("columns") or ())
    rules = document.get(RULES)
    if not isinstance(rules, list):
        return
    by_name = {str(column["name"]): column for column in document["columns"]}
    for rule in [rule for rule in rules if isinstance(rule, dict) and MARK in rule]:
        if not _is_whole(rule):
            raise InputUnusable(
                f"rule {rules.index(rule) + 1}: a drafted rule has two columns and a list of pairs or combinations (orders and columns that are missing together have neither; a duration has three columns and a unit), or parts and a total, one of which may be computed; restore these keys or drop the rule"
            )
        if not _is_possible(rule, by_name, target=document.get("target")):
            rules.remove(rule)
    if not rules:
        del document[RULES]


def _is_possible(rule: Column, by_name: Mapping[str, Column], *, target: object) -> bool:
    """Whether the columns still support a rule; unsupported parts are removed from it."""
    if rule.get("kind") == "sum":
        if not can_sum(rule, by_name):
            return False
        if rule.get("computed", "") == target:
            # The target may have changed since. It keeps its own values, so the total is computed instead.
            del rule["computed"]
            rule[MARK] = [key for key in rule[MARK] if key != "computed"] or ["parts"]
        return True
    if rule["kind"] in {MISSING_TOGETHER, SKIPPED}:
        return _can_still_miss(rule, by_name, target=target)
    both = [by_name.get(str(name), {"kind": "ignored"}) for name in rule["columns"]]
    if rule["kind"] in {ORDER, DURATION}:
        are_numbers = all(column["kind"] == "numeric" and column.get("name") != target for column in both)
        return are_numbers if rule["kind"] == ORDER else can_last(both, target=target)
    pairs = [] if any(_speaks_of_learnt(column) for column in both) else _possible(rule["pairs"], *both)
    if len({str(pair[1]) for pair in pairs}) <= 1:
        return False
    rule["pairs"] = pairs
    return True


def _can_still_miss(rule: Column, by_name: Mapping[str, Column], *, target: object) -> bool:
    """Whether columns may still be missing together, or by the words of another one."""
    if rule["kind"] == MISSING_TOGETHER:
        rule["columns"] = [
            name for name in rule["columns"] if name != target and can_miss(by_name.get(str(name), {}))
        ]
        return len(rule["columns"]) > 1
    both = [by_name.get(str(name), {"kind": "ignored"}) for name in rule["columns"]]
    rule["combinations"] = _named_combinations(rule["combinations"], *both)
    return bool(rule["combinations"]) and target not in rule["columns"]


def can_last(columns: Sequence[Mapping[str, Any]], *, target: object) -> bool:
    """Whether rows may have the third column computed as the time from the first to the second."""
    *times, number = columns
    return (
        all(column.get("kind") in TIMES for column in times)
        and (number.get("kind"), number.get("type")) == ("numeric", "integer")
        and number.get("name") != target
        and "difference" not in number
        and all("learn" not in {column.get("bins"), column.get("bounds")} for column in columns)
    )


def can_miss(column: Mapping[str, Any]) -> bool:
    """Whether synthetic rows may lack a value of a column."""
    return column.get("null") == "category" and column["kind"] not in NOT_MODELLED


def may_be_skipped(column: Mapping[str, Any]) -> bool:
    """Whether a rule can say when a column is missing."""
    return (
        can_miss(column)
        and "difference" not in column
        and "learn" not in [column.get(key) for key in ("categories", "bins", "bounds")]
    )


def has_words(column: Mapping[str, Any]) -> bool:
    """Whether a rule can name the words of a column."""
    return column["kind"] in {"categorical", "ordinal", "boolean"} and not _speaks_of_learnt(column)


def words_of(column: Mapping[str, Any]) -> list[str]:
    """The words that a column lists, as rules name them."""
    if column["kind"] == "boolean":
        return [str(column.get("false", "false")), str(column.get("true", "true"))]
    return [str(word) for word in column.get("categories", column.get("levels", ()))]


def _named_combinations(combinations: Sequence[Sequence[Any]], by: Column, column: Column) -> list[list[Any]]:
    """The combinations whose words a column still lists and whose other column may still be missing or not."""
    if not has_words(by) or not may_be_skipped(column):
        return []
    known: list[str | None] = [*words_of(by), *([None] if can_miss(by) else [])]
    kept = []
    for first, second in combinations:
        if isinstance(first, dict) and not isinstance(first.get("one_of"), list):
            kept.append([first, second])  # a person's own: the domain says whether it has such values
            continue
        listed = [word for word in (first["one_of"] if isinstance(first, dict) else [first]) if word in known]
        if listed:
            kept.append([listed[0] if len(listed) == 1 else {"one_of": listed}, second])
    return kept


def columns_of(rule: Mapping[str, Any]) -> list[str]:
    """The columns of a drafted rule, the computed one last."""
    if rule["kind"] != "sum":
        return list(rule["columns"])
    computed = rule.get("computed", rule["total"])
    return [*(name for name in (*rule["parts"], rule["total"]) if name != computed), computed]


def _is_whole(rule: Mapping[str, Any]) -> bool:
    """Whether a rule has the keys it was drafted with: two columns and the pairs of its kind, or parts and a total."""
    if rule.get("kind") == "sum":
        whole = isinstance(rule.get("parts"), list) and isinstance(rule.get("total"), str)
        return whole and rule.get("computed", rule["total"]) in {*map(str, rule["parts"]), rule["total"]}
    columns, pairs = rule.get("columns"), rule.get("pairs", rule.get("combinations"))
    if rule.get("kind") == DURATION:
        return isinstance(columns, list) and len(columns) == 3 and isinstance(rule.get("unit"), str)  # noqa: PLR2004 - two times and a number
    if rule.get("kind") == MISSING_TOGETHER:
        return isinstance(columns, list) and len(columns) > 1
    if not isinstance(columns, list) or len(columns) != 2:  # noqa: PLR2004 - one determines the other, or is at most it
        return False
    return rule.get("kind") == ORDER or (
        isinstance(pairs, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in pairs)  # noqa: PLR2004 - a value of each
    )


def _worth_declaring(
    columns: Sequence[Column], facts: Mapping[str, Facts], search: DependencySearch, *, target: str | None
) -> list[Dependency]:
    """At most one determinant for each column: an earlier one in mutual dependence, else the one with the fewest values."""
    by_name = {str(column["name"]): column for column in columns}
    modelled = [name for name, column in by_name.items() if column["kind"] not in NOT_MODELLED]
    # The target comes first among columns that determine each other, because no rule computes it.
    order = {name: place for place, name in enumerate(sorted(modelled, key=lambda name: name != target))}
    known = {
        (one.determinant, one.dependent): one
        for one in search.dependencies()
        if one.determinant in order
        and one.dependent in order
        and _is_supported(one, facts[one.determinant])
        and (by_name[one.determinant]["kind"] != "numeric" or _is_in_runs(one.images))
    }
    found = []
    for name in modelled:
        tellers = [by for by, other in known if other == name]
        mutual = [by for by in tellers if (name, by) in known]
        earlier = [by for by in mutual if order[by] < order[name]]
        others = [by for by in tellers if by not in mutual]
        if earlier:
            found.append(known[min(earlier, key=lambda by: order[by]), name])
        elif others:
            found.append(known[min(others, key=lambda by: (facts[by].distinct, order[by])), name])
    return found


def _is_copy(fact: Facts) -> bool:
    """Whether enough rows have a value, and enough of them not the most common one."""
    most = max(fact.values.values(), default=0)
    return fact.present >= _FEWEST_ROWS_OF_A_COPY and fact.present - most >= FEWEST_ROWS_OF_A_WORD


def _is_supported(found: Dependency, fact: Facts) -> bool:
    """Whether 95 % of the rows have a value with ten rows or more, and chance is an unlikely explanation.

    Chance means a random permutation of the dependent column in which each value of the determinant still has one image. The bound counts all
    maps from values to values.
    """
    counts = {text: count for text, count in fact.values.items() if text in found.images}
    rows = sum(counts.values())
    enough = {text: count for text, count in counts.items() if count >= FEWEST_ROWS_OF_A_WORD}
    of_image: dict[str | None, int] = {}
    for text, count in counts.items():
        of_image[found.images[text]] = of_image.get(found.images[text], 0) + count
    if sum(enough.values()) < _SHARE_SUPPORTED * rows or len({found.images[text] for text in enough}) <= 1:
        return False
    orders = lgamma(rows + 1) - sum(lgamma(count + 1) for count in of_image.values())
    return len(counts) * log(len(of_image)) - orders < _LOG_CHANCE


def _is_in_runs(images: Mapping[str, str | None]) -> bool:
    """Whether the numbers of each image are consecutive among all numbers, like the ages of an age group.

    Otherwise a measurement determines other columns by chance of its digits, such as a price index the month of its computation.
    """
    numbers = sorted((float(text), image) for text, image in images.items() if is_number(text))
    return len([image for image, _ in groupby(image for _, image in numbers)]) == len(
        {image for _, image in numbers}
    )


def _rule(by: Column, column: Column, found: Dependency, fact: Facts) -> dict[str, Any] | None:
    """The rule with a pair for each frequent value; None if the columns have no values that a rule may name."""
    if _speaks_of_learnt(by) or _speaks_of_learnt(column):
        return None
    frequent = [
        [text, image] for text, image in found.images.items() if fact.values[text] >= FEWEST_ROWS_OF_A_WORD
    ]
    pairs = _in_ranges(_possible(frequent, by, column), by)
    if len({str(image) for _, image in pairs}) <= 1:
        return None
    return {
        "kind": "determines",
        "columns": [found.determinant, found.dependent],
        "pairs": pairs,
        MARK: ["pairs"],
    }


def _speaks_of_learnt(column: Mapping[str, Any]) -> bool:
    """Whether a rule cannot name the values of a column, because they are learnt or neither listed nor on a grid."""
    if column["kind"] == "numeric":
        is_on_grid = column.get("type") == "integer" or "decimals" in column
        return not is_on_grid or "learn" in {column.get("bins"), column.get("bounds")}
    return column["kind"] not in {"categorical", "ordinal", "boolean"} or column.get("categories") == "learn"


def _possible(pairs: Sequence[Sequence[Any]], by: Column, column: Column) -> list[list[Any]]:
    """The pairs whose values both columns may have, one for each first value."""
    found: dict[object, list[Any]] = {}
    for one, other in pairs:
        first, second = _value(by, one), _value(column, other)
        if first is not None and (second is not None or (other is None and column.get("null") == "category")):
            found.setdefault(str(first), [first, second])
    return list(found.values())


def _value(column: Column, value: Any) -> Any:  # noqa: ANN401 - a value of a domain
    """A value of a pair as the column declares it; None if the column may not have it."""
    if isinstance(value, dict) and column["kind"] == "numeric" and "lower" in column:
        low, high = max(value["from"], column["lower"]), min(value["to"], column["upper"])
        return {"from": low, "to": high} if low < high else low if low == high else None
    if isinstance(value, dict):
        ends = [_value(column, end) for end in value.values()]
        return value if column["kind"] in {"numeric", "ordinal"} and None not in ends else None
    if value is None or column["kind"] == "boolean":
        return value if value in {column.get("true", "true"), column.get("false", "false")} else None
    if column["kind"] != "numeric":
        listed = column["levels"] if column["kind"] == "ordinal" else column["categories"]
        return str(value) if str(value) in listed else None
    try:
        number = float(value)
    except ValueError:
        return None
    number = int(number) if number.is_integer() else number
    return (
        number
        if number in column.get("specials", ()) or column["lower"] <= number <= column["upper"]
        else None
    )


def _in_ranges(pairs: list[list[Any]], by: Column) -> list[list[Any]]:
    """Consecutive numbers with one image, as a range."""
    if by["kind"] != "numeric" or by.get("specials"):
        return pairs
    found: list[list[Any]] = []
    for image, run in groupby(sorted(pairs, key=lambda pair: pair[0]), key=lambda pair: pair[1]):
        values = [value for value, _ in run]
        wide = len(values) >= _FEWEST_OF_A_RANGE
        found += (
            [[{"from": values[0], "to": values[-1]}, image]] if wide else [[value, image] for value in values]
        )
    return found


def _on_copy(copy: Copy, words: FrameWords) -> str:
    same = "Equal to" if copy.factor == 1 else f"{copy.factor:.10g} times"
    line = words.copied(copy.name, copy.of, copy.factor)
    return (
        f"{same} {copy.of} in every row, so it is left out: it would take budget, and synthetic rows would contradict themselves. Add it to"
        f" them afterwards (in {words.library}, {line}), or give its kind as 'keep'."
    )


def _on_dependency(found: Dependency, *, has_rule: bool, is_target: bool) -> str:
    many = f"Determined by {found.determinant} in every row: each of its {len(found.images)} values goes with one of this column."
    if is_target:
        return (
            f"WARNING: {many} If {found.determinant} is known only with the outcome, leave it out: a model trained on synthetic rows to predict the target would"
            " learn only that."
        )
    if has_rule:
        return f"{many} A rule is drafted, so that synthetic rows keep this; or leave one of the two out."
    return (
        f"{many} No rule can declare this while values of either column are learnt or unlisted: leave one of the two out, and add it to"
        " synthetic rows from your own list."
    )
