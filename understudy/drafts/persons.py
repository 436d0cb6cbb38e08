"""Names and words of columns that point at persons: keys, e-mail addresses, telephone numbers, names.

Public rules in English, German, French, Spanish and Italian, the same for every table.
"""

import re
from collections.abc import Collection
from enum import IntEnum
from typing import Final

from understudy.drafts.words import KEYS, words_of

_PERSONS: Final = (
    # English
    "patient", "person", "subject", "customer", "client", "user", "member", "student", "pupil", "employee", "individual", "participant", "household",
    "beneficiary", "citizen", "resident", "account", "cardholder", "mrn", "ssn", "insured", "donor", "driver", "rider", "respondent", "passenger",
    "borrower", "tenant", "voter", "applicant", "card", "pseudonym", "iban", "msisdn", "imsi", "username", "login", "passport",
    # German
    "patientin", "kunde", "kundin", "mandant", "mandantin", "klient", "klientin", "mitarbeiterin", "versicherte", "versicherter", "proband", "probandin",
    "teilnehmerin", "schülerin", "schuelerin", "studentin", "bewohner", "bewohnerin", "einwohner", "bürger", "buerger", "mitglied", "nutzer", "nutzerin",
    "benutzer", "benutzername", "spender", "matrikel", "haushalt", "haushalts", "konto",
    # French
    "patiente", "cliente", "personne", "individu", "assuré", "assure", "assurée", "adhérent", "adherent", "adhérente", "abonné", "abonne", "abonnée",
    "salarié", "salarie", "salariée", "employé", "employe", "employée", "élève", "eleve", "étudiant", "etudiant", "étudiante", "bénéficiaire",
    "beneficiaire", "usager", "utilisateur", "utilisatrice", "locataire", "matricule", "passeport",
    # Spanish
    "paciente", "clienta", "persona", "usuario", "usuaria", "alumno", "alumna", "estudiante", "empleado", "empleada", "asegurado", "asegurada",
    "trabajador", "trabajadora", "ciudadano", "ciudadana", "socio", "socia", "dni", "nif", "pasaporte",
    # Italian
    "paziente", "utente", "assistito", "assistita", "assicurato", "assicurata", "studente", "studentessa", "dipendente", "impiegato", "impiegata",
    "lavoratore", "cittadino", "matricola", "codicefiscale", "passaporto",
)  # fmt: skip
_MANY: Final = (
    "patienten", "kunden", "mitarbeiter", "personal", "versicherten", "probanden", "teilnehmer", "schüler", "schueler", "studenten", "karten", "patients",
    "persons", "subjects", "customers", "clients", "users", "members", "students", "employees", "participants", "pacientes", "clientes", "usuarios",
    "alumnos", "empleados", "pazienti", "clienti", "utenti", "dipendenti",
)  # fmt: skip
"""Plural words: numbers under such a name alone count persons."""
_SHORT: Final = (
    "pat",
    "kd",
    "cust",
    "usr",
    "emp",
    "subj",
    "usubj",
    "hh",
    "nhs",
    "player",
    "child",
    "mitgl",
    "tln",
    "steuer",
    "sozialversicherungs",
    "ausweis",
)
"""Words that say of a person before the word of a key alone."""
_KEYS_BEFORE: Final = (
    "id", "nr", "num", "ref", "cod", "code", "codigo", "código", "codice", "numero", "número", "numéro", "nummer", "identifiant", "identificador",
    "clave",
)  # fmt: skip
_OF: Final = ("de", "du", "del", "della", "dell", "do", "des", "der")
_PERSON_KEY: Final = re.compile(
    f"(({'|'.join(_KEYS_BEFORE)})({'|'.join(_OF)})?)?({'|'.join(_PERSONS)})({'|'.join(KEYS)})?"
    f"|({'|'.join((*_MANY, *_SHORT))})({'|'.join(KEYS)})"
)
_QUALIFIERS: Final = frozenset({
    "local", "hospital", "unique", "pseudo", "pseudonymised", "pseudonymized", "anonymised", "anonymized", "anon", "encrypted", "hashed", "masked",
    "study", "internal", "master",
})  # fmt: skip
"""Words before the name of a person's key that leave it the same person's."""
_LONE: Final = frozenset(
    {"id", "pid", "uid", "nr", "ident", "identifier", "idnr", "idno", "idcode", "kennung"}
)
"""Names of keys that do not say of what."""
_FREQUENTLY_A_THING: Final = frozenset({"subject", "account", "card", "konto"})
"""Words that name no person where most values have no digit, such as a subject that is taught."""
_PERSON_WORDS: Final = frozenset({*_PERSONS, *_MANY}) - _FREQUENTLY_A_THING - {"username", "login"}
_DIRECT: Final = frozenset({
    "name", "firstname", "lastname", "fullname", "surname", "forename", "maiden", "email", "mail", "phone", "telephone",
    "mobile", "fax", "address", "street", "ssn", "passport", "drivers", "iban", "username", "login", "licence", "license", "nachname", "vorname",
    "familienname", "geburtsname", "anschrift", "adresse", "straße", "strasse", "hausnummer", "telefon", "telefonnummer", "handy", "handynummer",
    "prénom", "prenom", "apellido", "apellidos", "teléfono", "telefono", "dirección", "direccion", "nom", "nombre", "cognome", "nome", "indirizzo",
    "courriel", "correo", "téléphone", "cellulare", "móvil", "movil", "celular", "mobilnummer", "cellphone",
})  # fmt: skip
_DIRECT_NAMES: Final = frozenset({"first", "last", "middle"})
_OF_A_MOMENT: Final = frozenset(
    {
        "at",
        "on",
        "date",
        "time",
        "datetime",
        "timestamp",
        "ts",
        "utc",
        "datum",
        "zeit",
        "zeitpunkt",
        "fecha",
        "heure",
        "ora",
    }
)
"""Last words of a name that mean a moment, such as "email_sent_at"."""
_BEFORE_A_LOGIN: Final = frozenset(
    {
        "last",
        "first",
        "previous",
        "latest",
        "prior",
        "recent",
        "letzter",
        "letzte",
        "dernier",
        "dernière",
        "último",
        "ultimo",
    }
)
"""Words before "login" under which it means a moment."""
_MAIL: Final = frozenset({"email", "mail", "courriel", "correo"})
_PHONE: Final = frozenset({
    "phone", "telephone", "mobile", "cellphone", "tel", "telefon", "telefonnummer", "handy", "handynummer", "mobil", "mobilnummer", "téléphone",
    "teléfono", "telefono", "móvil", "movil", "celular", "cellulare",
})  # fmt: skip
_BY_STATE: Final = frozenset({"ssn", "passport", "passeport", "pasaporte", "passaporto", "dni", "nif", "mrn"})
_FULL_NAME: Final = frozenset({"fullname", "vollname"})
_NAME: Final = frozenset({"name", "nom", "nombre", "nome"})
_FULL: Final = frozenset({"full", "complet", "completo", "completa", "voller", "ganzer"})
_PART_OF_NAME: Final = frozenset({
    "firstname", "lastname", "surname", "forename", "nachname", "vorname", "familienname", "geburtsname", "prénom", "prenom", "apellido", "apellidos",
    "cognome",
})  # fmt: skip
_FAMILY: Final = frozenset({
    "lastname", "surname", "nachname", "familienname", "apellido", "apellidos", "cognome",
})  # fmt: skip
_HOME: Final = frozenset({"address", "adresse", "anschrift", "dirección", "direccion", "indirizzo"})
_BESIDE: Final = frozenset({
    "e", "address", "adresse", "number", "nummer", "nr", "no", "num", "numero", "número", "numéro", "id", "hash", "home", "private", "privat", "work",
    "primary", "electronico", "electrónico", "elettronica", "électronique", *_OF,
})  # fmt: skip
"""Words beside one that says how a person is reached, which change nothing of it."""
_EMAIL: Final = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
_PHONE_NUMBER: Final = re.compile(r"\+?\(?[0-9][0-9 ()/.-]{4,}[0-9](\.0)?")
_FEWEST_DIGITS: Final = 6
_SHARE: Final = 0.95


