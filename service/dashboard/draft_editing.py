"""Editing a drafted domain in the browser: the fields of one part of it, and the draft with what a person entered.

A part is the document itself, how its files are written, a column or a rule. Marks stay: what was entered is confirmed on the review page like
all other values. ``understudy domain confirm`` does the same in a terminal, where the rows are.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final, Literal

from core.plan.domain.columns.prefixes import LETTERS, shortened
from core.plan.domain.confirmation import MARK
from service.dashboard.errors import FormInvalid
from service.dashboard.forms import whole_of
from service.wording.domain_text import WORDS_OF_VALUES

WHOLE: Final = "whole"
"""Stands for the document itself."""
CSV: Final = "csv"
RULE: Final = "rule"
"""Before the number of a rule."""
VALUE: Final = "value:"
"""Before the key of a field in a form."""
NEW_SIZE: Final = "units"
"""Key of the field of the document's form for the declared size, which is no value of the document."""
LEARN: Final = "learn"
_ALL: Final = "all"
"""What lists a book of codes in `understudy domain confirm`."""
KEPT_COLUMN: Final = "_else"
"""Key under which a draft keeps a column that it leaves out."""
_NUMBERS: Final = "one on each line"
_WORDS: Final = (
    "One on each line. A word that starts or ends with a blank, or is empty, is written in double quotes."
)
_LABELS: Final[Mapping[str, tuple[str, str]]] = {
    "lower": ("Smallest value", "What is possible, not what occurs."),
    "upper": ("Largest value", "What is possible, not what occurs: a largest age of 107 reveals that somebody is 107."),
    "edges": ("Bin edges", f"From the smallest to the largest value, {_NUMBERS}."),
    "specials": ("Special values", f"Values that many rows share or that mean something else, such as 0 or 999; {_NUMBERS}."),
    "bins": ("Bins", "A number, or learn: learnt in each training at a privacy cost."),
    "decimals": ("Decimals", "Digits after the point in synthetic rows."),
    "multiple_of": ("Multiples of", "Synthetic values are multiples of this number."),
    "categories": ("Categories", f"{_WORDS} A word that you leave out counts as other. The single word learn: learnt in each training at a privacy cost."),
    "prefix": ("First characters that count", "Of each text. A number, or the word letters: the letters at its beginning."),
    "most": ("Most categories", "How many categories may be learnt."),
    "levels": ("Levels", f"In their order. {_WORDS}"),
    "true": ("Word for yes", ""),
    "false": ("Word for no", ""),
    "other": ("Other categories", ""),
    "difference.lower": ("Smallest distance from the other column", ""),
    "difference.upper": ("Largest distance from the other column", ""),
    "records": ("Records of a unit that count", "A number, or learn: learnt in each training at a privacy cost."),
    "labels": ("Labels", _WORDS),
    "null_values": ("Texts read as missing", _WORDS),
    "delimiter": ("Delimiter", ""),
}  # fmt: skip
_OTHER_LABELS: Final[Mapping[str, str]] = {
    "name": "Name", "kind": "Kind", "type": "Type", "target": "Target", "privacy_unit": "Privacy unit", "format": "Format", "resolution": "Resolution",
    "header": "First line holds the names", "strip_spaces": "Blanks around values are dropped", "difference": "Distance from another column",
    "pairs": "Pairs", "parts": "Parts", "total": "Total", "computed": "Computed column", "patterns": "Calendar patterns", "spacing": "Spacing of bins",
    "columns": "Columns", "number_format": "Format of numbers", "decimal_mark": "Decimal mark", "encoding": "Encoding",
    "quote": "Quotation mark", "infinite": "Infinite values", "fraction": "Fractions of whole numbers", "unreadable": "Values that cannot be read",
    "tolerance": "Tolerance", "combinations": "Combinations", "bounds": "Bounds", "rules": "Rules", "declared_size": "Declared size",
    "width": "Width", "height": "Height", "channels": "Channels",
}  # fmt: skip
_TREATMENTS: Final[Mapping[str, tuple[str, Mapping[str, str]]]] = {
    "outside": ("Values beyond the bounds", WORDS_OF_VALUES["outside"]),
    "unknown": ("Values that are not listed", WORDS_OF_VALUES["unknown"]),
    "null": ("Missing values", WORDS_OF_VALUES["null"]),
}
_TREATED: Final[Mapping[str, tuple[str, ...]]] = {
    "numeric": ("outside", "null"), "date": ("outside", "null"), "datetime": ("outside", "null"),
    "categorical": ("unknown", "null"), "ordinal": ("unknown", "null"), "boolean": ("unknown", "null"),
}  # fmt: skip
_NEW_SIZE_LABEL: Final = "New declared size"
_UNITS: Final = "_units"
"""Key under which a draft keeps how many values each column has, and the sentences of its note on the privacy unit."""
_NOTE: Final = "_note"
_SEVERAL: Final = 1.1
"""Rows of a unit on average from which a bound on its records is learnt, as in a draft."""
_POINTS_AT_A_KEY: Final = re.compile(
    r"An identifier that repeats\. If it says whose row it is, make it the privacy unit[^.]*\.\s*"
)
_WORD_INSTEAD: Final = {"bins": LEARN, "records": LEARN, "prefix": LETTERS}
_MAY_BE_EMPTY: Final = frozenset({"specials", "null_values"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field of the form.

    Attributes:
        key: Where its value stands in the part; a point leads into an object.
        options: What may be chosen, with the words for people.
    """

    key: str
    label: str
    help: str = ""
    kind: Literal["line", "lines", "choice"] = "line"
    value: str
    options: Mapping[str, str] | None = None

    @property
    def rows(self) -> int:
        """Height of a list's text field, in lines."""
        return min(max(self.value.count("\n") + 2, 3), 16)


def part_of(draft: Mapping[str, Any], place: str) -> dict[str, Any]:
    """The part of a draft at a place: `WHOLE`, `CSV`, the index of a column, or `RULE` and the index of a rule.

    Raises:
        FormInvalid: There is no such part.
    """
    key, number = ("rules", place.removeprefix(RULE)) if place.startswith(RULE) else ("columns", place)
    try:
        part: Any = draft if place == WHOLE else draft[CSV] if place == CSV else draft[key][_index(number)]
    except (KeyError, IndexError, ValueError, TypeError):
        part = None
    if not isinstance(part, dict):
        raise FormInvalid("The document has no such part.", remedy="Go back to the review and choose again.")
    return part


def _index(number: str) -> int:
    if not (number.isascii() and number.isdecimal()):
        raise ValueError
    return int(number)


def fields_of(draft: Mapping[str, Any], place: str) -> Sequence[Field]:
    """The fields of a part, in the order of the form; empty where it has no values that could be edited.

    Raises:
        FormInvalid: There is no such part.
    """
    part = part_of(draft, place)
    if place.startswith(RULE):
        return ()
    values = {key: _value(part, key) for key in _LABELS}
    found = [
        _field(key, value)
        for key, value in values.items()
        if value is not None and not isinstance(value, bool)
    ]
    if place == WHOLE:
        return [*_choices_of_columns(draft), *found]
    return [*found, *(_treatment(part, key) for key in _TREATED.get(str(part.get("kind")), ()))]


def label_of(key: str) -> str:
    """The name of a key for people."""
    if key in _LABELS:
        return _LABELS[key][0]
    return _TREATMENTS[key][0] if key in _TREATMENTS else _OTHER_LABELS.get(key, key)


def _value(part: Mapping[str, Any], key: str) -> Any:  # noqa: ANN401 - any value of JSON
    outer, _, inner = key.partition(".")
    value = part.get(outer)
    return (value.get(inner) if isinstance(value, dict) else None) if inner else value


def _field(key: str, value: Any) -> Field:  # noqa: ANN401 - any value of JSON
    label, hint = _LABELS[key]
    if isinstance(value, list) or key == "categories":
        listed = value if isinstance(value, list) else [value]
        return Field(key=key, label=label, help=hint, kind="lines", value="\n".join(map(line_of, listed)))
    return Field(
        key=key, label=label, help=hint, value=value if isinstance(value, str) else json.dumps(value)
    )


def _treatment(part: Mapping[str, Any], key: str) -> Field:
    label, options = _TREATMENTS[key]
    has_other = bool(part.get("other", part.get("categories") == LEARN))
    given = part.get(
        key, "clamp" if key == "outside" else "other" if key == "unknown" and has_other else "refuse"
    )
    if key == "unknown" and not has_other:
        options = {one: words for one, words in options.items() if one != "other"}
    if isinstance(given, dict):
        given = json.dumps(given, ensure_ascii=False)
        options = {given: f"replaced by {part[key].get('use')}", **options}
    return Field(key=key, label=label, kind="choice", value=str(given), options=options)


def _choices_of_columns(draft: Mapping[str, Any]) -> Sequence[Field]:
    """Whose rows are protected, and what is to be predicted; of images, nothing."""
    columns = draft.get("columns")
    if not isinstance(columns, list):
        return ()
    kinds = {str(one.get("name")): str(one.get("kind")) for one in columns if isinstance(one, dict)}
    units = {"": "each record", **{name: f"all records with the same {name}" for name in kinds}}
    targets = {"": "none", **{name: name for name, kind in kinds.items() if kind not in {"unit", "ignored"}}}
    return (
        Field(
            key="privacy_unit", label="Privacy unit", kind="choice", value=draft.get("privacy_unit") or "", options=units,
            help="Whose presence is hidden. If a person has several rows, choose the column that says whose they are; it is not published.",
        ),
        Field(
            key=NEW_SIZE, label=_NEW_SIZE_LABEL, value="",
            help="Needed with another privacy unit, because the declared size counts privacy units: a round number near the truth.",
        ),
        Field(
            key="target", label="Target", kind="choice", value=draft.get("target") or "", options=targets,
            help="The column that others will want to predict. Relations with it come out better, at no cost.",
        ),
    )  # fmt: skip


def line_of(value: object) -> str:
    """A value of a list on a line by itself; as JSON where its ends could not be seen."""
    is_plain = (
        isinstance(value, str)
        and value == value.strip()
        and value.isprintable()
        and value[:1] not in {"", '"'}
    )
    return str(value) if is_plain else json.dumps(value, ensure_ascii=False)


def with_values(draft: Mapping[str, Any], place: str, entered: Mapping[str, str]) -> dict[str, Any]:
    """A copy of the draft with what a person entered for one part.

    Args:
        place: As in `part_of`.
        entered: Texts by the keys of `fields_of`; a field that is not entered stays as it is.

    Raises:
        FormInvalid: A text cannot be the value of its field.
    """
    changed = deepcopy(dict(draft))
    part = part_of(changed, place)
    before = deepcopy(part)
    for field in fields_of(draft, place):
        if field.key in entered and entered[field.key] != field.value and field.key != NEW_SIZE:
            _put(part, field, entered[field.key])
    if place == WHOLE:
        _move_unit(changed, before.get("privacy_unit"))
    _meet(part, before)
    _count_the_rest(part, before)
    _prune_marks(part)
    return changed


def _put(part: dict[str, Any], field: Field, text: str) -> None:
    outer, _, inner = field.key.partition(".")
    if inner:
        part[outer][inner] = _read(field, part[outer][inner], text)
    elif field.kind == "choice" and field.key in _TREATMENTS:
        part[outer] = _chosen(field, text)
    elif field.kind == "choice":
        part[outer] = _chosen(field, text) or None
    else:
        part[outer] = _read(field, part[outer], text)


def _chosen(field: Field, text: str) -> str:
    if field.options is None or text not in field.options:
        raise FormInvalid(
            f"“{field.label}” has no such choice.", remedy="Choose one of those that are listed."
        )
    return text


def _read(field: Field, before: Any, text: str) -> Any:  # noqa: ANN401 - any value of JSON
    if field.kind == "lines":
        lines = [line for line in text.replace("\r\n", "\n").split("\n") if line.strip()]
        if field.key == "categories" and lines == [LEARN]:
            return LEARN
        if field.key == "categories" and lines == [_ALL]:
            raise FormInvalid(
                "This page lists no book of codes.",
                remedy="Enter the codes, one on each line; or answer all in `understudy domain confirm`, where the draft was made.",
            )
        if not lines and field.key not in _MAY_BE_EMPTY:
            raise FormInvalid(f"“{field.label}” is empty.", remedy="Enter at least one value.")
        is_of_numbers = field.key == "specials" or (
            isinstance(before, list) and bool(before) and not isinstance(before[0], str)
        )
        return [_number(field, line) if is_of_numbers else _word(field, line) for line in lines]
    text = text.strip() if field.key != "delimiter" else text
    if not text:
        raise FormInvalid(f"“{field.label}” is empty.", remedy="Enter a value.")
    is_word = text == _WORD_INSTEAD[field.key] if field.key in _WORD_INSTEAD else isinstance(before, str)
    return text if is_word else _number(field, text)


def _number(field: Field, text: str) -> int | float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise FormInvalid(f"“{field.label}” is not a number.", remedy="Enter a number such as 12 or 0.5.")
    return int(number) if number.is_integer() else number


def _word(field: Field, line: str) -> str:
    if not line.strip().startswith('"'):
        return line.strip()
    try:
        word = json.loads(line)
    except ValueError:
        word = None
    if not isinstance(word, str):
        raise FormInvalid(
            f"“{field.label}” has a line with one double quote at its beginning.",
            remedy='Write the word in double quotes, and a double quote in it as \\".',
        )
    return word


def size_after(
    before: Mapping[str, Any], after: Mapping[str, Any], *, entered: str, size: int | None
) -> int | None:
    """The declared size that a person entered with an edit; None if they entered none and it counts what it counted.

    `entered` is the text of the field `NEW_SIZE`.

    Raises:
        FormInvalid: It would count other units than before and is not entered again, or it is no number.
    """
    unit, chosen = before.get("privacy_unit"), after.get("privacy_unit")
    if text := entered.strip():
        if not (number := whole_of(text)):
            raise FormInvalid(
                f"“{_NEW_SIZE_LABEL}” is not a whole number above 0.",
                remedy="Enter it such as 2500 or 2 500.",
            )
        return number
    if unit == chosen:
        return None
    counted = "" if size is None else f" {size:,}"
    raise FormInvalid(
        f"The declared size{counted} counts {_counted(unit)}. It must now count {_counted(chosen)}.",
        remedy=f"Choose the privacy unit, and enter in “{_NEW_SIZE_LABEL}” how many there are: a round number near the truth.",
    )


def _counted(unit: object) -> str:
    """The units that a declared size counts, in words."""
    return "records" if unit is None else f"values of {unit}"


def _move_unit(draft: dict[str, Any], before: object) -> None:
    """Let another column be the privacy unit; the earlier one is left out."""
    unit = draft.get("privacy_unit")
    if unit == before or not isinstance(draft.get("columns"), list):
        return
    for column in draft["columns"]:
        if column.get("name") == before and column.get("kind") == "unit":
            _empty(draft, column, "ignored")
        elif column.get("name") == unit:
            _empty(draft, column, "unit")
            if _has_several_rows(draft, unit):
                column |= {"records": LEARN, MARK: ["records"]}
        elif isinstance(note := column.get(_NOTE), str):
            column[_NOTE] = _POINTS_AT_A_KEY.sub("", note)
    draft["privacy_unit"] = unit
    _say_whose(draft, unit)


def _has_several_rows(draft: Mapping[str, Any], unit: object) -> bool:
    """Whether a unit has several rows, as far as the draft knows: of a unit without a bound on records all rows count as one."""
    known = draft.get(_UNITS)
    values = known.get("values") if isinstance(known, dict) else None
    found = values.get(unit) if isinstance(values, dict) else None
    each = found.get("rows_each") if isinstance(found, dict) else None
    return not isinstance(each, int | float) or each >= _SEVERAL


def _say_whose(draft: dict[str, Any], unit: object) -> None:
    """Let the note of the draft speak of the new unit instead of the earlier one."""
    says = (
        "Each record is protected by itself."
        if unit is None
        else f"All records with the same {unit} are protected together. Bounds were drafted for other privacy units, so one value of {unit} alone may reach one."
    )
    known, note = draft.get(_UNITS), draft.get(_NOTE, "")
    said = known.get("said") if isinstance(known, dict) else None
    note = note if isinstance(note, str) else ""
    is_said = isinstance(said, str) and said and said in note
    draft[_NOTE] = note.replace(str(said), says) if is_said else f"{note} {says}".strip()
    draft[_UNITS] = (known if isinstance(known, dict) else {}) | {"said": says}


def _meet(part: dict[str, Any], before: Mapping[str, Any]) -> None:
    """Let the first and last edge equal the bounds, whichever of the three was edited."""
    edges = part.get("edges")
    if not isinstance(edges, list) or not edges or not {"lower", "upper"} <= part.keys():
        return
    if edges != before.get("edges"):
        part["lower"], part["upper"] = edges[0], edges[-1]
        return
    lower, upper = part["lower"], part["upper"]
    part["edges"] = [lower, *(edge for edge in edges[1:-1] if lower < edge < upper), upper]


def _count_the_rest(part: dict[str, Any], before: Mapping[str, Any]) -> None:
    """Count words that are no longer listed as other; a list that was learnt has no length any more, and another prefix shortens the words."""
    listed, listed_before = part.get("categories"), before.get("categories")
    if isinstance(listed, list) and part.get("prefix") != before.get("prefix"):
        listed = part["categories"] = list(dict.fromkeys(shortened(word, part["prefix"]) for word in listed))
    if listed == listed_before:
        return
    if LEARN in (listed, listed_before):
        part.pop("most", None)
    if LEARN in (listed, listed_before) or not set(listed_before or ()) <= set(listed or ()):
        part["other"] = part.get("other") or True
    if part.get("other") and isinstance(listed, list):
        other = "other" if part["other"] is True else part["other"]
        part["categories"] = [word for word in listed if word != other]


def without(draft: Mapping[str, Any], place: str) -> dict[str, Any]:
    """The draft without a rule, or with a column left out, together with the rules and distances that need the column.

    Raises:
        FormInvalid: The part is neither a rule nor a column.
    """
    changed = deepcopy(dict(draft))
    part = part_of(changed, place)
    if place in {WHOLE, CSV}:
        raise FormInvalid(
            "Only a column or a rule can be left out.", remedy="Go back to the review and choose again."
        )
    if place.startswith(RULE):
        changed["rules"].remove(part)
    else:
        _empty(changed, part, "ignored")
    if changed.get("rules") == []:
        del changed["rules"]
    return changed


def with_column_kept(draft: Mapping[str, Any], place: str) -> dict[str, Any]:
    """The draft with a column that it left out and described; all of its values are to be confirmed.

    Raises:
        FormInvalid: The draft does not describe such a column.
    """
    changed = deepcopy(dict(draft))
    part = part_of(changed, place)
    described = part.get(KEPT_COLUMN)
    if not isinstance(described, dict):
        raise FormInvalid(
            "The draft does not describe this column.", remedy="Draft the domain again where the rows are."
        )
    name, marks = part.get("name"), part.get(MARK)
    part.clear()
    part |= {"name": name} | described
    if not isinstance(part.get(MARK), list) and isinstance(marks, list):
        part[MARK] = marks
    return changed


def _empty(draft: dict[str, Any], column: dict[str, Any], kind: str) -> None:
    """Let a column have no values: it is left out, or says whose rows they are."""
    name = column.get("name")
    column.clear()
    column |= {"name": name, "kind": kind}
    for key in ("target", "privacy_unit"):
        if draft.get(key) == name and not (key == "privacy_unit" and kind == "unit"):
            draft[key] = None
    for other in draft.get("columns", ()):
        if isinstance(difference := other.get("difference"), dict) and difference.get("from") == name:
            del other["difference"]
            _prune_marks(other)
    if isinstance(rules := draft.get("rules"), list):
        for rule in rules:
            if rule.get("kind") == "null_together" and len(rule.get("columns", ())) > 2:  # noqa: PLR2004 - two are left to agree
                rule["columns"] = [one for one in rule["columns"] if one != name]
        draft["rules"] = [rule for rule in rules if name not in _columns_of(rule)]


def _columns_of(rule: Mapping[str, Any]) -> set[object]:
    """Every text in a rule that may name a column."""
    listed = [*rule.get("columns", ()), *rule.get("parts", ()), rule.get("total")]
    return {one for one in listed if isinstance(one, str)}


def _prune_marks(part: dict[str, Any]) -> None:
    """Take away marks of keys that the part no longer has."""
    if not isinstance(marks := part.get(MARK), list) or not marks:
        return
    part[MARK] = [key for key in marks if isinstance(key, str) and key in part]
    if not part[MARK]:  # an empty list would mark the whole part
        del part[MARK]
