"""Choice of the user that the embedded Postgres runs as: Postgres refuses root, and we add no user to the system."""

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

AS_IS = "as-is"
NAMESPACE = "namespace"
DROPPED = "65534:65534"
LAUNCHER = Path(__file__).with_name("launcher.py")


def launcher_prefix(*, death_signal: int, identity: str) -> list[str]:
    """Return the command prefix with which a process gets a signal when this one dies, under one of the launcher's identities."""
    return [sys.executable, "-I", "-S", str(LAUNCHER), str(os.getpid()), str(int(death_signal)), identity]


@cache
def server_identity() -> str:
    """Choose the identity for servers that refuse root: as is, a user namespace, or a dropped user."""
    if os.geteuid() != 0:
        return AS_IS
    probe = [*launcher_prefix(death_signal=15, identity=NAMESPACE), shutil.which("true") or "/bin/true"]
    finished = subprocess.run(probe, check=False, capture_output=True)
    return NAMESPACE if finished.returncode == 0 else DROPPED


def give_to(identity: str, folder: Path) -> None:
    """Make a new empty folder belong to the user that an identity names."""
    if identity not in (AS_IS, NAMESPACE):
        uid, gid = identity.split(":")
        os.chown(folder, int(uid), int(gid))
