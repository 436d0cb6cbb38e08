"""ICD codes and postcodes: the public form that tells them apart, and public books of what they are shortened to.

A full book of either is large, changes every year and is often licensed (docs/decisions/code-books.md). What a code is shortened to has a book
by its form alone: every letter with every two digits, every three digits. Such a book is complete for any rows, so it reveals nothing about
them.
"""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import product
from string import ascii_uppercase, digits
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicBook:
    """All words that codes of a form can be shortened to.

    Attributes:
        label: What they are, in the plural.
        words: All of them.
    """

    label: str
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeForm:
    """The form of the codes of one system.

    Attributes:
        label: What they are, in the plural.
        full: The form of one code.
        alone: The form that tells what they are whatever the column is called; None where other things are written so. Five digits may be
            counts, or identifiers.
        remedy: What a person does before the draft so that a public book can be declared.
        books: Of shortened codes, the finest first.
    """

    label: str
    full: re.Pattern[str]
    alone: re.Pattern[str] | None = None
    remedy: str
    books: tuple[PublicBook, ...]

    def book_of(self, texts: Collection[str]) -> PublicBook | None:
        """The book that nearly all texts come from; None where they are not shortened."""
        for book in self.books:
            known = frozenset(book.words)
            if _share(text in known for text in texts) >= _KNOWN_SHARE:
                return book
        return None

    def books_beyond(self, book: PublicBook | None) -> tuple[PublicBook, ...]:
        """The books that are coarser than one; all of them where codes are not shortened."""
        return self.books if book is None else self.books[self.books.index(book) + 1 :]


_KNOWN_SHARE: Final = 0.95
_POSTAL: Final = frozenset({
    "zip", "zipcode", "zcta", "postcode", "postcodes", "postal", "postalcode", "plz", "postleitzahl", "pincode",
})  # fmt: skip
_ZIP: Final = frozenset({"zip", "zipcode", "zcta"})
_ICD_NAMES: Final = frozenset({"icd"})
_DIAGNOSIS: Final = frozenset({"icd", "diag", "diagnosis", "dx", "dgns"})
_FEWEST_UNNAMED: Final = 20
_FEWEST_CALLED_DIAGNOSES: Final = 10
_FEWEST_BEGINNINGS: Final = 5
_FEWEST_LENGTHS: Final = 3
_CATEGORY: Final = 3
"""Characters of a category of ICD."""
_HALF: Final = 0.5

_AREAS: Final = """
AB AL B BA BB BD BH BL BN BR BS BT CA CB CF CH CM CO CR CT CV CW DA DD DE DG DH DL DN DT DY E EC EH EN EX FK FY G GL GU GY HA HD
HG HP HR HS HU HX IG IM IP IV JE KA KT KW KY L LA LD LE LL LN LS LU M ME MK ML N NE NG NN NP NR NW OL OX PA PE PH PL PO PR RG RH
RM S SA SE SG SK SL SM SN SO SP SR SS ST SW SY TA TD TF TN TQ TR TS TW UB W WA WC WD WF WN WR WS WV YO ZE
"""
_UK_AREAS: Final = tuple(_AREAS.split())
_CANADIAN: Final = "ABCEGHJKLMNPRSTVXY"
"""First letters of Canadian postal codes: provinces, territories and parts of Quebec and Ontario."""


def _all(*places: Iterable[str]) -> tuple[str, ...]:
    return tuple("".join(one) for one in product(*places))


_TWO_DIGITS: Final = PublicBook(label="two leading digits of postcodes", words=_all(digits, digits))
_THREE_DIGITS: Final = PublicBook(
    label="three leading digits of ZIP codes", words=_all(digits, digits, digits)
)

