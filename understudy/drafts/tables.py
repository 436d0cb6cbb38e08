"""A first draft of a table's domain, made on the owner's machine from the owner's file.

A domain is public, but a draft is not: its bounds, categories and even its kinds come from the rows. So every value taken from the data is also
listed under ``_from_data``, and the service refuses a domain with such marks. The owner reviews each marked value
(`understudy.drafts.confirmation`) and edits what would reveal something about a person: one very old patient, a rare diagnosis. Bounds are robust
and rounded, rare words are left out, but all stay marked. A note on each column gives the reasons; notes may reveal something about the rows and
are dropped with the last mark. docs/domain.md lists the rules.

Needs numpy and pyarrow (the extra ``offline``). The file is read in constant memory: once, or twice if numbers are not written plainly.
"""

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Final

from understudy.drafts.calendar_copies import leave_parts_of_dates_out
from understudy.drafts.categories import NOTE, on_a_scale, words
from understudy.drafts.chosen_unit import (
    UNITS,
    facts_of_units,
    take_unit,
    wanted_unit,
)
from understudy.drafts.date_forms import begin_as_times
from understudy.drafts.dependencies import (
    ELSE,
    RULES,
    bound_determinants,
    columns_of,
    leave_copies_out,
    propose_rules,
)
from understudy.drafts.differences import propose_differences
from understudy.drafts.durations import propose_durations
from understudy.drafts.facts import Dialect, Facts, bare_name, require_different
from understudy.drafts.frame_types import FrameTypes, levels_of, read_types, say_what_types_say
from understudy.drafts.frame_words import PANDAS, FrameWords
from understudy.drafts.hints import (
    NUMBERS_LEFT_OUT,
    leave_constants_and_free_text_out,
    propose_target,
    say_what_is_missing,
)
from understudy.drafts.missing_together import propose_missing_together
from understudy.drafts.number_codes import are_codes
from understudy.drafts.numbers import LARGEST, MOST_INTEGER_CODES, numbers
from understudy.drafts.orders import propose_orders
from understudy.drafts.seen_rows import Format, Seen, notes_of, see_file
from understudy.drafts.signs import propose_signs
from understudy.drafts.skipped_questions import propose_skips
from understudy.drafts.sums import propose_sums
from understudy.drafts.times import (
    has_unclear_years,
    is_mostly_time,
    is_time,
    moments_note,
    on_many_unread,
    times,
)
from understudy.drafts.units import FEWEST_IDS, identifying, may_be_key, propose_unit, repeats_like_keys
from understudy.drafts.words import counts_things, names_a_key, names_amount, names_levels, natural_scale
from understudy.drafts.words_among_numbers import (
    has_words_like_numbers,
    may_be_measured,
    missing_words,
    or_measured,
    words_note,
)
from understudy.drafts.written_numbers import (
    DECIMAL_MARKS,
    OTHER_MINUSES,
    Ambiguous,
    Writing,
    have_other_minuses,
    plain_batch,
    writing_of,
    written_columns,
    written_kind,
)
from understudy.errors import InputUnusable, library_missing
from understudy.http.uploads import require_file
from understudy.table_files import DECLARED_SIZE, MARK
from understudy.text_encoding import ENCODINGS, UTF8

SCHEMA = "understudy.domain/1"
MOST_RULES = 128
"""Maximum number of rules that the service accepts."""
MOST_CODES = 1_000_000
"""Maximum codes of all columns that the service trains by its rules; it refuses larger orders."""
_FEWEST_LEVELS, _MOST_LEVELS = 3, 11
_ROWS_A_LEVEL = 5
_BY_NAME: Final = "Levels in order, by the column's name and its few whole numbers in a row. If they count or measure something, give its kind as 'numeric'."
_MAY_BE: Final = "If these are grades or answers and no count, the kind 'ordinal' says so, at the same cost."
_FEWEST_NUMBERED = 100
"""Minimum distinct whole numbers under the name of a key; fewer may be counts, such as "visits_no"."""
_CALLED_KEY = "It is called like the number of a thing or a person. If its numbers measure something, give its kind as 'keep'."
_LIKE_KEYS = "Its whole numbers repeat evenly, like numbers of persons or things. If they measure something, give its kind as 'keep'."
DRAFT = f"A draft: `understudy domain confirm` asks about every value listed under {MARK}."


