"""Numbers and times written as text: "$1,234.50", "12.5 %", "1.234,50", "17:45".

A draft declares the format as `number_format` of the column, and reads the numbers by it. If all numbers of a column could be read in two
ways, like 1,234, only a person knows the right one: the draft leaves the column out and explains how to write it plainly.

Spreadsheets in much of Europe write all numbers of a file with a decimal comma, which then is the decimal mark of the file.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from understudy.drafts.categories import NOTE
from understudy.drafts.facts import MOST_ODD, Facts, are_many_numbers, means_missing
from understudy.drafts.frame_words import PANDAS, FrameWords
from understudy.drafts.hints import NUMBERS_LEFT_OUT
from understudy.drafts.numbers import MOST_INTEGER_CODES, numbers
from understudy.drafts.words_among_numbers import words_note

DECIMAL_MARKS: Final = (".", ",")
OTHER_MINUSES: Final = (
    "negative numbers are in parentheses, or have their minus at the end or a minus sign that is no hyphen. Write them with a hyphen in front, such as"
    " -12.50, and draft again."
)
"""Advice on numbers below zero that are not read."""
_SIGN: Final = r"(?:R\$|[$€£¥₹₩₺]|USD|EUR|GBP|CHF|CAD|AUD|JPY|INR|CNY|SEK|NOK|DKK|PLN|BRL|kr\.?|zł)"
_OTHER_MARK: Final = {".": ",", ",": "."}
_GROUPING: Final = "'’\u00a0\u202f"
_DECLARED: Final = {"’": "'", "\u00a0": " ", "\u202f": " "}
"""The declared sign for each written one."""
_SHARE: Final = 0.95
_FEWEST_WITH_SIGNS: Final = 12
"""Minimum distinct values of amounts with a sign such as %; fewer are words."""
_CLOCK: Final = re.compile(
    r"(?P<large>[0-9]{1,4}):(?P<small>[0-5][0-9])(?::[0-5][0-9](?:\.[0-9]+)?)?(?:\s?(?P<half>[AaPp])[Mm])?"
)
_WITH_COMMA: Final = re.compile(r"[+-]?[0-9]+(?:,[0-9]+)?")
_WITH_GROUPS: Final = re.compile(r"[+-]?[1-9][0-9]{0,2}(?:,[0-9]{3})+")
"""A number that is whole with groups of thousands to one reader, and a fraction to another."""
_WHOLE_WITH_POINTS: Final = re.compile(r"[+-]?(?:[1-9][0-9]{0,2}(?:\.[0-9]{3})*|0)")
"""A number that is whole where points group thousands: none from 1000 on lacks its points."""
_OTHER_MINUS: Final = re.compile(
    r"(?P<sign>[^0-9()]*)\((?P<bare>[^()]*[0-9][^()]*)\)|(?P<before>[^-]*[0-9])\s?[-−]|(?P<prefix>[^0-9−]*)−(?P<after>[^−]*[0-9][^−]*)"
)
"""A number below zero in parentheses, with its minus at the end, or with the typographic one."""
_LONGEST: Final = 64
"""Maximum signs of a number; longer texts are none."""
_HALF_DAY: Final = 12
_DAY_MINUTES: Final = 1440
_HALF_DAY_MINUTES: Final = 720


def _form(mark: str) -> re.Pattern[str]:
    """The form of numbers with a given decimal mark."""
    other = _OTHER_MARK[mark]
    # The first group of thousands is never 0: "0,577" has a decimal comma.
    number = rf"(?:[1-9][0-9]{{0,2}}(?:[{other}{_GROUPING}][0-9]{{3}})+|[0-9]+)(?:\{mark}[0-9]+)?"
    return re.compile(
        rf"(?P<minus>[-+]?)\s?(?P<before>{_SIGN}?)\s?[-+]?(?P<number>{number})\s?(?P<after>{_SIGN}|%|)"
    )


_FORMS: Final = {mark: _form(mark) for mark in ".,"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Writing:
    """The format of a column's numbers; the attributes are those of `number_format` in docs/domain.md.

    Attributes:
        thousands: The separator of thousands, or None.
        decimal_mark: The point or comma before decimals.
        affixes: Texts before or after numbers.
        clock: Whether the numbers have a colon.
    """

    thousands: str | None = None
    decimal_mark: str = "."
    affixes: tuple[str, ...] = ()
    clock: bool = False

    def number_format(self, *, decimal_mark: str) -> dict[str, Any]:
        """The declaration, for a file with this decimal mark."""
        if self.clock:
            return {"clock": True}
        mark = None if self.decimal_mark == decimal_mark else self.decimal_mark
        found = {"thousands": self.thousands, "decimal_mark": mark, "affixes": list(self.affixes)}
        return {key: value for key, value in found.items() if value}

    def plain(self, values: Any) -> Any:  # noqa: ANN401 - an Arrow array of text
        """Numbers as plain text; other texts stay unchanged."""
        import pyarrow as pa
        import pyarrow.compute as pc

        # Times of day in a frame are no text.
        texts = values.cast(pa.string())
        if self == Writing(decimal_mark=","):
            return pc.replace_substring(texts, ",", ".")
        coded = pc.dictionary_encode(texts)
        plain = [None if text is None else self._plain(text) for text in coded.dictionary.to_pylist()]
        return pa.array(plain, pa.string()).take(coded.indices)

    def _plain(self, text: str) -> str:
        bare = text.strip()
        if self.clock:
            minutes = minutes_of(bare)
            return text if minutes is None else str(minutes)
        found = _FORMS[self.decimal_mark].fullmatch(bare)
        if found is None:
            return text
        sign = "-" if "-" in bare else ""
        other = _OTHER_MARK[self.decimal_mark]
        return sign + re.sub(f"[{other}{_GROUPING}]", "", found["number"]).replace(",", ".")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ambiguous:
    """Numbers such as 1,234 that are whole with groups of thousands to one reader, and fractions to another."""

    mark: str

    def advice(self, name: str, words: FrameWords = PANDAS) -> str:
        """Advice before the draft, in one sentence."""
        whole, fraction = (words.changed(name, form) for form in self._forms(words))
        return (
            f"write them plainly, and draft again; only you know what 1{self.mark}234 means (in {words.library},"
            f" {whole} if it is 1234, and {fraction} if it is 1.234; for a CSV file, `--decimal-mark` decides)"
        )

    def _forms(self, words: FrameWords) -> tuple[str, str]:
        forms = (words.with_point, words.with_comma)
        return forms if self.mark == "," else (forms[1], forms[0])


def writing_of(texts: Collection[str]) -> Writing | Ambiguous | None:
    """Find the format of a column that holds hardly anything but written numbers; None for plain numbers and for other columns."""
    if not any(map(_is_marked, texts)):
        return None
    if sum(minutes_of(text) is not None for text in texts) >= _SHARE * len(texts):
        return Writing(clock=True)
    shares = {mark: sum(form.fullmatch(text) is not None for text in texts) for mark, form in _FORMS.items()}
    if max(shares.values()) < _SHARE * len(texts):
        return None
    if shares["."] == shares[","]:
        mark = next((sign for sign in ",." if any(sign in text for text in texts)), None)
        if mark is not None:
            return (
                _writing(_OTHER_MARK[mark], texts)
                if _are_amounts_in_thousands(mark, texts)
                else Ambiguous(mark=mark)
            )
    return _writing("." if shares["."] >= shares[","] else ",", texts)


def written_columns(facts: Mapping[str, Facts], *, decimal_mark: str | None) -> dict[str, Writing]:
    """The columns with written numbers. Columns with few distinct values are words.

    With a known decimal mark no number is ambiguous. Without one, other columns may show it.
    """
    columns = {
        name: fact.values
        for name, fact in facts.items()
        if fact.readable and not fact.numeric and fact.distinct > _FEWEST_WITH_SIGNS
    }
    found = {name: writing_of(texts) for name, texts in columns.items()}
    # Fewer distinct values are words, unless a sign such as % shows amounts.
    found = {
        name: writing
        for name, writing in found.items()
        if len(columns[name]) > MOST_INTEGER_CODES
        or (isinstance(writing, Writing) and writing.affixes and not writing.clock)
    }
    known = decimal_mark or _shown_mark(found.values())
    if known is not None:
        found = {
            name: _writing(known, columns[name]) if isinstance(writing, Ambiguous) else writing
            for name, writing in found.items()
        }
    if known == ",":
        grouped = Writing(thousands=".", decimal_mark=",")
        found |= {name: grouped for name, fact in facts.items() if _may_have_grouping_points(fact)}
    return {name: writing for name, writing in found.items() if isinstance(writing, Writing)}


def have_other_minuses(texts: Collection[str]) -> bool:
    """Whether texts are numbers once those below zero have a plain minus in front, as (12.50), 12.50- and −12.50 have not."""
    plain = [_with_plain_minus(text.strip()) for text in texts]
    if all(text is None for text in plain):
        return False
    numbers = [old if new is None else new for old, new in zip(texts, plain, strict=True)]
    read = sum(any(form.fullmatch(text.strip()) for form in _FORMS.values()) for text in numbers)
    return read >= _SHARE * len(numbers)


def _with_plain_minus(text: str) -> str | None:
    found = None if len(text) > _LONGEST else _OTHER_MINUS.fullmatch(text)
    return None if found is None else "-" + "".join(part for part in found.groups() if part)


def minutes_of(text: str) -> int | None:
    """The number of sixtieths of a text such as 17:45 or 5:45 PM; None for other texts."""
    found = _CLOCK.fullmatch(text)
    if found is None:
        return None
    large = int(found["large"])
    if found["half"] is None:
        return 60 * large + int(found["small"])
    if not 0 < large <= _HALF_DAY:
        return None
    return 60 * (large % _HALF_DAY + _HALF_DAY * (found["half"] in "Pp")) + int(found["small"])


def _shown_mark(found: Iterable[Writing | Ambiguous | None]) -> str | None:
    """The decimal mark of all columns that can be read in one way alone; None if none or both are shown."""
    shown = {
        writing.decimal_mark
        for writing in found
        if isinstance(writing, Writing) and (writing.decimal_mark == "," or writing.thousands in {",", "."})
    }
    return shown.pop() if len(shown) == 1 else None


def _may_have_grouping_points(fact: Facts) -> bool:
    """Whether all numbers of a column of text are whole if points group thousands, as 12 and 1.234 are."""
    if not fact.readable or not fact.is_text or not fact.numeric or fact.decimals == 0:
        return False
    texts = [text for text in fact.values if text not in (fact.odd or ())]
    return all(_WHOLE_WITH_POINTS.fullmatch(text) for text in texts)


def _writing(mark: str, texts: Collection[str]) -> Writing:
    found = [match for match in map(_FORMS[mark].fullmatch, texts) if match is not None]
    affixes = {match[side] for match in found for side in ("before", "after")} - {""}
    other = _OTHER_MARK[mark]
    signs = Counter(
        _DECLARED.get(sign, sign)
        for match in found
        for sign in re.findall(f"[{other}{_GROUPING}]", match["number"])
    )
    thousands = signs.most_common(1)[0][0] if signs else None
    return Writing(thousands=thousands, decimal_mark=mark, affixes=tuple(sorted(affixes)))


def _are_amounts_in_thousands(mark: str, texts: Collection[str]) -> bool:
    """Whether all marked numbers are amounts of money, mostly with at least two digits before the mark: such amounts have no three decimals."""
    marked = [text for text in texts if mark in text]
    tens = sum(re.search(rf"[1-9][0-9]+\{mark}[0-9]{{3}}(?![0-9])", text) is not None for text in marked)
    return 2 * tens > len(marked) and all(re.search(_SIGN, text) is not None for text in marked)


def _is_marked(text: str) -> bool:
    """Whether a text has a sign that no plain number has."""
    return re.search(rf"[,:%{_GROUPING}]|{_SIGN}", text) is not None


def columns_with_commas(facts: Mapping[str, Facts]) -> list[str]:
    """The columns that are numbers with decimal commas, from facts with commas unchanged."""
    return [
        name
        for name, fact in facts.items()
        if fact.readable and not fact.numeric and _are_numbers(fact.values)
    ]


def guess_mark(facts: Mapping[str, Facts], *, delimiter: str) -> str:
    """Guess the decimal mark of a file: a comma if some numbers need it, none has a point, and commas do not separate the fields.

    A field such as "1,2" in a comma-separated file may be two answers. Numbers that could all have groups of thousands decide nothing,
    whatever their sign.
    """
    has_points = any(
        fact.numeric and fact.decimals > 0 and not _may_have_grouping_points(fact) for fact in facts.values()
    )
    if delimiter == "," or has_points:
        return "."
    says = any(
        "," in text and _WITH_COMMA.fullmatch(text) and not _WITH_GROUPS.fullmatch(text)
        for name in columns_with_commas(facts)
        for text in facts[name].values
    )
    return "," if says else "."


def _are_numbers(texts: Mapping[str, int]) -> bool:
    """Whether texts are numbers, some with a comma, apart from words for "missing" and a few other words beside many numbers."""
    others = [text for text in texts if _WITH_COMMA.fullmatch(text) is None]
    if not any("," in text for text in texts) or len(others) == len(texts):
        return False
    present = sum(texts.values())
    rows = present - sum(texts[text] for text in others)
    return all(map(means_missing, others)) or (
        len(others) <= MOST_ODD and are_many_numbers(len(texts) - len(others), rows=rows, present=present)
    )


def plain_batch(batch: Any, written: Mapping[str, Writing]) -> Any:  # noqa: ANN401 - an Arrow batch
    """A batch with written numbers as plain text."""
    import pyarrow as pa

    if not written:
        return batch
    arrays = [
        written[name].plain(values) if name in written else values
        for name, values in zip(batch.schema.names, batch.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, names=batch.schema.names)


def written_kind(name: str, fact: Facts, writing: Writing, *, decimal_mark: str) -> dict[str, Any]:
    """Draft a column of numbers that were read in a written format: kind, format, bounds and bins, and a note."""
    if not fact.numeric:
        words = "several words stand beside the numbers. Empty those fields, or write numbers there, and draft again."
        advice = OTHER_MINUSES if have_other_minuses(fact.values) else words
        return {"kind": "ignored", NOTE: f"{NUMBERS_LEFT_OUT}: {advice}"}
    spans_a_day = (
        fact.upper - fact.lower >= _HALF_DAY_MINUTES and fact.lower >= 0 and fact.upper < _DAY_MINUTES
    )
    if writing.clock and spans_a_day:
        found: dict[str, Any] = {"kind": "numeric", "type": "integer", "lower": 0, "upper": _DAY_MINUTES - 1}
        found |= {"bins": 24, NOTE: "One bin per hour."}
    else:
        found = numbers(name, fact)
    how = f"Written with {_signs(writing)}; synthetic rows have plain numbers."
    if writing.clock:
        how = "Hours and minutes are read as minutes, minutes and seconds as seconds: 17:45 is 1065, and synthetic rows have these numbers."
    return {
        **found,
        "number_format": writing.number_format(decimal_mark=decimal_mark),
        NOTE: " ".join(note for note in (found[NOTE], how, words_note(fact)) if note),
    }


def _signs(writing: Writing) -> str:
    """The signs in the numbers that plain numbers do not have."""
    parts = [f"“{affix}”" for affix in writing.affixes]
    if writing.thousands is not None:
        parts.append(f"“{writing.thousands}” between thousands")
    if writing.decimal_mark == ",":
        parts.append("“,” before decimals")
    return " and ".join(parts)
