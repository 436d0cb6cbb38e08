"""The software that took part in a training, by version and hash, for its certificate.

A distribution's hash is the SHA-256 of its RECORD's rows that carry a hash, sorted, without the files that an installer
creates (scripts, `.dist-info`, byte code). So two installations of one wheel have the same hash, whatever installed them.
It is null where the installer left no RECORD. The hash of this project is over its source files, which may run uninstalled.
"""

import hashlib
import platform
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path
from typing import Any, Final

from core.plan.spec import GRAPHICAL

TAKING_PART: Final = (
    "cryptography", "numpy", "onnx", "onnxscript", "pyarrow", "pydantic", "safetensors", "scikit-learn", "scipy", "torch",
)  # fmt: skip
"""Distributions that read rows, draw, train, account or export in a training; not those for messages or logs."""


FITTING_GRAPHS: Final = ("jax", "jaxlib", "mbi", "networkx", "opt_einsum", "optax")
"""Distributions that also take part where a graphical model is fitted."""


@cache
def software_of(*packages: str, synthesizers: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the certificate's member `software`.

    Args:
        packages: Names of this project's packages that took part.
        synthesizers: That were run; the libraries of all of them are listed.
    """
    graphs = FITTING_GRAPHS if set(synthesizers) & set(GRAPHICAL) else ()
    return {
        "name": "understudy",
        "version": _software_version(),
        "source_sha256": _source_digest(*packages),
        "python": platform.python_version(),
        "distributions": [
            {"name": name, "version": version(name), "files_sha256": files_digest(name)}
            for name in (*TAKING_PART, *graphs)
        ],
    }


def files_digest(name: str) -> str | None:
    """Return the hash of an installed distribution's files; None if the installer recorded none."""
    record = distribution(name).read_text("RECORD")
    if record is None:
        return None
    rows = [row.rsplit(",", 2) for row in record.splitlines() if row]
    kept = sorted(
        f"{path},{digest}\n"
        for path, digest, _size in rows
        if digest and not path.startswith("..") and ".dist-info/" not in path
    )
    return hashlib.sha256("".join(kept).encode()).hexdigest()


def _source_digest(*packages: str) -> str:
    digest = hashlib.sha256()
    for package in packages:
        folder = Path(import_module(package).__path__[0])
        for file in sorted(folder.rglob("*.py")):
            name = f"{package}/{file.relative_to(folder).as_posix()}"
            digest.update(f"{name}\0{hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()


def _software_version() -> str:
    try:
        return version("understudy")
    except PackageNotFoundError:
        return "unpackaged"
