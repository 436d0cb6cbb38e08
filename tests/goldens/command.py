"""Every verb of the command with its options, and the exit statuses, without prose."""

import argparse
import enum
from collections.abc import Callable, Iterator
from contextlib import suppress
from inspect import signature
from pathlib import Path
from types import NoneType
from typing import Any, Final, Literal, get_args, get_origin
from unittest.mock import patch

import typer.main

from service import provision, rotate_master_key
from tests.goldens.files import canonical
from understudy.cli import INTERRUPTED, app
from understudy.cli.oversight import PROBLEMS
from understudy.cli.publish import DEGENERATE
from understudy.cli.stack import FORGOTTEN
from understudy.embedded.launcher import PARENT_GONE
from understudy.verifying.verification import Outcome
from workers import backup, ledger_audit, restore, upkeep

_LIMITS: Final = (
    "min",
    "max",
    "clamp",
    "count",
    "case_sensitive",
    "exists",
    "file_okay",
    "dir_okay",
    "allow_dash",
)
_USUAL: Final[dict[str, object]] = {
    "required": False, "multiple": False, "values": 1, "flag": False, "hidden": False, "clamp": False, "count": False,
    "case_sensitive": True, "exists": False, "file_okay": True, "dir_okay": True, "allow_dash": False,
}  # fmt: skip
"""What a parameter is where nothing is said; None for all others."""
_OPERATORS: Final[dict[str, Callable[..., object]]] = {
    "python -m service.provision": provision.main,
    "python -m service.rotate_master_key": rotate_master_key.main,
    "python -m workers.backup": backup.main,
    "python -m workers.ledger_audit": ledger_audit.main,
    "python -m workers.restore": restore.main,
    "python -m workers.upkeep": upkeep.main,
}


def command() -> dict[str, object]:
    """By verb, its parameters in order; groups list nothing of their own. Then the programs of operators."""
    verbs = {" ".join(words): rows for words, rows in _verbs(typer.main.get_command(app), ("understudy",))}
    return verbs | {name: _arguments(main) for name, main in _OPERATORS.items()}


def _arguments(main: Callable[..., object]) -> list[object]:
    """The parser that a program would read its arguments with."""
    found: list[argparse.ArgumentParser] = []

    def caught(parser: argparse.ArgumentParser, *_: object, **__: object) -> None:
        found.append(parser)
        raise SystemExit

    with patch("argparse.ArgumentParser.parse_args", caught), suppress(SystemExit):
        main(*([[]] if signature(main).parameters else []))
    return [
        {
            "argument": action.option_strings or action.dest,
            "type": None if action.type is None else getattr(action.type, "__name__", "checked"),
            "required": action.required,
            "default": _plain(action.default),
            "values": action.nargs,
        }
        # private: argparse has no public list of what a parser takes
        for action in found[0]._actions
    ]


def exit_statuses() -> dict[str, object]:
    """By what happened."""
    return {
        "interrupted": INTERRUPTED,
        "doctor found problems": PROBLEMS,
        "the release's quality is degenerate": DEGENERATE,
        "backup or restore forgot something": FORGOTTEN,
        "the launcher's parent is gone": PARENT_GONE,
        "verify: verified": int(Outcome.VERIFIED),
        "verify: refused": int(Outcome.REFUSED),
        "verify: signer unknown": int(Outcome.SIGNER_UNKNOWN),
    }


def _verbs(member: Any, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], list[object]]]:
    # By shape, not by class: typer brings a click of its own.
    members = getattr(member, "commands", None)
    yield words, [_parameter(parameter) for parameter in member.params]
    for name, inner in sorted((members or {}).items()):
        yield from _verbs(inner, (*words, name))


def _parameter(parameter: Any) -> dict[str, object]:
    option = parameter.param_type_name == "option"
    described = parameter.type_descriptor
    info = described.parameter_info if described else None
    limits = {name: getattr(info, name, None) for name in _LIMITS}
    spelt = (
        sorted([*parameter.opts, *parameter.secondary_opts])
        if option
        else parameter.metavar or parameter.name
    )
    told = {
        "type": _type(described.annotation) if described else "bool",
        "required": parameter.required,
        "default": _default(parameter.default),
        "multiple": bool(parameter.multiple),
        "values": parameter.nargs,
        "flag": bool(getattr(parameter, "is_flag", False)),
        "environment": _plain(parameter.envvar),
        "hidden": bool(getattr(parameter, "hidden", False)),
        **{name: _plain(value) for name, value in limits.items()},
    }
    changed = {name: value for name, value in told.items() if value != _USUAL.get(name)}
    return {parameter.param_type_name: spelt} | changed


def _type(annotation: Any) -> object:
    """A built-in type's name, or the values of an enumeration or a literal, whatever the class is called."""
    if get_origin(annotation) is Literal:
        return sorted(map(str, get_args(annotation)))
    if get_args(annotation):
        parts = [_type(part) for part in get_args(annotation) if part is not NoneType]
        return parts[0] if len(parts) == 1 else parts
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        return sorted(str(member.value) for member in annotation)
    return annotation.__name__


def _default(value: Any) -> object:
    if callable(value) and not isinstance(value, enum.Enum):
        return "computed"
    return _plain(value)


def _plain(value: Any) -> object:
    if isinstance(value, enum.Enum):
        return _plain(value.value)
    if isinstance(value, Path):
        return str(value).replace(str(Path.home()), "~")
    if isinstance(value, dict | list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    canonical(value)  # raises where JSON does not know it
    return value