# ICD-10-CM has categories such as C7A and C7B, so the third character is a digit, A or B.
_ICD_10: Final = CodeForm(
    label="ICD-10 codes",
    full=re.compile(r"[A-Z][0-9][0-9A-Z](\.?[0-9A-Z]{1,4})?"),
    remedy="write a column of their first three characters or of their first letter",
    books=(
        PublicBook(
            label="three-character categories of ICD-10", words=_all(ascii_uppercase, digits, f"{digits}AB")
        ),
        PublicBook(label="first letters of ICD-10", words=tuple(ascii_uppercase)),
    ),
)
_ICD_9: Final = CodeForm(
    label="ICD-9 codes",
    full=re.compile(r"[0-9]{1,3}(\.[0-9]{1,2})?|[0-9]{4,5}|V[0-9]{2}(\.?[0-9]{1,2})?|E[0-9]{3}(\.?[0-9])?"),
    remedy="write a column of the three characters before their point (four of E codes), with leading zeros,",
    books=(
        PublicBook(
            label="categories of ICD-9",
            words=(
                *_all(digits, digits, digits),
                *_all("V", digits, digits),
                *_all("E", digits, digits, digits),
            ),
        ),
    ),
)
_NUMBERED: Final = re.compile(r"[0-9]{3}(\.[0-9]{1,2})?")
_UK_DISTRICT: Final = rf"(?:{'|'.join(_UK_AREAS)})[0-9][0-9A-Z]?"
_UK_REST: Final = " ?[0-9][ABD-HJLNP-UW-Z]{2}"
_UK: Final = CodeForm(
    label="postcodes of the United Kingdom",
    full=re.compile(f"{_UK_DISTRICT}(?:{_UK_REST})?"),
    alone=re.compile(_UK_DISTRICT + _UK_REST),
    remedy="write a column of the letters before their first digit",
    books=(PublicBook(label="postcode areas of the United Kingdom", words=_UK_AREAS),),
)
_CANADIAN_AREA: Final = f"[{_CANADIAN}][0-9][ABCEGHJ-NPRSTV-Z]"
_CANADIAN_REST: Final = "[ -]?[0-9][ABCEGHJ-NPRSTV-Z][0-9]"
_CANADA: Final = CodeForm(
    label="postal codes of Canada",
    full=re.compile(f"{_CANADIAN_AREA}(?:{_CANADIAN_REST})?"),
    alone=re.compile(_CANADIAN_AREA + _CANADIAN_REST),
    remedy="write a column of their first letter",
    books=(PublicBook(label="first letters of Canadian postal codes", words=tuple(_CANADIAN)),),
)
_NETHERLANDS: Final = CodeForm(
    label="postcodes of the Netherlands",
    full=re.compile(r"[1-9][0-9]{3} ?[A-Z]{2}"),
    alone=re.compile(r"[1-9][0-9]{3} [A-Z]{2}"),
    remedy="write a column of their first two digits",
    books=(_TWO_DIGITS,),
)
# Stored as numbers, codes such as 02134 have lost their zeros.
_US: Final = CodeForm(
    label="ZIP codes",
    full=re.compile(r"[0-9]{3,5}|[0-9]{5}-?[0-9]{4}"),
    remedy="write a column of their first three digits (of five, with leading zeros)",
    books=(_THREE_DIGITS,),
)
_DIGITS: Final = CodeForm(
    label="postcodes",
    full=re.compile(r"(?:[A-Z]{1,2}-?)?[0-9]{4,7}|[0-9]{2,5}[- ][0-9]{2,4}"),
    remedy="write a column of their first two digits, with leading zeros",
    books=(_TWO_DIGITS,),
)
_FORMS: Final = (_ICD_10, _ICD_9, _UK, _CANADA, _NETHERLANDS, _US, _DIGITS)
BOOKS: Final = {book.label: book for form in _FORMS for book in form.books}


def form_of(words: Collection[str], texts: Collection[str]) -> CodeForm | None:
    """Find the system whose codes, full or shortened, nearly all texts of a column are.

    Args:
        words: Of the column's name, in lower case.
        texts: The distinct values.
    """
    if not texts:
        return None
    if not _POSTAL.isdisjoint(words):
        forms = (_UK, _CANADA, _NETHERLANDS, _US if not _ZIP.isdisjoint(words) else _DIGITS)
        return next((form for form in forms if _holds(form, texts)), None)
    if not _DIAGNOSIS.isdisjoint(words):
        return _called_diagnoses(texts, says_icd=not _ICD_NAMES.isdisjoint(words))
    return None if len(texts) < _FEWEST_UNNAMED else _form_alone(texts)


def _form_alone(texts: Collection[str]) -> CodeForm | None:
    """The form of a column whose name says nothing."""
    if _fit(_ICD_10.full, texts) and _are_diagnoses(texts):
        return _ICD_10
    if _fit(_ICD_9.full, texts) and _are_old_diagnoses(texts):
        return _ICD_9
    return next((form for form in _FORMS if form.alone is not None and _fit(form.alone, texts)), None)


def _called_diagnoses(texts: Collection[str], *, says_icd: bool) -> CodeForm | None:
    """The form of a column called after diagnoses. Without "icd" in its name it may also hold 0 and 1, or words of its own."""
    if says_icd:
        return next((form for form in (_ICD_10, _ICD_9) if _holds(form, texts)), None)
    if len(texts) < _FEWEST_CALLED_DIAGNOSES or _share(len(text) >= _CATEGORY for text in texts) < _HALF:
        return None
    if not any(text[0].isalpha() for text in texts):
        # Numbers: three digits, some with a point behind them and some without.
        dotted = _share("." in text for text in texts)
        return _ICD_9 if 0 < dotted < 1 and _fit(_NUMBERED, texts) else None
    return next((form for form in (_ICD_10, _ICD_9) if _fit(form.full, texts)), None)


def _are_diagnoses(texts: Collection[str]) -> bool:
    """Whether texts of the form of ICD-10 look like it: many chapters, and points, or codes of several lengths beside categories."""
    if len({text[0] for text in texts}) < _FEWEST_BEGINNINGS:
        return False  # numbers behind one letter identify something else, such as aircraft
    longer = [text for text in texts if len(text) > _CATEGORY]
    if _share("." in text for text in longer) >= _HALF:
        return True
    return len({len(text) for text in texts}) >= _FEWEST_LENGTHS and len(longer) < len(texts)


def _are_old_diagnoses(texts: Collection[str]) -> bool:
    """Whether texts of the form of ICD-9 look like it: points, and codes that begin with V or E beside numbers."""
    letters = _share(text[0].isalpha() for text in texts)
    longer = [text for text in texts if len(text) > _CATEGORY]
    return 0 < letters < _HALF and _share("." in text for text in longer) >= _HALF


def _holds(form: CodeForm, texts: Collection[str]) -> bool:
    return _fit(form.full, texts) or form.book_of(texts) is not None


def _fit(pattern: re.Pattern[str], texts: Collection[str]) -> bool:
    return _share(pattern.fullmatch(text.upper()) is not None for text in texts) >= _KNOWN_SHARE


def _share(found: Iterable[bool]) -> float:
    each = list(found)
    return sum(each) / len(each) if each else 0.0
