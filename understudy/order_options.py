"""Parse the parts of an order from the command line: options of a synthesizer, candidates of a selection."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from understudy.documents import Json, named, take
from understudy.errors import InputUnusable

BY_RULES = "rules"
"""A candidate of which the public rules pick everything."""
SYNTHESIZER = "synthesizer"
_FEWEST, _MOST = 2, 32
"""Limits of the service; checked here too, because its error points into JSON that the user never wrote."""
_FEDERATION = re.compile(
    r"(https?://[^/?#\s]+)/v1/federations/([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})/?"
)
_NEXT_SETTING = re.compile(r",(?=[A-Za-z_]+=)")


def parse_options(settings: Sequence[str], *, word: str = "--set") -> dict[str, Any]:
    """Read ``KEY=VALUE`` settings of an option, `word`; a value is JSON where it parses as such, else text.

    Raises:
        InputUnusable: if one has no ``=``, or a key comes twice.
    """
    options: dict[str, Any] = {}
    for setting in settings:
        key, sign, text = setting.partition("=")
        if not sign or not key:
            message = f"{word} takes KEY=VALUE, not {setting!r}"
            raise InputUnusable(message)
        if key in options:
            message = f"{word} {key} is given twice"
            raise InputUnusable(message)
        try:
            options[key] = json.loads(text)
        except ValueError:
            options[key] = text
    return options


def with_profile(options: dict[str, Any], profile: str | None) -> dict[str, Any]:
    """Add the profile of the command line, if it was given, to the options of a synthesizer.

    Raises:
        InputUnusable: if ``--set`` gives a profile too.
    """
    if profile is None:
        return options
    if "profile" in options:
        raise InputUnusable("--profile and --set profile exclude each other")
    return options | {"profile": profile}


def parse_selection(
    candidates: Sequence[str],
    *,
    epsilon: float | None,
    choice_epsilon: float | None,
    settings: Sequence[str] = (),
) -> Json | None:
    """Read a selection, in the form in which an order takes it; None where no candidate is named.

    Args:
        candidates: each ``KEY=VALUE,...``, the name of a JSON file, or `BY_RULES`.
        epsilon: of every candidate's training on its part.
        choice_epsilon: of the choice among them.
        settings: options of a single synthesizer, which a selection has not; the profile among them.

    Raises:
        InputUnusable: if only a part of a selection is given, or a candidate cannot be read.
    """
    if not candidates and epsilon is None and choice_epsilon is None:
        return None
    if not _FEWEST <= len(candidates) <= _MOST or epsilon is None or choice_epsilon is None:
        message = f"a selection needs all of --candidate ({_FEWEST} to {_MOST} times), --selection-epsilon and --choice-epsilon"
        raise InputUnusable(message)
    if settings:
        message = "--set and --profile are for an order of one generator; give the options of a selection with --candidate"
        raise InputUnusable(message)
    return {
        "candidates": [parse_candidate(word) for word in candidates],
        "epsilon": epsilon,
        "choice_epsilon": choice_epsilon,
    }


def parse_candidate(word: str) -> Json:
    """Read one candidate: `BY_RULES`, the name of a file with the JSON object ``{"options": {...}}`` of an order, or ``KEY=VALUE,...``.

    ``synthesizer=NAME`` may be among them.

    Raises:
        InputUnusable: if it is none of these.
    """
    if word == BY_RULES:
        return {"options": {}}
    if "=" not in word:
        return _candidate_of_file(Path(word))
    options = parse_options(_NEXT_SETTING.split(word), word="--candidate")
    named = {} if SYNTHESIZER not in options else {SYNTHESIZER: options.pop(SYNTHESIZER)}
    return named | {"options": options}


def _candidate_of_file(file: Path) -> Json:
    try:
        document = json.loads(file.read_text())
    except FileNotFoundError:
        message = f"--candidate takes KEY=VALUE,..., a JSON file or {BY_RULES!r}; there is no file {file}"
        raise InputUnusable(message) from None
    except (OSError, ValueError):
        message = f"{file} cannot be read as JSON"
        raise InputUnusable(message) from None
    if not isinstance(document, dict) or not document.keys() <= {SYNTHESIZER, "options"}:
        message = f'{file} must hold an object with "options", and "{SYNTHESIZER}" where it is another one'
        raise InputUnusable(message)
    return document


def parse_federation(address: str) -> tuple[str, str]:
    """Read the address of a federation, ``https://board.example.org/v1/federations/ID``: the origin of its board, and its id.

    Raises:
        InputUnusable: if it is none.
    """
    found = _FEDERATION.fullmatch(address)
    if found is None:
        message = "--join takes the address of a federation: https://board.example.org/v1/federations/ID"
        raise InputUnusable(message)
    return found[1], found[2]


def require_alone(*, model: bool, profile: str | None, selection: Json | None) -> None:
    """Refuse to order a private model with the profile or the selection of a generator's order."""
    if model and profile is not None:
        raise InputUnusable("--model and --profile exclude each other: profiles are of generators")
    if model and selection is not None:
        raise InputUnusable("--model and --candidate exclude each other: candidates are generators")


def joined(url: str, token: str, membership: Json) -> dict[str, Any]:
    """Return the member ``federation`` of an order in the member's own service, from what the board at `url` states."""
    stated = named(membership, "federation_id", "member", "members", "domain_sha256", "plan_sha256")
    return {"url": url, "token": token} | stated


def terms_of(membership: Json) -> tuple[Json | None, Json | None]:
    """Return what a member has to order: options of a model, or those of a generator; the other is None."""
    if membership.get("generator") is None:
        (model,) = take(membership, "model")
        return model, None
    (options,) = take(membership["generator"], "options")
    return None, options
