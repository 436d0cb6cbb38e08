"""The meaning of a column's words in a draft: a truth value, ordered levels, categories, or texts that are left out.

The rules are public and the same for every table. They decide what a draft proposes; a person decides what is declared.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from understudy.drafts.bounds import FEWEST_TO_LEARN
from understudy.drafts.code_forms import CodeForm, PublicBook
from understudy.drafts.countries import BOOKS as COUNTRIES
from understudy.drafts.facts import Facts
from understudy.drafts.frame_words import PANDAS, FrameWords
from understudy.drafts.levels import ordered, ordered_beside
from understudy.drafts.numbers import FEWEST_ROWS_OF_A_WORD, MOST_INTEGER_CODES
from understudy.drafts.words import code_book, code_form

NOTE = "_note"
BOOK = "_book"
"""Label of the public book that holds the values of a column, for `understudy.drafts.confirmation`."""
NOT_MODELLED = frozenset({"ignored", "unit"})
"""Kinds of columns that no release has."""

_OTHER = "other"
"""A domain's word for words that are not listed."""
_MOST_CATEGORIES = 200
_MOST_LEARNT = 64
_SHORT_LIST = 10
_ROWS_PER_FREE_TEXT = 5
_ROWS_OF_A_LEARNT_WORD = 250
"""Rows that a word needs to be learnt, about, at epsilon 1 in a table of twenty columns."""
_CODES = "Numbers with the name or distribution of codes; if they count or grade something, make the column numeric or ordinal."
_TWO_NUMBERS = re.compile(r"\s*\d+([.,]\d+)?\s*[/xX×]\s*\d+([.,]\d+)?\s*")
_APART = "Each text holds two numbers, such as 120/80: write them as two columns, so that they are modelled as numbers and stay close to each other."
_TRUE_WORDS = {"true", "yes", "y", "t", "ja", "oui", "sí", "sì", "si", "wahr", "vrai", "verdadero", "vero"}
_FALSE_WORDS = {"false", "no", "n", "f", "nein", "non", "falsch", "faux", "falso"}


