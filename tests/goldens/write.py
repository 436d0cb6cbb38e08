"""Write the golden files of contracts: `python -m tests.goldens.write [NAME ...]`.

Run it only for an intended change of a contract, and read the diff: every line that moved is one that others rely on.
"""

import sys
from collections.abc import Callable, Mapping
from typing import Final

from tests.goldens import api, chains, command, documents, names, privacy, stored, streams
from tests.goldens.files import FOLDER, path_of, text_of

GOLDENS: Final[Mapping[str, Callable[[], dict[str, object]]]] = {
    "access": api.access,
    "api": api.api,
    "audit": chains.audit,
    "certificates": documents.certificates,
    "command": command.command,
    "database": names.database,
    "domains": documents.domains,
    "errors": names.errors,
    "exit-statuses": command.exit_statuses,
    "ledger": chains.ledger,
    "manifests": documents.manifests,
    "mechanisms": privacy.privacy,
    "plans": documents.ordered_plans,
    "schemas": documents.schemas,
    "settings": names.settings,
    "signatures": chains.signatures,
    "stored": stored.stored,
    "streams": streams.streams,
    "tasks": names.tasks,
    "words": names.words,
}


def main(chosen: list[str]) -> None:
    """Write the golden files with these names; all, without names."""
    FOLDER.mkdir(exist_ok=True)
    for name in chosen or GOLDENS:
        path_of(name).write_text(text_of(GOLDENS[name]()))


if __name__ == "__main__":
    main(sys.argv[1:])
