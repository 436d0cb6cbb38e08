"""Rotate the master key without downtime: ``python -m service.rotate_master_key``. Rows are not encrypted again.

1. Generate a new key (``openssl rand -hex 32``). Restart every role with the new key as ``UNDERSTUDY_PREVIOUS_MASTER_KEY``,
   which is used for decryption only. Otherwise a role could meet data that another role sealed under a key it lacks.
2. Restart every role with the two keys swapped: the new key as ``UNDERSTUDY_MASTER_KEY``, the old one as the previous. From
   now on all new data is sealed under the new key. If all roles stop for a moment anyway, start with this step.
3. Run this command with the same environment. It can be interrupted and run again.
4. When it reports that nothing remains, restart every role without the previous key and destroy the old key. Older
   backups contain data keys sealed under the old key; without it they cannot be decrypted.

If the old key was stolen, add ``--new-signing-key``: the key that signs heads and certificates was sealed under it. The
next signature uses a new key; earlier signatures still verify.

``--check`` only counts. The exit status is 0 if nothing remains under another key, else 1.
"""

import argparse
import sys
from contextlib import closing

from core.artifacts.signing import keyring
from core.clock import SystemClock
from core.db.session import UPKEEP_STATEMENT_SECONDS, Database
from core.platform.access.pepper import kept_pepper
from core.platform.rotation import remaining, rotate
from core.platform.settings import Settings, read_settings


def main(arguments: list[str] | None = None, *, settings: Settings | None = None) -> int:
    """Run the command; the exit status is 0 if everything is sealed under the current key."""
    parser = argparse.ArgumentParser(
        prog="python -m service.rotate_master_key",
        description="Seal every key under the current master key.",
    )
    parser.add_argument("--check", action="store_true", help="only count what is still under another key")
    parser.add_argument(
        "--new-signing-key", action="store_true", help="also retire the key that signs heads and certificates"
    )
    options = parser.parse_args(arguments)
    settings = settings or read_settings()
    master_keys = settings.master_keys
    with closing(
        Database(
            settings.database_url, pool_size=1, max_overflow=1, statement_seconds=UPKEEP_STATEMENT_SECONDS
        )
    ) as database:
        if not options.check:
            # While the old key still exists: a database without a stored pepper would lose every API key with it.
            with database.transaction() as session:
                kept_pepper(session, master_keys=master_keys, clock=SystemClock())
                retired = keyring.retire(session, clock=SystemClock()) if options.new_signing_key else None
            if retired is not None:
                sys.stdout.write(f"signing key {retired} is retired\n")
            for progress in rotate(database, master_keys):
                closed = f", {progress.closed} open with no key at hand" if progress.closed else ""
                sys.stdout.write(f"{progress.name}: {progress.done} sealed anew{closed}\n")
        left = remaining(database, master_keys)
    sys.stdout.write(
        f"{left} under another key\n" if left else "everything is under the current master key\n"
    )
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
