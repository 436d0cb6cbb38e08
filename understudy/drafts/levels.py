"""Words in order: bands of numbers, scales, months, grades, numbered steps, times of day.

Public rules, the same for every table: in English, German, French, Spanish and Italian.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

_SCALES = (
    ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"),
    ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"),
    ("mon", "tue", "wed", "thu", "fri", "sat", "sun"),
    ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"),
    ("very low", "low", "medium", "middle", "moderate", "high", "very high"),
    ("none", "minimal", "minor", "mild", "moderate", "major", "severe", "extreme"),
    ("poor", "fair", "good", "very good", "excellent"),
    ("leicht", "mäßig", "mittel", "mittelschwer", "schwer", "sehr schwer"),
    ("sehr niedrig", "niedrig", "mittel", "hoch", "sehr hoch"),
    ("nie", "selten", "manchmal", "oft", "immer"),
    ("januar", "februar", "märz", "april", "mai", "juni", "juli", "august", "september", "oktober", "november", "dezember"),
    ("montag", "dienstag", "mittwoch", "donnerstag", "freitag", "samstag", "sonntag"),
    ("never", "rarely", "sometimes", "often", "usually", "always"),
    ("strongly disagree", "disagree", "somewhat disagree", "slightly disagree", "neutral", "neither", "neither agree nor disagree", "slightly agree",
     "somewhat agree", "agree", "strongly agree"),
    ("very dissatisfied", "dissatisfied", "somewhat dissatisfied", "neutral", "neither", "neither satisfied nor dissatisfied", "somewhat satisfied",
     "satisfied", "very satisfied"),
    ("very unlikely", "unlikely", "neutral", "neither likely nor unlikely", "likely", "very likely"),
    ("not at all important", "not important", "unimportant", "slightly important", "neutral", "moderately important", "important", "very important",
     "extremely important"),
    ("stimme überhaupt nicht zu", "stimme gar nicht zu", "stimme nicht zu", "stimme eher nicht zu", "teils/teils", "teils teils", "neutral",
     "weder noch", "stimme eher zu", "stimme zu", "stimme voll zu", "stimme voll und ganz zu"),
    ("sehr unzufrieden", "unzufrieden", "eher unzufrieden", "neutral", "teils/teils", "eher zufrieden", "zufrieden", "sehr zufrieden"),
    ("pas du tout d'accord", "pas d'accord", "plutôt pas d'accord", "neutre", "ni d'accord ni pas d'accord", "plutôt d'accord", "d'accord",
     "tout à fait d'accord"),
    ("très insatisfait", "insatisfait", "plutôt insatisfait", "neutre", "plutôt satisfait", "satisfait", "très satisfait"),
    ("totalmente en desacuerdo", "muy en desacuerdo", "en desacuerdo", "ni de acuerdo ni en desacuerdo", "neutral", "de acuerdo", "muy de acuerdo",
     "totalmente de acuerdo"),
    ("per niente d'accordo", "in disaccordo", "poco d'accordo", "neutrale", "né d'accordo né in disaccordo", "abbastanza d'accordo", "d'accordo",
     "molto d'accordo", "totalmente d'accordo"),
    ("xs", "s", "m", "l", "xl", "xxl"),
    ("primary", "secondary", "tertiary"),
    ("q1", "q2", "q3", "q4"),
    ("0", "i", "ii", "iii", "iv", "v"),
    ("no schooling", "elementary school", "middle school", "less than high school", "high school", "high school graduate", "some college",
     "associate", "associate's", "bachelor", "bachelors", "bachelor's", "master", "masters", "master's", "phd", "ph.d.", "doctorate"),
    ("preschool", "1st-4th", "5th-6th", "7th-8th", "9th", "10th", "11th", "12th", "hs-grad", "some-college", "assoc-voc",
     "assoc-acdm", "bachelors", "masters", "prof-school", "doctorate"),
)  # fmt: skip
OFF_SCALE = frozenset({
    "don't know", "don’t know", "dont know", "do not know", "dk", "not sure", "no opinion", "no answer", "refused", "refused to answer", "not asked", "n/k",
    "prefer not to say", "rather not say", "other/unknown", "weiß nicht", "weiss nicht", "weiß ich nicht", "keine antwort", "keine meinung", "k.a.",
    "ne sait pas", "je ne sais pas", "nsp", "nspp", "ne se prononce pas", "sans opinion", "sans réponse", "no sabe", "no sé", "ns/nc", "no contesta",
    "non so", "non sa", "nessuna risposta", "n.d.", "n/d",
})  # fmt: skip
"""Answers, in lower case, that have no place among levels."""
_FEWEST_LEVELS = 3
_AMOUNT = r"[$€£]?(?:0|[1-9][0-9]*)(?:[, \u00a0\u202f][0-9]{3})*(?:\.[0-9]+)?[kKmM]?"
_UNIT = r"(?:\s*[^\W\d_]+\.?|\s*[%€$£])?"
_BETWEEN = re.compile(
    rf"[\[(]?\s*(?:from |von |de |da )?(-?{_AMOUNT}){_UNIT}\s*(?:-|–|_|to|bis unter|bis|à|a|,|;)\s*(-?{_AMOUNT})\s*[\])]?{_UNIT}",
    re.IGNORECASE,
)
_BELOW = re.compile(
    r"(?:<=?|≤|under|below|less than|up to|bis zu|bis|unter|weniger als|jusqu['’]à|moins de|hasta|menos de|fino a|meno di)"
    rf"\s*({_AMOUNT}){_UNIT}", re.IGNORECASE,
)  # fmt: skip
_ABOVE = re.compile(
    rf"(?:>=?|≥|over|above|more than|ab|über|mehr als|plus de|más de|mas de|oltre|più di)\s*({_AMOUNT}){_UNIT}",
    re.IGNORECASE,
)
_OPEN = re.compile(
    rf"({_AMOUNT})(?:\s*\+|{_UNIT}\s+(?:and|or|und|oder|et|ou|y|o|e)\s+(?:over|above|older|more|up|älter|aelter|mehr|darüber|höher|plus|más|mas|più|oltre)){_UNIT}",
    re.IGNORECASE,
)
_DECADE = re.compile(r"([1-9][0-9]*0)(?:s|er)")
_NUMBERED = re.compile(
    r"(imd|decile|quintile|quartile|stage|grade|level|phase|tier|class|asa|nyha|ecog|stadium|stufe|grad|pflegegrad|pflegestufe|stade|niveau|nivel|livello|grado|fase)[ _-]?([0-9]{1,2}|[ivIV]+)",
    re.IGNORECASE,
)
"""A word for steps, and which step."""
_CLOCK_TIME = re.compile(r"(?:[01]?[0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9])?")
_ALONE = re.compile(rf"(-?{_AMOUNT}){_UNIT}")


_WHOLE = re.compile("[0-9]{1,4}")
_BEFORE_SCHOOL = {
    "pk": -2, "prek": -2, "pre-k": -2, "prekindergarten": -2, "pre-kindergarten": -2, "preschool": -2, "tk": -1, "k": 0, "kg": 0, "kindergarten": 0,
}  # fmt: skip
"""Words for the years before grade 1, by number; grade 0 is one of them."""
_LAST_GRADE = 13


def ordered(texts: Iterable[str]) -> list[str] | None:
    """Put distinct texts in order: bands of numbers ("18-24", "[70-80)", "65+"), months, grades ("K", "1", "2"), times of day; None if they show no order."""
    words = sorted(texts)
    if len(words) < _FEWEST_LEVELS:
        return None
    lowered = {word.lower() for word in words}
    if len(lowered) == len(words):
        for scale in _SCALES:
            if lowered.issubset(scale):
                return sorted(words, key=lambda word: scale.index(word.lower()))
    if (levels := _in_a_row(words) or _steps(words)) is not None:
        return levels
    if all(_CLOCK_TIME.fullmatch(word) for word in words):
        return sorted(words, key=lambda word: [float(part) for part in word.split(":")])
    places = {word: _place(word) for word in words}
    bands = [
        word
        for word in words
        if places[word] is not None
        and (_ALONE.fullmatch(word) is None or _DECADE.fullmatch(word) is not None)
    ]
    if 2 * len(bands) < len(words) or any(place is None for place in places.values()):
        return None
    levels = sorted(words, key=lambda word: places[word] or (0.0, 0))
    return levels if all(places[low] != places[high] for low, high in pairwise(levels)) else None


def ordered_beside(counts: Mapping[str, int]) -> tuple[list[str], list[str]] | None:
    """Levels in order beside answers that are on no scale, such as "Don't know", which are fewer.

    Args:
        counts: Rows of each distinct value.

    Returns:
        The levels from low to high, and the other answers; None if there are none, or the rest shows no order.
    """
    beside = [word for word in counts if word.strip().lower() in OFF_SCALE]
    if not beside or 2 * sum(counts[word] for word in beside) >= sum(counts.values()):
        return None
    levels = ordered(word for word in counts if word not in beside)
    return None if levels is None else (levels, beside)


def _steps(words: Sequence[str]) -> list[str] | None:
    """Numbered steps of one kind, such as "Stage I" to "Stage IV"; None for other words."""
    steps = {word: found for word in words if (found := _NUMBERED.fullmatch(word)) is not None}
    if len(steps) < len(words) or len({found[1].lower() for found in steps.values()}) > 1:
        return None
    numbers = {found[2].lower(): word for word, found in steps.items()}
    levels = sorted(numbers, key=int) if all(number.isdigit() for number in numbers) else ordered(numbers)
    return None if levels is None or len(numbers) < len(words) else [numbers[level] for level in levels]


def _in_a_row(words: Sequence[str]) -> list[str] | None:
    """Consecutive whole numbers, after known words for the years before school, or with open ends; None for other words."""
    numbers = {word: int(word) for word in words if _WHOLE.fullmatch(word) is not None}
    years = {word: year for word in words if (year := _BEFORE_SCHOOL.get(word.lower())) is not None}
    ends = {word: _place(word) for word in words if word not in numbers and word not in years}
    first, last = min(numbers.values(), default=0), max(numbers.values(), default=0)
    if len(numbers) < 2 or sorted(numbers.values()) != list(range(first, last + 1)):  # noqa: PLR2004 - a row takes two
        return None
    are_grades = first in {0, 1} and last <= _LAST_GRADE
    if years and not (are_grades and max(years.values()) < first):
        return None
    sides = [-1] if years else []
    for place in ends.values():
        if place is None or place not in {(max(place[0], last), 1), (min(place[0], first), -1)}:
            return None
        sides.append(place[1])
    found = {word: (float(number), 0) for word, number in (numbers | years).items()}
    found |= {word: place for word, place in ends.items() if place is not None}
    is_certain = len(set(sides)) == len(sides) and len(set(found.values())) == len(found)
    return sorted(words, key=lambda word: found[word]) if is_certain else None


def _place(word: str) -> tuple[float, int] | None:
    """The start of a band, and whether the band lies below (-1), at (0) or above (1) that number."""
    text = word.strip()
    if (between := _BETWEEN.fullmatch(text)) is not None:
        low, high = _number(between[1]), _number(between[2])
        return (low, 0) if low < high else None
    for pattern, side in ((_BELOW, -1), (_ABOVE, 1), (_OPEN, 1), (_DECADE, 0), (_ALONE, 0)):
        if (found := pattern.fullmatch(text)) is not None:
            return _number(found[1]), side
    return None


def _number(text: str) -> float:
    scale = {"k": 1e3, "m": 1e6}.get(text[-1].lower(), 1.0)
    return float(re.sub(r"[$€£kKmM,\s]", "", text)) * scale
