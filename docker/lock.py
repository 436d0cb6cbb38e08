# noqa: INP001 - a script that runs alone
"""Write the locked requirements, with the hash of every file: `make lock`, or `python docker/lock.py UV`.

Versions stay as they are in requirements-dev.lock; `--upgrade` takes the newest that pyproject.toml allows. torch and what comes
with its CUDA builds are left out: which build a machine needs is its own affair. It is installed afterwards, by version.
"""

import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOCKS = {
    "requirements-dev.lock": ("service", "workers", "embedded", "offline", "graphical", "dev"),
    "requirements.lock": ("service", "workers", "embedded", "offline"),
    "docker/service.lock": ("service",),
    "docker/upkeep.lock": ("service", "backup"),
    "docker/workers.lock": ("workers",),
    "docker/graphical.lock": ("workers", "graphical"),
}
OLDEST_PYTHON = "3.11.5"
_PACKAGE = re.compile(r"^(?=[\w.-]+==)", re.MULTILINE)
_OF_TORCH = re.compile(r"(torch|triton|nvidia-|cuda-)")
_HEADER = (
    "# Exact versions and the hashes of their files; written by `make lock`. torch is not among them.\n"
    "#   pip install --no-deps --require-hashes --requirement {name} && pip install torch==2.13.0\n"
)


def write(uv: str, name: str, extras: tuple[str, ...], *, upgrade: bool) -> None:
    """Lock what some extras need."""
    words = [uv, "pip", "compile", "pyproject.toml", "--universal", "--python-version", OLDEST_PYTHON]
    words += ["--generate-hashes", "--no-header", "--no-annotate", "--no-emit-index-url", "--quiet"]
    words += [word for extra in extras for word in ("--extra", extra)]
    with tempfile.TemporaryDirectory() as folder:
        # What builds the package runs on the same machine, so it is locked too.
        build = Path(folder) / "build.txt"
        build.write_text(
            "\n".join(tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"])
        )
        pins = Path(folder) / "pins.txt"
        kept = "" if upgrade else "\n".join(pinned((ROOT / "requirements-dev.lock").read_text()))
        pins.write_text(kept)
        found = subprocess.run(
            [*words, str(build), "--constraint", str(pins)],
            cwd=ROOT,
            check=True,
            capture_output=True,
            text=True,
        ).stdout
    blocks = [block for block in _PACKAGE.split(found) if block and not _OF_TORCH.match(block)]
    (ROOT / name).write_text(_HEADER.format(name=name) + "".join(blocks))


def pinned(lock: str) -> list[str]:
    """The `name==version` of every line of a lock."""
    return re.findall(r"^[\w.-]+==[^\s;\\]+", lock, flags=re.MULTILINE)


if __name__ == "__main__":
    for lock, of in LOCKS.items():
        # The first one may be upgraded; the others follow it.
        write(sys.argv[1], lock, of, upgrade="--upgrade" in sys.argv and lock == "requirements-dev.lock")
