"""Become another program that dies with the process that started it.

Run by file path, never imported by the stack: ``python -I -S launcher.py PARENT SIGNAL IDENTITY COMMAND...``.
It sets the identity, then the death signal, then replaces itself with COMMAND. The order matters: the kernel
forgets the death signal whenever credentials change (``commit_creds``), so the signal comes last; and a parent
that died before the signal was set would never be noticed, so the parent is compared afterwards.

Identities (Postgres refuses to run with effective user 0):
  ``as-is``      nothing changes.
  ``namespace``  a new user namespace in which the caller is user 1000: nothing is added to the system, files keep their owner.
  ``UID:GID``    that user, keeping only the capability to pass folder permissions (``CAP_DAC_OVERRIDE``); the way out
                 for root in a container that forbids user namespaces.
"""

import ctypes
import os
import sys
from contextlib import suppress
from pathlib import Path

CLONE_NEWUSER = 0x10000000
PR_SET_PDEATHSIG = 1
PR_SET_KEEPCAPS = 8
PR_SET_SECUREBITS = 28
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_RAISE = 2
CAP_DAC_OVERRIDE = 1
SECBIT_NO_SETUID_FIXUP = 1 << 2
LINUX_CAPABILITY_VERSION_3 = 0x20080522
INNER_ID = 1000
PARENT_GONE = 70


def main(arguments: list[str]) -> None:
    """Set identity and death signal, then exec; the arguments are parent process id, signal number, identity, and the command."""
    parent, death_signal, identity, *command = arguments
    if identity == "namespace":
        enter_user_namespace()
    elif identity != "as-is":
        uid, gid = identity.split(":")
        become(int(uid), int(gid))
    if sys.platform == "linux":
        _call("prctl", PR_SET_PDEATHSIG, int(death_signal), 0, 0, 0)
    if os.getppid() != int(parent):
        raise SystemExit(PARENT_GONE)
    os.execvp(command[0], command)  # noqa: S606 - replacing this process is the purpose; no shell is involved


def enter_user_namespace() -> None:
    """Unshare the user namespace and map the present user and group to 1000."""
    uid, gid = os.geteuid(), os.getegid()
    _call("unshare", CLONE_NEWUSER)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{INNER_ID} {uid} 1")
    Path("/proc/self/gid_map").write_text(f"{INNER_ID} {gid} 1")


def become(uid: int, gid: int) -> None:
    """Drop from root to a user, keeping ``CAP_DAC_OVERRIDE`` alone, also over the coming exec."""
    with suppress(OSError):
        # Postgres asks `access` whether it may read its own programs, which clears the capabilities of a user other than root unless
        # this bit is set: an installation below a private folder, such as /root, would not be found. A container may forbid the bit.
        _call("prctl", PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0)
    _call("prctl", PR_SET_KEEPCAPS, 1, 0, 0, 0)
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)
    kept = 1 << CAP_DAC_OVERRIDE
    header = (ctypes.c_uint32 * 2)(LINUX_CAPABILITY_VERSION_3, 0)
    sets = (ctypes.c_uint32 * 6)(kept, kept, kept, 0, 0, 0)
    _call("capset", header, sets)
    _call("prctl", PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_DAC_OVERRIDE, 0, 0)


def _call(name: str, *arguments: object) -> None:
    function = getattr(ctypes.CDLL(None, use_errno=True), name)
    if function(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


if __name__ == "__main__":
    main(sys.argv[1:])