def draft_domain(
    path: Path,
    *,
    header: bool | None = None,
    delimiter: str | None = None,
    decimal_mark: str | None = None,
    privacy_unit: str | None = None,
    encoding: str | None = None,
) -> dict[str, Any]:
    """Draft the domain document of a CSV (also gzipped) or Parquet file.

    Args:
        path: The private rows.
        header: Whether the first line has the column names; None to guess (always marked).
        delimiter: The character between fields; None to guess.
        decimal_mark: The point or comma before decimals in a CSV file; None to guess.
        privacy_unit: Name of the column that says whose row it is, or "none" if each row is another person's; None to propose one.
        encoding: The encoding of a CSV file; None to guess.

    Returns:
        A document that ``TableDomain.from_json`` refuses while marks remain.

    Raises:
        InputUnusable: the file is missing, empty, in an unknown encoding or unreadable.
        NotInstalled: pyarrow is missing.
    """
    _arrow()
    require_file(path)
    if decimal_mark not in {None, *DECIMAL_MARKS}:
        message = "the decimal mark is a point or a comma"
        raise InputUnusable(message)
    if encoding not in {None, *ENCODINGS}:
        message = f"the encoding is one of {', '.join(ENCODINGS)}"
        raise InputUnusable(message)
    known = Format(header=header, delimiter=delimiter, decimal_mark=decimal_mark, encoding=encoding)
    seen, dialect, written = see_file(path, known)
    if seen.rows == 0:
        message = f"{path.name} has no rows"
        if seen.ragged:
            message = f"no row of {path.name} has as many fields as its first line; put fields with the delimiter in quotes, or give another --delimiter"
        raise InputUnusable(message)
    draft = _document(seen, dialect, PANDAS, written, privacy_unit=privacy_unit)
    if ragged := seen.ragged:
        draft[NOTE] += (
            f" {len(ragged)} rows have more or fewer fields than columns, first row {ragged[0]} of the file: correct"
            " them, or they will be refused."
        )
    return draft


def draft_frame(
    table: Any,  # noqa: ANN401 (an Arrow table; pyarrow is imported lazily)
    words: FrameWords = PANDAS,
    *,
    privacy_unit: str | None = None,
) -> dict[str, Any]:
    """Draft the domain document of an Arrow table; see `draft_domain`.

    Args:
        words: Advice in the words of the reader's library.
        privacy_unit: See `draft_domain`.

    Raises:
        InputUnusable: the table has no rows, or two columns of the same name.
        NotInstalled: pyarrow is missing.
    """
    _arrow()
    require_different(table.column_names)
    if table.num_rows == 0:
        message = "the table has no rows"
        raise InputUnusable(message)
    table, types = read_types(table.rename_columns([bare_name(name) for name in table.column_names]))
    seen = _look_at_frame(table, {})
    written = written_columns(seen.facts, decimal_mark=None)
    seen = _look_at_frame(table, written) if written else seen
    return _document(seen, None, words, written, types, privacy_unit=privacy_unit)


def _look_at_frame(table: Any, written: Mapping[str, Writing]) -> Seen:  # noqa: ANN401 (an Arrow table; pyarrow is imported lazily)
    seen = Seen()
    for batch in table.to_batches(1 << 16):
        seen.add(plain_batch(batch, written))
    return seen


def _arrow() -> None:
    try:
        import numpy as np  # noqa: F401 - needed by `facts`
        import pyarrow as pa  # noqa: F401
    except ImportError as error:
        raise library_missing("drafting a domain", error.name, extra="offline") from None


def render_draft(draft: dict[str, Any]) -> str:
    """A draft, of a table or of images, as JSON for a reader: one key per line, lists on one line."""
    rest = {key: value for key, value in draft.items() if key not in {"columns", RULES}}
    head = _render(rest, 0)[:-2]  # without the closing brace
    lists = {key: draft[key] for key in ("columns", RULES) if key in draft}
    for key, entries in lists.items():
        shown = ",\n".join("  " + _render(entry, 2) for entry in entries)
        head += f',\n "{key}": [\n{shown}\n ]'
    return f"{head}\n}}\n"