class Reaches(IntEnum):
    """The kinds of columns that identify one person, the surest first."""

    BY_MAIL = 1
    BY_PHONE = 2
    BY_NAME = 3


def names_a_person(name: str, texts: Collection[str], *, numeric: bool) -> bool:
    """Whether a column is called after the person whose record it is, such as "patient_nbr", "CustomerID" or "Kunde".

    Args:
        name: Of the column.
        texts: The distinct values.
        numeric: Whether they are numbers.
    """
    said = words_of(name)
    # "local patient id" and "NHS/Local ID" are keys of the person; "referring patient id" may be that of another one.
    text = "".join([word for word in said if word not in _QUALIFIERS] or said)
    if text in _FREQUENTLY_A_THING:
        return numeric or 2 * sum(any(sign.isdigit() for sign in value) for value in texts) > len(texts)
    return _PERSON_KEY.fullmatch(text) is not None or (text in _MANY and not numeric)


def names_a_lone_key(name: str) -> bool:
    """Whether a name is that of a key and does not say of what, such as "id" or "pid"."""
    return "".join(words_of(name)) in _LONE


def names_contact(name: str) -> bool:
    """Whether a column's words name, reach or locate one person; moments such as "last_login" do not."""
    words = words_of(name)
    if words and (words[-1] in _OF_A_MOMENT or (words[-1] == "login" and words[0] in _BEFORE_A_LOGIN)):
        return False
    return not _DIRECT.isdisjoint(words) or (len(words) == 1 and words[0] in _DIRECT_NAMES)


