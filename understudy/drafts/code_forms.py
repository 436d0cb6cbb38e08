"""The public forms of ICD codes, postcodes and FIPS codes, and public books of their shortened codes.

Full code books are large, change every year and are often licensed (docs/decisions/code-books.md). Shortened codes have a complete book by
their form alone: every letter with every two digits, every three digits. Such a book covers any rows, so it reveals nothing about them.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from string import ascii_uppercase, digits
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicBook:
    """All shortened codes of a form.

    Attributes:
        label: Name of the codes, in the plural.
        padded: The same book with leading zeros, if this is the book of codes read as numbers.
    """

    label: str
    words: tuple[str, ...]
    padded: "PublicBook | None" = None

    def as_numbers(self) -> "PublicBook":
        """The book of the same codes read as numbers: 7 instead of 07."""
        words = tuple(str(int(word)) for word in self.words)
        return PublicBook(label=f"{self.label} without leading zeros", words=words, padded=self)

    def holds(self, texts: Collection[str]) -> bool:
        """Whether nearly all texts are in the book. Half of the numbers must have all digits: 0 and 1 alone may be anything."""
        known = frozenset(self.words)
        longest = max(map(len, self.words))
        is_written_so = self.padded is None or _share(len(text) == longest for text in texts) >= _HALF
        return is_written_so and _share(text in known for text in texts) >= _KNOWN_SHARE


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortening:
    """A prefix of full codes, and the public book of the prefixes.

    Attributes:
        prefix: How many first characters count, or "letters" for those at the beginning.
        book: The public book that holds nearly all of them.
        words: Rows of each word that is left.
    """

    prefix: int | str
    book: PublicBook
    words: Mapping[str, int]

    @property
    def said(self) -> str:
        """The part of a code that counts, for a person."""
        if self.prefix == LETTERS:
            return "the letters at their beginning"
        return "their first character" if self.prefix == 1 else f"their first {self.prefix} characters"


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeForm:
    """The form of one system's codes.

    Attributes:
        label: Name of the codes, in the plural.
        full: Pattern of a full code.
        alone: Pattern that identifies the codes whatever the column's name; None if other values look alike, such as five digits that may be
            counts or identifiers.
        remedy: How a person shortens the codes before the draft, so that a public book can be declared.
        books: Books of shortened codes, finest first.
        prefixes: How many first characters of a full code, or "letters" for those at its beginning, are a word of each book; empty if that depends on
            the code.
        widths: Numbers of digits of full codes; empty if the codes have one unknown width, never begin with a zero, or have zeros
            without meaning.
    """

    label: str
    full: re.Pattern[str]
    alone: re.Pattern[str] | None = None
    remedy: str
    books: tuple[PublicBook, ...]
    prefixes: tuple[int | str, ...] = ()
    widths: tuple[int, ...] | None = None

    def book_of(self, texts: Collection[str]) -> PublicBook | None:
        """The book that holds nearly all texts; None if the codes are not shortened."""
        for book in self.books:
            if book.holds(texts):
                return book
            if self.widths is not None and (numbers := book.as_numbers()).holds(texts):
                return numbers
        return None

    def lost_zeros(self, texts: Collection[str]) -> str | None:
        """An example of a code that lost its leading zeros when read as a number, such as "01001"; None if there is none."""
        bare = [without_point(text) for text in texts]
        if self.widths is None or not all(
            text.isdecimal() and text[0] != "0" for text in bare if text != "0"
        ):
            return None
        longest = max(map(len, bare))
        width = next((width for width in self.widths if width >= longest), longest)
        return "01001"[:width].ljust(width, "0") if any(len(text) < width for text in bare) else None

    def shortenings(self, counts: Mapping[str, int]) -> Iterator[Shortening]:
        """The prefixes of full codes of which a book holds nearly all rows, the longest first.

        Args:
            counts: Rows of each full code.
        """
        if self.lost_zeros(counts) is not None:
            return
        for prefix, book in zip(self.prefixes, self.books, strict=False):
            words: Counter[str] = Counter()
            for text, count in counts.items():
                words[shortened(text, prefix)] += count
            listed = sum(count for word, count in words.items() if word in book.words)
            if listed >= _KNOWN_SHARE * words.total():
                yield Shortening(prefix=prefix, book=book, words=words)

    def books_beyond(self, book: PublicBook | None) -> tuple[PublicBook, ...]:
        """The books coarser than a given one; all of them if the codes are not shortened."""
        return self.books if book is None else self.books[self.books.index(book.padded or book) + 1 :]


def shortened(text: str, prefix: int | str) -> str:
    """Shorten a code as `core.plan.domain.columns.prefixes` does, which the light client does not have; a test compares them."""
    if prefix != LETTERS:
        return text[: int(prefix)]
    found = _LEADING_LETTERS.match(text)
    return text if found is None else found[0]


LETTERS: Final = "letters"
_LEADING_LETTERS: Final = re.compile("[A-Za-z]+")
_KNOWN_SHARE: Final = 0.95
POSTAL: Final = frozenset({
    "zip", "zipcode", "zcta", "postcode", "postcodes", "postal", "postalcode", "plz", "postleitzahl", "pincode",
})  # fmt: skip
_ZIP: Final = frozenset({"zip", "zipcode", "zcta"})
_FIPS_NAMES: Final = frozenset({
    "fips", "fipscode", "fipscd", "statefips", "countyfips", "statefp", "countyfp", "stcofips", "geoid",
})  # fmt: skip
_ICD_NAMES: Final = frozenset({"icd"})
_DIAGNOSIS: Final = frozenset({"icd", "diag", "diagnosis", "dx", "dgns"})
_FEWEST_UNNAMED: Final = 20
_FEWEST_CALLED_DIAGNOSES: Final = 10
_FEWEST_BEGINNINGS: Final = 5
_FEWEST_LENGTHS: Final = 3
_CATEGORY: Final = 3
"""Characters of an ICD category."""
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
# The states and the District of Columbia, whose numbers have five gaps, then five territories.
_STATES: Final = PublicBook(
    label="state codes of FIPS",
    words=(
        *(f"{code:02d}" for code in range(1, 57) if code not in {3, 7, 14, 43, 52}),
        "60", "66", "69", "72", "78",
    ),
)  # fmt: skip

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
    prefixes=(3, 1),
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
    prefixes=(LETTERS,),
)
_CANADIAN_AREA: Final = f"[{_CANADIAN}][0-9][ABCEGHJ-NPRSTV-Z]"
_CANADIAN_REST: Final = "[ -]?[0-9][ABCEGHJ-NPRSTV-Z][0-9]"
_CANADA: Final = CodeForm(
    label="postal codes of Canada",
    full=re.compile(f"{_CANADIAN_AREA}(?:{_CANADIAN_REST})?"),
    alone=re.compile(_CANADIAN_AREA + _CANADIAN_REST),
    remedy="write a column of their first letter",
    books=(PublicBook(label="first letters of Canadian postal codes", words=tuple(_CANADIAN)),),
    prefixes=(1,),
)
_NETHERLANDS: Final = CodeForm(
    label="postcodes of the Netherlands",
    full=re.compile(r"[1-9][0-9]{3} ?[A-Z]{2}"),
    alone=re.compile(r"[1-9][0-9]{3} [A-Z]{2}"),
    remedy="write a column of their first two digits",
    books=(_TWO_DIGITS,),
    prefixes=(2,),
)
# Codes stored as numbers lose their leading zeros: ZIP codes such as 02134 and counties such as 01001.
_US: Final = CodeForm(
    label="ZIP codes",
    full=re.compile(r"[0-9]{3,5}|[0-9]{5}-?[0-9]{4}"),
    remedy="write a column of their first three digits (of five, with leading zeros)",
    books=(_THREE_DIGITS,),
    prefixes=(3,),
    widths=(3, 5, 9),
)
_FIPS: Final = CodeForm(
    label="FIPS codes",
    full=re.compile(r"[0-9]{2,5}|[0-9]{10,12}|[0-9]{14,15}"),
    remedy="write a column of their first two digits (the state's, with leading zeros)",
    books=(_STATES,),
    prefixes=(2,),
    widths=(2, 3, 5, 11, 12, 15),
)
_DIGITS: Final = CodeForm(
    label="postcodes",
    full=re.compile(r"(?:[A-Z]{1,2}-?)?[0-9]{4,7}|[0-9]{2,5}[- ][0-9]{2,4}"),
    remedy="write a column of their first two digits, with leading zeros",
    books=(_TWO_DIGITS,),
    prefixes=(2,),
    widths=(),
)
_FORMS: Final = (_ICD_10, _ICD_9, _UK, _CANADA, _NETHERLANDS, _US, _FIPS, _DIGITS)
BOOKS: Final = {
    book.label: book
    for form in _FORMS
    for padded in form.books
    for book in ((padded,) if form.widths is None else (padded, padded.as_numbers()))
}


def form_of(words: Collection[str], texts: Collection[str]) -> CodeForm | None:
    """Find the system of codes, full or shortened, that nearly all distinct texts of a column match; `words` are those of its name, in lower case."""
    if not texts:
        return None
    if not POSTAL.isdisjoint(words):
        forms = (_UK, _CANADA, _NETHERLANDS, _US if not _ZIP.isdisjoint(words) else _DIGITS)
        return next((form for form in forms if _holds(form, texts)), None)
    if not _FIPS_NAMES.isdisjoint(words):
        return _FIPS if _holds(_FIPS, texts) else None
    if not _DIAGNOSIS.isdisjoint(words):
        return _called_diagnoses(texts, says_icd=not _ICD_NAMES.isdisjoint(words))
    return None if len(texts) < _FEWEST_UNNAMED else _form_alone(texts)


def _form_alone(texts: Collection[str]) -> CodeForm | None:
    """The form of a column whose name is uninformative."""
    if _fit(_ICD_10.full, texts) and _are_diagnoses(texts):
        return _ICD_10
    if _fit(_ICD_9.full, texts) and _are_old_diagnoses(texts):
        return _ICD_9
    return next((form for form in _FORMS if form.alone is not None and _fit(form.alone, texts)), None)


def _called_diagnoses(texts: Collection[str], *, says_icd: bool) -> CodeForm | None:
    """The form of a column named after diagnoses. Without "icd" in its name it may also hold 0 and 1, or other words."""
    if says_icd:
        return next((form for form in (_ICD_10, _ICD_9) if _holds(form, texts)), None)
    if len(texts) < _FEWEST_CALLED_DIAGNOSES or _share(len(text) >= _CATEGORY for text in texts) < _HALF:
        return None
    if not any(text[0].isalpha() for text in texts):
        # Numbers have three digits, some followed by a point.
        dotted = _share("." in text for text in texts)
        return _ICD_9 if 0 < dotted < 1 and _fit(_NUMBERED, texts) else None
    return next((form for form in (_ICD_10, _ICD_9) if _fit(form.full, texts)), None)


def _are_diagnoses(texts: Collection[str]) -> bool:
    """Whether texts in the form of ICD-10 are diagnoses: many chapters, and points, or codes of several lengths beside categories."""
    if len({text[0] for text in texts}) < _FEWEST_BEGINNINGS:
        return False  # one letter before numbers identifies other things, such as aircraft
    longer = [text for text in texts if len(text) > _CATEGORY]
    if _share("." in text for text in longer) >= _HALF:
        return True
    return len({len(text) for text in texts}) >= _FEWEST_LENGTHS and len(longer) < len(texts)


def _are_old_diagnoses(texts: Collection[str]) -> bool:
    """Whether texts in the form of ICD-9 are diagnoses: points, and V or E codes beside numbers."""
    letters = _share(text[0].isalpha() for text in texts)
    longer = [text for text in texts if len(text) > _CATEGORY]
    return 0 < letters < _HALF and _share("." in text for text in longer) >= _HALF


def _holds(form: CodeForm, texts: Collection[str]) -> bool:
    bare = texts if form.widths is None else [without_point(text) for text in texts]
    return _fit(form.full, bare) or form.book_of(bare) is not None


def without_point(text: str) -> str:
    """A whole number without a point: pandas writes 1001.0 if the column has a missing value."""
    return text.removesuffix(".0")


def _fit(pattern: re.Pattern[str], texts: Collection[str]) -> bool:
    """Whether nearly all texts match; most columns are rejected after a twentieth of their texts."""
    others = 0
    for text in texts:
        others += pattern.fullmatch(text.upper()) is None
        if len(texts) - others < _KNOWN_SHARE * len(texts):
            return False
    return bool(texts)


def _share(found: Iterable[bool]) -> float:
    each = list(found)
    return sum(each) / len(each) if each else 0.0