def _render(value: dict[str, Any], indent: int) -> str:
    pad = " " * (indent + 1)
    lines = ",\n".join(f"{pad}{json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in value.items())
    return "{\n" + lines + "\n" + " " * indent + "}"


def _document(
    seen: Seen,
    dialect: Dialect | None,
    words: FrameWords,
    written: Mapping[str, Writing],
    types: FrameTypes | None = None,
    *,
    privacy_unit: str | None,
) -> dict[str, Any]:
    types = types or FrameTypes()
    facts = seen.facts
    for name, fact in facts.items():
        fact.as_words = has_words_like_numbers(name, fact)
        fact.called_after = frozenset(
            other.removeprefix(f"{name}.") for other in facts if other.startswith(f"{name}.")
        )
    proposed, others = propose_unit(facts)
    unit = proposed if privacy_unit is None else wanted_unit(privacy_unit, facts)
    _say_whose(seen, unit)
    columns = _columns(
        facts, words, written, types, unit=unit, mark="." if dialect is None else dialect.decimal_mark
    )
    target = propose_target(columns)
    draft: dict[str, Any] = {
        "schema": SCHEMA,
        NOTE: DRAFT,
        "target": target,
        "privacy_unit": unit,
        UNITS: facts_of_units(facts, candidates=others, drafted_for=unit),
        # The unit is marked even if none was found: a person decides whose row each row is.
        MARK: ["target", *(["privacy_unit"] if privacy_unit is None else []), DECLARED_SIZE],
        "columns": columns,
    }
    take_unit(draft, unit)
    odd = missing_words(facts)
    if (csv := _csv(facts, odd, dialect)) is not None:
        draft["csv"] = csv
    if dialect is not None:
        draft[NOTE] = " ".join([draft[NOTE], *notes_of(dialect)])
    for column in columns:
        if (
            facts[column["name"]].numeric
            and column["kind"] in {"numeric", "categorical", "ordinal"}
            and not set(facts[column["name"]].odd or ()).issubset(odd)
        ):
            _unreadable_to_null(column)
    for column in columns:
        say_what_is_missing(column, facts[column["name"]])
    say_what_types_say(columns, types)
    leave_constants_and_free_text_out(columns, facts, target=target)
    leave_copies_out(columns, facts, seen.search, target=target, words=words)
    leave_parts_of_dates_out(columns, seen.sample, target=target)
    null_texts = draft["csv"]["null_values"] if "csv" in draft else [""]
    if rules := _rules(columns, seen, types, target=target, null_texts=null_texts):
        draft[RULES] = rules
    return draft


def _csv(facts: Mapping[str, Facts], odd: Collection[str], dialect: Dialect | None) -> dict[str, Any] | None:
    """The format of the file; for a frame only what its texts need, or None."""
    nulls = sorted({""}.union(odd, *(fact.null_texts for fact in facts.values())))
    strip = any(fact.blanks for fact in facts.values())
    if dialect is None:
        if not strip and nulls == [""]:
            return None
        return {"null_values": nulls, "strip_spaces": strip, MARK: ["null_values", "strip_spaces"]}
    csv: dict[str, Any] = {
        "delimiter": dialect.delimiter,
        "header": dialect.header,
        "null_values": nulls,
        "strip_spaces": strip,
    } | ({} if dialect.decimal_mark == "." else {"decimal_mark": dialect.decimal_mark})
    csv |= {} if dialect.encoding == UTF8 else {"encoding": dialect.encoding}
    guessed = [key for key in dialect.guessed if key in csv]
    return csv | {MARK: [*guessed, "null_values", "strip_spaces"]}


def _rules(
    columns: list[dict[str, Any]],
    seen: Seen,
    types: FrameTypes,
    *,
    target: str | None,
    null_texts: Collection[str],
) -> list[dict[str, Any]]:
    """Draft the relations between columns: rules, and differences between columns without rules."""
    rules = propose_rules(columns, seen.facts, seen.search, target=target)
    bound_determinants(columns, rules, seen.facts, seen.search)
    sums = propose_sums(
        columns,
        seen.sample,
        fixed={target, *(rule["columns"][-1] for rule in rules)},
        tied={name for rule in rules for name in rule["columns"]},
    )
    signs = propose_signs(
        columns, seen.sample, target=target, fixed={str(rule["columns"][-1]) for rule in rules}
    )
    # A sum may compute the number whose sign determines a word.
    rules = [*rules, *sums, *signs]
    fixed = [name for rule in rules for name in columns_of(rule)]
    # Local times of different zones have no meaningful difference.
    apart = list(types.zones) if len(set(types.zones.values())) > 1 else []
    propose_differences(columns, seen.sample, target=target, fixed=[*fixed, *apart])
    rules += propose_durations(columns, seen.sample, target=target, fixed=fixed, apart=apart)
    fixed = [*fixed, *apart, *(name for rule in rules for name in columns_of(rule))]
    rules += propose_orders(columns, seen.sample, target=target, fixed=fixed)
    rules += propose_missing_together(
        columns, seen.sample, target=target, null_texts=null_texts, most=max(0, MOST_RULES - len(rules))
    )
    # What a rule determines may be missing by that rule already.
    determined = [rule["columns"][-1] for rule in rules if rule["kind"] == "determines"]
    return rules + propose_skips(
        columns,
        seen.sample,
        fixed=[target, *determined],
        null_texts=null_texts,
        most=max(0, MOST_RULES - len(rules)),
    )


def _say_whose(seen: Seen, unit: str | None) -> None:
    """Give each column the number of privacy units, and numeric ones the unit of each row."""
    is_each_row = unit is None or seen.facts[unit].unique
    owners = None if is_each_row else seen.sample.owners(str(unit))
    for name, fact in seen.facts.items():
        fact.units = seen.rows if unit is None else seen.facts[unit].distinct
        if owners is not None and fact.numbers and fact.odd is not None:
            fact.owned = seen.sample.numbers(name), owners


def _columns(
    facts: Mapping[str, Facts],
    words: FrameWords,
    written: Mapping[str, Writing],
    types: FrameTypes,
    *,
    unit: str | None,
    mark: str,
) -> list[dict[str, Any]]:
    columns = []
    for name, fact in facts.items():
        # A file-wide decimal comma is no format of a column.
        has_format = name in written and bool(written[name].number_format(decimal_mark=mark))
        if name == unit:
            columns.append({"name": name, "kind": "unit"})
            continue
        if (levels := levels_of(types, name)) is not None and fact.present:
            kind = levels
        elif has_format:
            kind = written_kind(name, fact, written[name], decimal_mark=mark)
        else:
            kind = _kind(name, fact, words)
            if kind["kind"] == "categorical" and may_be_measured(name, fact):
                measured = _measured(name, fact) | {"null": "category", "unreadable": "null"}
                kind |= {NOTE: f"{kind[NOTE]} {or_measured(fact)}", ELSE: _otherwise(fact, measured)}
            if kind["kind"] == "categorical" and (scaled := on_a_scale(fact)) is not None:
                kind = scaled | {ELSE: _otherwise(fact, kind)}
            if kind["kind"] in {"categorical", "ignored"} and not fact.numeric and is_mostly_time(fact):
                kind |= {NOTE: f"{kind[NOTE]} {on_many_unread(fact)}", ELSE: _otherwise(fact, times(fact))}
        columns.append(_column(name, fact, kind))
    return columns


def _unreadable_to_null(column: dict[str, Any]) -> None:
    key = "unreadable" if column["kind"] == "numeric" else "unknown"
    column |= {key: "null"}
    column[MARK].append(key)


def _column(name: str, fact: Facts, kind: dict[str, Any]) -> dict[str, Any]:
    column: dict[str, Any] = {"name": name} | kind
    present = fact.present - sum((fact.odd or {}).values()) if fact.numeric else fact.present
    if column["kind"] not in {"ignored", "unit"} and present < fact.rows:
        column["null"] = "category"
    taken = [key for key in column if not key.startswith("_")]
    return column | {MARK: taken}


def _otherwise(fact: Facts, kind: dict[str, Any]) -> dict[str, Any]:
    """The keys and values of a column with another kind."""
    otherwise = _column("", fact, kind)
    del otherwise["name"]
    return otherwise


def _kind(name: str, fact: Facts, frame: FrameWords) -> dict[str, Any]:
    if (reason := _unread(name, fact, frame) or _not_modelled(name, fact, frame)) is not None:
        return {"kind": "ignored", NOTE: reason}
    if is_time(fact):
        return times(fact)
    if fact.numeric and (levels := _graded(name, fact)) is not None:
        return levels
    if fact.numeric and (moments_note(name, fact) or not are_codes(name, fact)):
        return _measured(name, fact)
    return words(name, fact, codes=fact.numeric, frame=frame)


def _unread(name: str, fact: Facts, frame: FrameWords) -> str | None:
    """How to write the numbers of a column that are read in two ways, or in none; None for other columns."""
    if not fact.readable or fact.numeric or fact.distinct <= MOST_INTEGER_CODES:
        return None
    if isinstance(writing := writing_of(fact.values), Ambiguous):
        return f"{NUMBERS_LEFT_OUT}: {writing.advice(name, frame)}."
    return f"{NUMBERS_LEFT_OUT}: {OTHER_MINUSES}" if have_other_minuses(fact.values) else None


def _measured(name: str, fact: Facts) -> dict[str, Any]:
    if may_be_key(fact) and names_a_key(name) and fact.distinct >= _FEWEST_NUMBERED:
        return {"kind": "ignored", NOTE: _CALLED_KEY, ELSE: _otherwise(fact, _numbers(name, fact))}
    if max(-fact.lower, fact.upper) > LARGEST:
        return {
            "kind": "ignored",
            NOTE: "Numbers beyond 2^52, about 4 quadrillion, are taken for identifiers. If they measure something, write them in a larger unit and draft again.",
        }
    if repeats_like_keys(name, fact):
        return {"kind": "ignored", NOTE: _LIKE_KEYS, ELSE: _otherwise(fact, _numbers(name, fact))}
    return _numbers(name, fact)


def _numbers(name: str, fact: Facts) -> dict[str, Any]:
    column = numbers(name, fact)
    notes = [column[NOTE], moments_note(name, fact), words_note(fact), _may_be_graded(name, column)]
    column[NOTE] = " ".join(note for note in notes if note)
    return column


def _not_modelled(name: str, fact: Facts, frame: FrameWords) -> str | None:
    """The reason for dropping a column; None if it is kept."""
    if not fact.readable:
        return f"Values of this type cannot be modelled. In {frame.library}, {frame.unreadable}."
    if fact.present == 0:
        return "The column is empty."
    if is_time(fact):
        return None
    if (reason := _like_times(fact)) is not None:
        return reason
    measured = fact.numeric and (not fact.whole or names_amount(name) or moments_note(name, fact) != "")
    if fact.unique and fact.present >= FEWEST_IDS and not measured:
        return "Every value differs: an identifier or free text, which must not be modelled."
    return identifying(name, fact)


def _like_times(fact: Facts) -> str | None:
    """Form to write in place of dates or times that cannot be read; None for other values."""
    if has_unclear_years(fact):
        return (
            "The two-digit years of these dates may be of either century: write four digits, and draft again."
        )
    if begin_as_times(fact.values):
        return (
            "Its times are written in a form that is not read, such as with a zone's name. Write them as 2024-05-31T09:30:00, or with an offset as"
            " 2024-05-31T09:30:00+02:00, and draft again."
        )
    return None


def _graded(name: str, fact: Facts) -> dict[str, Any] | None:
    """Draft levels of whole numbers in a row from 0 or 1 under a name of levels; None for other numbers.

    The outermost levels are those at which bounds would lie, so none is a single row's. A level has the same code as a number with a
    bin of its own, so levels change neither cost nor accuracy. They say that a mean has no meaning.
    """
    if not names_levels(name) or not fact.whole or fact.zero_led or fact.censored:
        return None
    texts = sorted((text for text in fact.values if text not in (fact.odd or ())), key=float)
    values = [float(text) for text in texts]
    if not _are_in_a_row(values) or sum(fact.spread.values()) < _ROWS_A_LEVEL * len(values):
        return None
    column = numbers(name, fact)
    if column.get("specials") or (column["lower"], column["upper"]) != (values[0], values[-1]):
        return None
    return {"kind": "ordinal", "levels": texts, NOTE: _BY_NAME}


def _may_be_graded(name: str, column: dict[str, Any]) -> str:
    """A sentence on levels for the note of numbers that may be grades or answers; empty for others."""
    if column["kind"] != "numeric" or column["type"] != "integer" or "bins" in column or "edges" in column:
        return ""
    values = range(int(column["lower"]), int(column["upper"]) + 1)
    is_other = counts_things(name) or names_amount(name) or natural_scale(name)
    return "" if is_other or not _are_in_a_row(values) else _MAY_BE


def _are_in_a_row(values: Any) -> bool:  # noqa: ANN401 - whole numbers of either type, in order
    return (
        _FEWEST_LEVELS <= len(values) <= _MOST_LEVELS
        and values[0] in {0, 1}
        and values[-1] - values[0] == len(values) - 1
    )
