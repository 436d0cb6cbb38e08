"""The meaning of column names and words: a key, a code, an outcome, bands and levels with an order.

The rules are public and the same for every table. They decide what a draft proposes; a person decides what is declared.
"""

import re
from collections.abc import Collection, Sequence

from understudy.drafts.code_forms import POSTAL, CodeForm, form_of
from understudy.drafts.countries import ALPHA_3, NAMES, country_book

KEYS = (
    "id", "ids", "nbr", "no", "nr", "num", "number", "nummer", "key", "uuid", "guid", "hash", "ref", "identifier", "code",
)  # fmt: skip
_FREE_TEXT = frozenset({
    "note", "notes", "comment", "comments", "remark", "remarks", "narrative", "freetext", "memo", "anamnesis", "bemerkung",
    "bemerkungen", "kommentar", "kommentare", "anmerkung", "anmerkungen", "notiz", "notizen", "freitext", "anamnese",
    "commentaire", "commentaires", "remarque", "remarques", "comentario", "comentarios", "observación", "observaciones", "observacion",
    "anotaciones", "commento", "commenti", "osservazione", "osservazioni",
})  # fmt: skip
_CODES = frozenset({
    "id", "ids", "type", "typ", "code", "status", "class", "category", "cat", "group", "sex", "gender", "race", "state",
    "region", "county", "country", "zip", "zipcode", "postcode", "postal", "plz", "fips", "puma", "naics", "icd", "drg",
    "marital", "religion", "occupation", "industry", "hispanic", "ethnicity", "sector", "channel", "branch", "department",
    "dept", "ward", "district", "store", "shop", "product", "sku", "cluster", "flag", "mode", "kind", "disposition", "source",
    "specialty", "payer", "language", "nationality", "relationship", "dienststelle", "kostenstelle", "abteilung", "filiale", "standort",
    "gemeinde", "bundesland", "beruf", "branche", "gruppe", "klasse", "kategorie", "geschlecht", "familienstand",
    "staatsangehörigkeit", "konfession", "steuerklasse", "schlüssel", "kennziffer", "sparte", "studiengang", "fachbereich",
})  # fmt: skip
_CODE_ENDS = ("code", "type", "status", "zip", "fips")
_COUNTS = frozenset({"number", "num", "count", "cnt", "n", "total", "sum", "avg", "mean", "days", "amount"})
_NUMBER = frozenset({"number", "num"})
_AMOUNTS = frozenset({
    "income", "salary", "wage", "wages", "cost", "costs", "price", "amount", "fare", "total", "balance", "charge", "charges",
    "expenses", "coverage", "value", "weight", "height", "revenue", "profit", "loss", "debt", "loan", "rent", "fee", "population", "betrag", "preis",
    "gehalt", "lohn", "einkommen", "umsatz", "kosten", "miete", "saldo", "gewicht", "größe",
})  # fmt: skip
_TARGETS = (
    "target", "label", "outcome", "y", "readmitted", "readmission", "died", "death", "dead", "deceased", "survived",
    "survival", "churn", "churned", "defaulted", "response", "subscribed", "fraud", "relapse", "converted", "approved",
    "attrition", "exited", "class", "zielvariable", "zielgröße", "zielgroesse", "ausgang", "verstorben", "gestorben", "überlebt", "ueberlebt", "wiederaufnahme",
    "rückfall", "rueckfall", "gekündigt", "gekuendigt", "kündigung", "kuendigung", "abgewandert", "betrug", "ausgefallen", "bewilligt", "cible", "décès", "deces",
    "décédé", "decede", "réadmission", "résilié", "resilie", "résiliation", "resiliation", "fraude", "objetivo", "fallecido", "fallecida", "reingreso", "abandono",
    "deceduto", "decesso", "abbandono", "frode",
)  # fmt: skip
_OUTCOMES = frozenset({"target", "label", "outcome", "y"})
"""The first four names of outcomes, without "class": numbers under that name may be school classes."""
_CLASSES = frozenset({"target", "label", "outcome", "class"})
"""Names of outcomes without "y", which is often a count or a mark."""
_QUANTITIES = frozenset({
    "age", "year", "rating", "score", "level", "grade", "rank", "decile", "quantile", "percentile", "quantity", "qty", "length",
    "width", "distance", "duration", "temperature", "rate", "size", "children", "people", "frequency", "visit", "capacity", "alter", "jahr", "anzahl",
    "menge", "dauer", "kinder", "personen", "stufe",
})  # fmt: skip
_GRADED = frozenset({"rating", "score", "level", "grade", "rank", "stufe"})
"""Quantities that are no counts."""
_LEVELS = frozenset({
    "asa", "nyha", "ecog", "likert", "stage", "grade", "level", "tier", "severity", "band", "bracket", "tercile", "quartile", "quintile", "decile",
    "agegroup", "ageband", "agegrp", "grad", "stufe", "stadium", "stade", "niveau", "nivel", "livello", "grado", "fascia", "tranche",
})  # fmt: skip
_LEVEL_ENDS = ("stufe", "grad", "stadium", "schulnote", "altersgruppe", "altersklasse", "einkommensklasse")
_AGE = frozenset({"age", "alter", "âge", "edad", "età"})
_GROUPS = frozenset(
    {"group", "grp", "class", "cat", "category", "gruppe", "klasse", "classe", "grupo", "gruppo"}
)
"""Words that say levels beside a word for age."""
_NATURAL = (
    (frozenset({"weekday", "dayofweek", "dow", "wday"}), ((0.0, 6.0), (1.0, 7.0), (0.0, 7.0))),
    (frozenset({"hour", "hr"}), ((0.0, 23.0), (0.0, 24.0))),
    (frozenset({"minute"}), ((0.0, 59.0),)),
    (frozenset({"second"}), ((0.0, 59.0),)),
    (frozenset({"month"}), ((1.0, 12.0),)),
    (frozenset({"quarter"}), ((1.0, 4.0),)),
    (frozenset({"week", "isoweek"}), ((1.0, 53.0),)),
    (frozenset({"day", "dom", "mday", "dayofmonth"}), ((1.0, 31.0),)),
    (frozenset({"percent", "percentage", "pct", "perc"}), ((0.0, 100.0),)),
    (frozenset({"age", "agep", "alter"}), ((0.0, 100.0), (0.0, 120.0))),
)
"""Words of a name, and the bounds of the quantity that they name."""
_CLOCK = frozenset({"time", "hhmm", "hourmin", "clock"})
_SPANS = (
    "day", "days", "time", "year", "years", "week", "weeks", "month", "months", "hour", "hours", "minute", "minutes", "second", "seconds", "doy",
    "tag", "tage", "jahr", "jahre", "monat", "woche", "stunde", "jour", "mois", "heure", "dia", "mes", "hora",
)  # fmt: skip
_YEARS = frozenset({"year", "yr", "jahr", "année", "annee", "an", "año", "anno", "ano"})
_MOMENTS = frozenset({
    "ts", "time", "timestamp", "epoch", "unix", "utc", "date", "datetime", "at", "start", "end", "begin", "created", "updated", "modified", "seen",
    "zeit", "zeitpunkt", "datum", "heure", "fecha",
})  # fmt: skip
_THINGS = frozenset({
    "flight", "vehicle", "device", "machine", "sensor", "order", "invoice", "trip", "ticket", "session", "case", "encounter", "plate",
    "tailnum", "serial", "contract", "policy", "parcel", "shipment", "auftrag", "bestellung", "vorgang", "vertrag", "sendung", "fahrzeug",
})  # fmt: skip
_KEY_ENDS = ("uuid", "guid", "num", "nbr", "nummer", "nr")
_CLASSIFICATIONS = frozenset({
    "indp", "occp", "naics", "naicsp", "socp", "isco", "isic", "nace", "pobp", "mcc", "nuts", "sic", "wz", "önace", "oenace", "noga", "naf", "ateco",
    "cnae",
})  # fmt: skip
"""Names of industry, occupation, region and birthplace columns in surveys and registers."""
_SPAN_BEHIND = re.compile(
    r"(?<=[a-z])[\W_]*(?:within|in|at|after)?[\W_]*[0-9]{1,3}[\W_]*(?:d|days?|w|weeks?|m|mo|months?|y|yrs?|years?)?$",
    re.IGNORECASE,
)
_COUNTRY = frozenset({"country", "nation", "nationality", "citizenship", "iso"})
_UUID = re.compile(r"[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
_TOKEN = re.compile(r"[0-9a-fA-F]{12,128}")
"""A hash; together, many of them have letters as well as digits."""
_IBAN = re.compile(r"[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}")
_MIXED_KEY = re.compile(r"(?=.*[A-Za-z])(?=.*[0-9].*[0-9])[A-Z0-9][A-Za-z0-9_-]{3,23}")
_SHARE_OF_KEYS = 0.95
_PERIOD = re.compile(
    r"(?:19|20)[0-9]{2}[ ._/-]?(?:W|KW|Q|H|S|T)[0-9]{1,2}|(?:W|KW|Q|H|S|T)[0-9]{1,2}[ ._/-]?(?:19|20)[0-9]{2}"
)
"""A week, quarter or half of a year, such as 2024-W05."""
_ASIDE = frozenset({"is", "has", "flag", "indicator", "ist", "hat"})
"""Words beside that of an outcome which change nothing of it."""
_FEWEST_COUNTRIES = 5
_SHORT_WORD = 3


def words_of(name: str) -> list[str]:
    """Split a column's name into lower-case words: "patientNbr" and "patient_nbr" give patient, nbr."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return [word for word in re.split(r"[\W\d_]+", spaced.lower()) if word]


def names_a_key(name: str) -> bool:
    """Whether the last word of a name means a key, such as "order_id"."""
    words = words_of(name)
    return bool(words) and (words[-1] in KEYS or words[-1] in _THINGS or words[-1].endswith(_KEY_ENDS))


def names_postcode(name: str) -> bool:
    """Whether a name means a postcode, which many people share, in whatever form it is written."""
    words = words_of(name)
    return not POSTAL.isdisjoint([*words, "".join(words)])


def names_free_text(name: str) -> bool:
    """Whether a column's name means free text."""
    words = words_of(name)
    return not _FREE_TEXT.isdisjoint(words) or {"free", "text"} <= set(words)


def names_codes(name: str) -> bool:
    """Whether the name suggests codes without an order, and no count."""
    words = words_of(name)
    glued = bool(words) and words[-1].endswith(_CODE_ENDS)
    return (
        bool(words)
        and words[0] not in _COUNTS
        and (glued or not (_CODES | _CLASSIFICATIONS).isdisjoint(words))
    )


def names_quantity(name: str) -> bool:
    """Whether a name means a quantity other than an amount: a count, a grade, or a plural of things."""
    words = words_of(name)
    return _has_plural(words) or not (_QUANTITIES | _COUNTS).isdisjoint(words)


def counts_things(name: str) -> bool:
    """Whether a name means a quantity other than an amount, a grade or a rating."""
    words = words_of(name)
    return _has_plural(words) or not ((_QUANTITIES | _COUNTS) - _GRADED).isdisjoint(words)


def _has_plural(words: Collection[str]) -> bool:
    return any(
        len(word) > _SHORT_WORD and word.endswith("s") and not word.endswith(("ss", "us", "is"))
        for word in words
    )


def names_levels(name: str) -> bool:
    """Whether a name means levels of a scale, such as "tumor_stage" or "age_group", and no count of them."""
    words = words_of(name)
    named = not _LEVELS.isdisjoint(words) or any(word.endswith(_LEVEL_ENDS) for word in words)
    of_ages = not _AGE.isdisjoint(words) and not _GROUPS.isdisjoint(words)
    return (named or of_ages) and _COUNTS.isdisjoint(words)


def natural_scale(name: str) -> Sequence[tuple[float, float]]:
    """Bounds of the scale that a name implies, such as a day of a month or an age, narrowest first; empty without such a scale, and for bands of one."""
    if names_levels(name):
        return ()
    words = {*words_of(name), "".join(words_of(name))}
    return next((bounds for scale, bounds in _NATURAL if not scale.isdisjoint(words)), ())


def names_clock(name: str) -> bool:
    """Whether a name means a time of day."""
    return not _CLOCK.isdisjoint(words_of(name))


def names_moment(name: str) -> bool:
    """Whether a name means a moment, such as "created_at" or "ts"."""
    return not _MOMENTS.isdisjoint(words_of(name))


def names_span_of_time(name: str) -> bool:
    """Whether a name ends in a unit of time, such as "julday" or "week_no"."""
    words = [word for word in words_of(name) if word not in KEYS]
    return bool(words) and words[-1].endswith(_SPANS)


def names_year(name: str) -> bool:
    """Whether a name means a year, such as "year_built" or "Gründungsjahr"."""
    words = words_of(name)
    return not _YEARS.isdisjoint(words) or any(word.endswith("jahr") for word in words)


def names_classification(name: str) -> bool:
    """Whether a name means a public classification, and no count or amount by it."""
    return (
        not _CLASSIFICATIONS.isdisjoint(words_of(name))
        and not names_amount(name)
        and not names_quantity(name)
    )


def names_amount(name: str) -> bool:
    """Whether a name means an amount, so that unique values are no identifiers."""
    return not _AMOUNTS.isdisjoint(words_of(name))


def names_outcome(name: str) -> bool:
    """Whether a name is a program's name for the outcome, never the name of a person or thing."""
    return "_".join(words_of(name)) in _OUTCOMES


def names_classes(name: str) -> bool:
    """Whether a few whole numbers under this name are classes of the outcome."""
    return "_".join(words_of(name)) in _CLASSES


def target_rank(name: str) -> int | None:
    """Rank of a name among the usual names of outcomes, the likeliest first, also with a span behind it (`readmitted_30d`); None for other names."""
    text = "_".join(word for word in words_of(_SPAN_BEHIND.sub("", name)) if word not in _ASIDE)
    return _TARGETS.index(text) if text in _TARGETS else None


def are_keys(texts: Collection[str]) -> bool:
    """Whether nearly all texts are UUIDs, or single words of letters and digits, such as "N14228"; weeks such as "2024-W05" are none."""
    keys = sum(
        _UUID.fullmatch(text) is not None
        or (_MIXED_KEY.fullmatch(text) is not None and _PERIOD.fullmatch(text) is None)
        for text in texts
    )
    return bool(texts) and keys >= _SHARE_OF_KEYS * len(texts)


def are_pseudonyms(texts: Collection[str]) -> bool:
    """Whether nearly all texts are UUIDs, IBANs, or hashes of one length: such values only stand for persons or things."""
    hashes = [text for text in texts if _TOKEN.fullmatch(text) is not None]
    if len({len(text) for text in hashes}) == 1 and not all(text.isdigit() for text in hashes):
        found = len(hashes)
    else:
        found = sum(
            _UUID.fullmatch(text) is not None or _IBAN.fullmatch(text.replace(" ", "")) is not None
            for text in texts
        )
    return bool(texts) and found >= _SHARE_OF_KEYS * len(texts)


def code_book(name: str, texts: Collection[str]) -> str | None:
    """Name the public code book of a column, if its name and the form of its distinct words show one."""
    words = words_of(name)
    if (form := code_form(name, texts)) is not None:
        return form.label
    if not _CLASSIFICATIONS.isdisjoint(words):
        return "codes of a classification"
    return _countries(words, texts)


def code_form(name: str, texts: Collection[str]) -> CodeForm | None:
    """Find the form of ICD codes or postcodes in a column, unless its name means a count or measurement."""
    words = words_of(name)
    is_measure = not ((_COUNTS | _AMOUNTS | _QUANTITIES) - _NUMBER).isdisjoint(words)
    return None if is_measure else form_of(words, texts)


def _countries(words: Collection[str], texts: Collection[str]) -> str | None:
    """A book of countries. Two-letter words and numbers also need a fitting name, because many other codes look alike."""
    if (book := country_book(texts)) is None:
        return None
    is_named = not _COUNTRY.isdisjoint(words)
    speaks_for_itself = book in {ALPHA_3, NAMES} and len(texts) >= _FEWEST_COUNTRIES
    return book if is_named or speaks_for_itself else None
