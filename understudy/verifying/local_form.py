"""The form of local certificates: the members and sentences that differ from a service's certificate.

A local certificate makes the statements of a service's certificate, but the person who trains also set the cap, and no second person
approved the charge or signed. Untrue sentences are replaced, and the members of a signature are absent: such a certificate carries no more
authority than the person who hands it on.
"""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any, Final

SCHEMA: Final = "understudy.local-certificate/1"
MODEL_SCHEMA: Final = "understudy.local-model-certificate/1"
"""Members of a private model's certificate."""
_SERVICE_MODEL: Final = "understudy.model-certificate/1"
ACTORS: Final = (
    "One person holds the records, trains on a machine of their own and hands the generator on. That person is trusted; "
    "whoever receives the generator is not."
)
MODEL_ACTORS: Final = ACTORS.replace("generator", "model")
ACROSS: Final = (
    "Trainings on what one file calls one dataset are chosen after earlier outputs were seen; the file admits a training "
    "only while a filter that is valid under adaptive choice holds for everything spent and reserved. That the same "
    "records were not used under another name, or with another file, is trusted."
)
KEY: Final = "256 bits from the operating system for this job alone; never written down, gone with the process that trained"
ASKED_FOR: Final = "Epsilon and delta were asked for by who trained, inside a cap that the same person set once; nobody else approved."
UNPROTECTED: Final = "that somebody trained on a dataset and published the generator, and when"
NOT_COVERED: Final = (
    "whether this certificate is true at all: nobody has signed it, so it is worth the word of whoever hands it on",
    "what whoever trained has seen: the records, and why some were refused",
    "side channels of the machine: timing of the noise sampler, caches, power, residue in device memory",
    "somebody who reads the memory of the training process or the files of its owner",
    "other publications from the same records outside this ledger, also by this software under another name",
    "whether what is true of many people may be used against one of them",
)
_STATED: Final = ("model", "composition", "randomness")
"""Members whose forms contain sentences."""
SEAL: Final = ("context", "algorithm", "key_id", "signature")


def localised(certificate: Mapping[str, Any]) -> dict[str, Any]:
    """Turn a service's unsigned certificate into a local one, made without a service; `artefacts` may be missing."""
    local = deepcopy(dict(certificate))
    for place, said in _sentences(local):
        _put(local, place, said)
    return local


def local_schema(service: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of local certificates, derived from that of a service's certificates."""
    schema = deepcopy(dict(service))
    members = schema["properties"]
    for name in SEAL:
        del members[name]
    schema["required"] = [name for name in schema["required"] if name not in SEAL]
    forms = schema["$defs"]
    stated = {name: rule["const"] for name, rule in members.items() if "const" in rule}
    if among := members["justification"].pop("enum", None):
        stated["justification"] = among[0]
    named = {name: members[name]["$ref"].removeprefix("#/$defs/") for name in _STATED}
    for name, form in named.items():
        rules = forms[form]["properties"]
        stated[name] = {member: rule["const"] for member, rule in rules.items() if "const" in rule}
    for place, said in _sentences(stated):
        if len(place) == 1:
            members[place[0]]["const"] = said
        else:
            forms[named[place[0]]]["properties"][place[1]]["const"] = said
    if among:
        members["justification"] = {
            **{name: rule for name, rule in members["justification"].items() if name != "const"},
            "enum": [[ASKED_FOR, *sentences[1:]] for sentences in among],
        }
    return schema


def _sentences(said: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The members of local certificates that differ, with their values."""
    of_model = said["schema"] == _SERVICE_MODEL
    yield ("schema",), MODEL_SCHEMA if of_model else SCHEMA
    yield ("model", "actors"), MODEL_ACTORS if of_model else ACTORS
    yield ("composition", "across"), ACROSS
    yield ("randomness", "key"), KEY
    yield ("justification",), [ASKED_FOR, *said["justification"][1:]]
    published = UNPROTECTED.replace("generator", "model") if of_model else UNPROTECTED
    yield ("unprotected_quantities",), [*said["unprotected_quantities"][:2], published]
    yield ("not_covered",), [*NOT_COVERED]


def _put(document: dict[str, Any], place: tuple[str, ...], value: object) -> None:
    for name in place[:-1]:
        document = document[name]
    document[place[-1]] = value