def words(name: str, fact: Facts, *, codes: bool, frame: FrameWords = PANDAS) -> dict[str, Any]:
    """Draft a column of words, or of numbers that are codes: its kind and words, and a note."""
    odd = set(fact.odd or ()) if fact.numeric else set()
    counts = {word: count for word, count in fact.values.items() if word not in odd}
    if len(counts) == 2 and not codes and (boolean := _boolean(counts)) is not None:  # noqa: PLR2004
        return boolean
    fewest = min(FEWEST_ROWS_OF_A_WORD, fact.rows // 100)
    kept = [word for word, count in counts.items() if count >= fewest]
    form = code_form(name, counts)
    shortened = None if form is None else form.book_of(counts)
    if shortened is not None and len(shortened.words) <= _MOST_CATEGORIES:
        return _whole_book(shortened, counts, *_on_lost_zeros(name, form, counts, frame))
    label = code_book(name, counts)
    if len(counts) <= MOST_INTEGER_CODES and not codes and (levels := ordered(counts)) is not None:
        return {"kind": "ordinal", "levels": levels, NOTE: "Levels in order."}
    if (
        fact.thinned
        or len(kept) > _MOST_CATEGORIES
        or (len(counts) > MOST_INTEGER_CODES and label is not None)
        or (len(counts) > MOST_INTEGER_CODES and 2 * sum(counts[word] for word in kept) < fact.present)
    ):
        many = _prefixed(fact, form, counts) or _many_words(fact, label, form, shortened)
        if all(map(_TWO_NUMBERS.fullmatch, counts)):
            return many | {NOTE: f"{many[NOTE]} {_APART}"}
        more = _on_lost_zeros(name, form, counts, frame)
        is_whole = many["kind"] == "categorical" and "prefix" not in many
        more += _on_cases(name, counts, frame) if is_whole else []
        return many | {NOTE: " ".join([many[NOTE], *more])}
    dropped = len(counts) - len(kept)
    reasons = (
        [{1: "One number.", 2: "Two numbers."}.get(len(counts), _CODES)] if codes and form is None else []
    )
    if dropped:
        listed = [word for word in kept if word != _OTHER]
        as_other = "" if len(listed) == len(kept) else f", and the word '{_OTHER}' counts as one of them"
        reasons.append(f"Words with fewer than {fewest} rows count as '{_OTHER}'{as_other}.")
        kept = listed
    if form is not None:
        reasons.append(f"{_capital(form.label)}. {_instead(form, shortened)}")
        reasons += _on_lost_zeros(name, form, counts, frame)
    elif len(kept) > _SHORT_LIST or label in COUNTRIES:
        whole = "its categories as 'all' list the whole book" if label in COUNTRIES else "list the whole book"
        reasons.append(
            f"If these are {label or 'codes of a catalogue'}, {whole}: it reveals nothing about the rows."
        )
    reasons += _on_cases(name, counts, frame)
    return {
        "kind": "categorical",
        "categories": sorted(kept, key=float) if codes else sorted(kept),
        "other": dropped > 0,
        NOTE: " ".join(reasons) or "All words of the rows.",
    } | ({} if shortened is None else {BOOK: shortened.label})


def on_a_scale(fact: Facts) -> dict[str, Any] | None:
    """Levels of a column that also has answers on no scale, such as "Don't know", which count as missing; None for other words."""
    if fact.numeric or fact.thinned or len(fact.values) > MOST_INTEGER_CODES:
        return None
    if (found := ordered_beside(fact.values)) is None:
        return None
    levels, beside = found
    listed = ", ".join(f"“{word}”" for word in sorted(beside))
    note = f"Levels in order. On no scale, and taken as missing: {listed}. Give its kind as 'categorical' to keep the answers apart, without an order."
    return {"kind": "ordinal", "levels": levels, "null": "category", "unknown": "null", NOTE: note}


def _on_lost_zeros(name: str, form: CodeForm | None, words: Collection[str], frame: FrameWords) -> list[str]:
    """Advice for codes that were read as numbers: one sentence or none."""
    whole = None if form is None else form.lost_zeros(words)
    if whole is None:
        return []
    return [
        (
            f"Codes such as {whole} were read as numbers and lost their leading zeros, and synthetic rows will lack them too: read the column as"
            f" text before you draft (in {frame.library}, {frame.read_as_text(name)}), and restore them where a file has lost them."
        )
    ]


def _on_cases(name: str, words: Collection[str], frame: FrameWords) -> list[str]:
    """Advice for words that differ only in case: one sentence or none."""
    if len({word.casefold() for word in words}) == len(words):
        return []
    return [
        (
            "Some words differ only in case and count as different words: if they mean the same, write them alike and draft again"
            f" (in {frame.library}, {frame.changed(name, frame.lower)})."
        )
    ]


def _whole_book(book: PublicBook, words: Iterable[str], *notes: str) -> dict[str, Any]:
    """All words of a small public book, whether they occur or not."""
    return {
        "kind": "categorical",
        "categories": list(book.words),
        "other": not set(words).issubset(book.words),
        NOTE: " ".join(
            [
                f"All {len(book.words)} {book.label}, a public book: the list reveals nothing about the rows.",
                *notes,
            ]
        ),
    }


def _prefixed(fact: Facts, form: CodeForm | None, counts: Mapping[str, int]) -> dict[str, Any] | None:
    """Full codes by their beginning: the longest one whose words are a small public book or can mostly be learnt; None if there is none."""
    found = None
    if form is None or form.book_of(counts) is not None:
        return None
    for short in form.shortenings(counts):
        rows = sum(short.words.values())
        begun = (
            f"{_capital(form.label)}, of which only {short.said} count, for a rare full code may identify a person. Synthetic rows"
            " have the shortened codes."
        )
        book = f"{len(short.book.words):,} {short.book.label}"
        if len(short.book.words) <= _MOST_CATEGORIES:
            listed = f"All {book} are declared, a public book: the list reveals nothing about the rows."
            beside = sum(count for word, count in short.words.items() if word not in short.book.words)
            rest = (
                f" {100 * beside / rows:.1g} % of the values begin otherwise, such as in small letters, and count as '{_OTHER}'."
                if beside
                else ""
            )
            return {
                "kind": "categorical", "prefix": short.prefix, "categories": list(short.book.words), "other": beside > 0, NOTE: f"{begun} {listed}{rest}",
            }  # fmt: skip
        learnable = sum(count for count in short.words.values() if count >= _ROWS_OF_A_LEARNT_WORD)
        are_many = fact.present >= _ROWS_PER_FREE_TEXT * len(short.words) and fact.rows >= FEWEST_TO_LEARN
        if are_many:
            learnt = (
                "The common ones are learnt with noise, for one eighth of delta. To list all"
                f" {book} instead, a public book, answer 'all' in `understudy domain confirm`."
            )
            found = {
                "kind": "categorical", "prefix": short.prefix, "categories": "learn", "most": _MOST_LEARNT, "other": True, NOTE: f"{begun} {learnt}",
                BOOK: short.book.label,
            }  # fmt: skip
        if are_many and 2 * learnable >= rows:
            break
    return found


def _many_words(
    fact: Facts, label: str | None, form: CodeForm | None, shortened: PublicBook | None
) -> dict[str, Any]:
    instead = "" if form is None else f" {_instead(form, shortened)}"
    if fact.present < _ROWS_PER_FREE_TEXT * fact.distinct or fact.rows < FEWEST_TO_LEARN:
        coarser = () if form is None else form.books_beyond(shortened)
        common = 'To keep the common ones, list them as categories with "other": true.'
        remedy = common if form is None or not coarser else _shorten(form, coarser)
        return {
            "kind": "ignored",
            NOTE: f"{_capital(label or 'many different texts')}, each in few rows. {remedy}",
        }
    return {
        "kind": "categorical",
        "categories": "learn",
        "most": _MOST_LEARNT,
        "other": True,
        NOTE: f"{_capital(label or 'many different words')}: the common ones are learnt with noise, for one eighth of delta.{_on_rare_words(fact)}{instead}",
    } | ({} if shortened is None else {BOOK: shortened.label})


def _on_rare_words(fact: Facts) -> str:
    """A sentence on words that are too rare to be learnt, where most rows have one; empty elsewhere."""
    learnable = sum(count for count in fact.values.values() if count >= _ROWS_OF_A_LEARNT_WORD)
    share = learnable / max(1, fact.values.total())
    if 2 * share >= 1:
        return ""
    return (
        f" At epsilon 1 a word needs about {_ROWS_OF_A_LEARNT_WORD} rows, and {100 * share:.0f} % of the rows have such a word; '{_OTHER}' takes the"
        " place of the others. List the words if they are public; else ignore the column."
    )


def _instead(form: CodeForm, shortened: PublicBook | None) -> str:
    """Why codes of a public system are sensitive, and how a person declares a public book instead."""
    if shortened is None:
        return _shorten(form, form.books)
    return (
        f"A rare code may identify a person. Declare the public book instead: answer 'all' in `understudy domain confirm` to list all"
        f" {len(shortened.words):,} {shortened.label}."
    )


def _shorten(form: CodeForm, books: Sequence[PublicBook]) -> str:
    listed = " or ".join(f"all {len(book.words):,} {book.label}" for book in books)
    return f"A rare code may identify a person. To declare a public book ({listed}), {form.remedy} and draft that file."


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _boolean(words: Iterable[str]) -> dict[str, Any] | None:
    true = next((word for word in words if word.lower() in _TRUE_WORDS), None)
    false = next((word for word in words if word.lower() in _FALSE_WORDS), None)
    return (
        None
        if true is None or false is None
        else {"kind": "boolean", "true": true, "false": false, NOTE: "Two words."}
    )
