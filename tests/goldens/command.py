"""Every verb of the command with its options, and the exit statuses, without prose."""

import enum
from collections.abc import Iterator
from pathlib import Path
from types import NoneType
from typing import Any, Final, Literal, get_args, get_origin

import typer.main

from tests.goldens.files import canonical
from understudy.cli import INTERRUPTED, app
from understudy.cli.doctor import PROBLEMS
from understudy.cli.publish import DEGENERATE
from understudy.cli.stack import FORGOTTEN
from understudy.embedded.launcher import PARENT_GONE
from understudy.verifying.verification import Outcome

_LIMITS: Final = (
    "min", "max", "clamp", "count", "case_sensitive", "exists", "file_okay", "dir_okay", "writable", "allow_dash",
)  # fmt: skip


def command() -> dict[str, object]:
    """By verb, its parameters in order; groups list nothing of their own."""
    return {" ".join(words): rows for words, rows in _verbs(typer.main.get_command(app), ("understudy",))}


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
    return {
        "kind": parameter.param_type_name,
        "spelt": spelt,
        "type": _type(described.annotation) if described else "flag",
        "limits": {name: _plain(value) for name, value in limits.items() if value not in {None, False}},
        "required": parameter.required,
        "default": _default(parameter.default),
        "many": [bool(parameter.multiple), parameter.nargs],
        "flag": bool(getattr(parameter, "is_flag", False)),
        "environment": _plain(parameter.envvar),
        "hidden": bool(getattr(parameter, "hidden", False)),
    }


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