def reaches(name: str, texts: Collection[str], *, numeric: bool) -> Reaches | None:
    """How a column reaches or names the person whose record it is; None where it does not, or where another person may be meant."""
    words = [word for word in words_of(name) if word not in _PERSON_WORDS]
    rest = {*words} - _BESIDE
    if rest and rest <= _MAIL and not numeric:
        return Reaches.BY_MAIL
    if rest and rest <= _PHONE and are_phones(texts):
        return Reaches.BY_PHONE
    whole = bool(rest & _FULL_NAME) or bool(
        rest & _NAME and (rest & _FULL or len(words) < len(words_of(name)))
    )
    if whole and rest <= _NAME | _FULL_NAME | _FULL and not numeric:
        return Reaches.BY_NAME
    return None


def may_reach(name: str, texts: Collection[str], *, numeric: bool) -> bool:
    """Whether a column may reach or name the person whose record it is: a bare name, an address, e-mail addresses under any name."""
    words = words_of(name)
    is_called_so = len(words) == 1 and words[0] in _NAME | _FAMILY | _HOME | _FREQUENTLY_A_THING
    is_family = words in (["last", "name"], ["family", "name"], ["nom", "de", "famille"])
    return not numeric and (is_called_so or is_family or are_emails(texts))


def may_name_few(name: str) -> bool:
    """Whether words under a name may be names of persons, or of anything else."""
    words = words_of(name)
    return len(words) == 1 and words[0] in _NAME


def names_whom(name: str) -> bool:
    """Whether words under a name are names of persons, such as "first_name"."""
    words = words_of(name)
    is_part = not _PART_OF_NAME.isdisjoint(words)
    in_two = (
        len(words) > 1
        and words[-1] == "name"
        and words[-2] in {"first", "last", "middle", "family", "given", "maiden"}
    )
    return is_part or in_two or reaches(name, (), numeric=False) is Reaches.BY_NAME


def is_number_of_one(name: str, texts: Collection[str]) -> bool:
    """Whether long numbers are telephone numbers, or numbers by which a state knows a person."""
    is_known = not _BY_STATE.isdisjoint(words_of(name)) and are_phones(texts)
    return is_known or reaches(name, texts, numeric=True) is Reaches.BY_PHONE


def are_emails(texts: Collection[str]) -> bool:
    """Whether nearly all texts are e-mail addresses."""
    return bool(texts) and sum(_EMAIL.fullmatch(text) is not None for text in texts) >= _SHARE * len(texts)


def are_phones(texts: Collection[str]) -> bool:
    """Whether nearly all texts are long enough for telephone numbers, and written like such."""
    found = sum(
        _PHONE_NUMBER.fullmatch(text) is not None and sum(sign.isdigit() for sign in text) >= _FEWEST_DIGITS
        for text in texts
    )
    return bool(texts) and found >= _SHARE * len(texts)
