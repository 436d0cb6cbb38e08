"""Bundles in the object store that no release names: which of them the ledger has forgotten.

A bundle is put before its release is committed, so one without a release may be on its way, or left by an attempt that
lost its lease. But a certified bundle quotes the link of the ledger that paid for it. Where the ledger has no such link, the
database was restored from a backup that knows nothing of it.
"""

import json
import re
import struct
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final
from uuid import UUID

from sqlalchemy import select

from core.db.session import Database
from core.db.tables.release import Release
from core.ledger import repository as ledger_repository
from core.logs import get_logger
from core.releases.bundle import CERTIFICATE
from core.signing.contexts import CERTIFICATE as CERTIFIED
from core.signing.hash_chain import Head
from core.storage.errors import ObjectMissing
from core.storage.objects import ObjectStore

BUNDLE: Final = re.compile(r"releases/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})/bundle-\d+\.zip")
_BATCH: Final = 500
# What the reader raises for damaged or exotic archives.
_DAMAGE: Final = (
    zipfile.BadZipFile, zlib.error, struct.error, KeyError, ValueError, EOFError, RuntimeError, OverflowError,
)  # fmt: skip
_MAX_BYTES: Final = 2**26


def forgotten_bundles(database: Database, store: ObjectStore) -> dict[UUID, set[UUID]]:
    """Jobs whose certified bundles quote a link that the ledger lacks, by population.

    Raises:
        DatabaseUnavailable: The database is away.
    """
    forgotten: defaultdict[UUID, set[UUID]] = defaultdict(set)
    keys = (found.key for found in store.list("releases") if BUNDLE.fullmatch(found.key))
    while batch := list(islice(keys, _BATCH)):
        with database.read_only() as session:
            named = set(session.scalars(select(Release.bundle_key).where(Release.bundle_key.in_(batch))))
        for population_id, job_id, spent in _quoted(store, [key for key in batch if key not in named]):
            with database.read_only() as session:
                known = ledger_repository.links_at(session, population_id, [spent.sequence])
            if spent not in known:
                forgotten[population_id].add(job_id)
    return dict(forgotten)


def _quoted(store: ObjectStore, keys: list[str]) -> Iterator[tuple[UUID, UUID, Head]]:
    """What the certificates in bundles say of population, job and the link that paid."""
    for key in keys:
        certificate = _certificate(store, key)
        if certificate.get("schema") != CERTIFIED:
            continue
        try:
            spent = certificate["ledger"]["spent"]
            yield (
                UUID(certificate["population_id"]),
                UUID(certificate["job_id"]),
                Head(sequence=int(spent["sequence"]), hash=bytes.fromhex(spent["hash"])),
            )
        except (KeyError, TypeError, ValueError, AttributeError):
            get_logger().warning("bundle-unreadable", key=key)


def _certificate(store: ObjectStore, key: str) -> Mapping[str, Any]:
    """The certificate in a bundle, or nothing where there is none that could be read."""
    try:
        with store.open(key) as raw, zipfile.ZipFile(raw) as archive, archive.open(CERTIFICATE) as member:
            certificate = json.loads(member.read(_MAX_BYTES))
    except ObjectMissing:
        return {}
    except _DAMAGE:
        get_logger().warning("bundle-unreadable", key=key)
        return {}
    return certificate if isinstance(certificate, Mapping) else {}
