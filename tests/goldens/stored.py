"""What lies in the object store and in the database: sealed bytes, keys of objects, digests of API keys, file formats.

Salts come from `os.urandom`, which counts here, so that the same bytes are sealed every time. The committed bytes must
open for ever; `opened` opens them without making any.
"""

import io
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from typing import Any, BinaryIO, Final
from unittest.mock import patch
from uuid import UUID

import numpy as np
import pyarrow as pa
import torch

from core.artifacts.counts import CountTable, ReleasedCounts
from core.artifacts.execution import Executed
from core.artifacts.reports.owner_files import report_key as sealed_report_key
from core.artifacts.reports.utility import report_id_of
from core.data.failure_notes import failure_note_key
from core.data.master_keys import MasterKeys
from core.data.objects import ObjectStore, open_store
from core.data.private_rows import open_private_rows
from core.data.sealing import SealedReader, SealedWriter, open_bytes, seal_bytes
from core.data.stored_rows import open_writer, rows_context
from core.data.upload_parts import new_part_key
from core.ledger.hash_chain import Head
from core.plan.domain.schema import storage_schema
from core.plan.domain.table import TableDomain
from core.platform.access import keys
from core.platform.notifications.details import Details, code_of
from core.platform.stored_objects import (
    bundle_key,
    checkpoint_key,
    count_folder,
    measurement_key,
    release_id_of,
)
from core.platform.witness.witness_store import acceptance_key, head_key, ledger_key, publication_key
from models.checkpoint import pack
from models.release_recorder import CertificateRecorder
from tests.goldens.chains import AT
from tests.goldens.plans import DOMAIN, table_plan
from workers.assignment import Checkpoints

MASTER, DATA, RANDOM = bytes(range(32)), bytes(range(32, 64)), bytes(range(64, 96))
PLAINTEXT: Final = b"It publishes an understudy of the data, never the data."
ROWS_KEY: Final = f"datasets/{UUID(int=1)}/rows-0.sealed"
ROWS: Final = (
    {"ward": "Ü", "age": 41, "sick": "yes", "seen": date(2020, 1, 4)},
    {"ward": "A", "age": 99, "sick": "no", "seen": date(2020, 1, 1)},
)
HEAD: Final = Head(sequence=3, hash=bytes(range(32)))
CHECKPOINT: Final = {"job_id": UUID(int=3), "fence": 2, "randomness_key": RANDOM}


@contextmanager
def counted_entropy() -> Iterator[None]:
    """`os.urandom` gives 0, 1, 2, ... modulo 256."""
    drawn = 0

    def urandom(count: int) -> bytes:
        nonlocal drawn
        drawn += count
        return bytes(number % 256 for number in range(drawn - count, drawn))

    with patch("os.urandom", urandom):
        yield


def stored() -> dict[str, object]:
    """By what it is; bytes in hexadecimal."""
    with counted_entropy():
        members = {f"sealed: {name}": made.hex() for name, made in _sealed().items()}
    counts = ReleasedCounts(
        cardinalities=(3, 2),
        step=0.25,
        tables=(
            CountTable(columns=(0,), noise_std=2.5, cells=np.array([4, -1, 300], dtype=np.int32)),
            CountTable(columns=(0, 1), noise_std=5.0, cells=np.array([[1, 2], [3, -4]], dtype=np.int32)),
        ),
        groups=(np.array([0, 0, 1]), np.array([0, 1])),
    ).to_bytes()
    plan = table_plan({"critic": False})
    record = CertificateRecorder(plan)
    record.restored(record.beside(b""))
    members |= {
        "format: counts.bin": counts.hex(),
        "format: record beside a checkpoint": record.beside(b"state").decode(),
        "format: record of a whole plan": Executed.planned(plan).to_json(),
        "format: checkpoint": pack({"weights": torch.arange(3)}, {"step": 7}).hex(),
    }
    return members | _places() | _keys()


def _sealed() -> dict[str, bytes]:
    stream, empty, rows = io.BytesIO(), io.BytesIO(), io.BytesIO()
    with SealedWriter(stream, key=DATA, context="golden", chunk_bytes=16) as writer:
        writer.write(PLAINTEXT)
    with SealedWriter(empty, key=DATA, context="golden"):
        pass
    domain = TableDomain.from_json(DOMAIN)
    batch = pa.RecordBatch.from_pylist(list(ROWS), schema=storage_schema(domain))
    with SealedWriter(rows, key=DATA, context=rows_context(ROWS_KEY)) as writer:
        arrow: BinaryIO = writer
        with open_writer(arrow, domain) as batches:
            batches.write_batch(batch)
    store = open_store("memory://")
    Checkpoints(store, **CHECKPOINT).save(PLAINTEXT)
    masters = MasterKeys(current=MASTER)
    details = Details(
        target="https://receiver.example/hook", secret=b"1" * 24, previous=b"2" * 24, previous_until=AT
    )
    return {
        "stream": stream.getvalue(),
        "empty stream": empty.getvalue(),
        "rows": rows.getvalue(),
        "checkpoint": store.get_bytes(checkpoint_key(UUID(int=3), 2)),
        "blob": seal_bytes(DATA, PLAINTEXT, context="golden"),
        "key under the master key": masters.wrap(DATA, context=f"dataset:{UUID(int=1)}"),
        "details of an endpoint": details.seal(masters, UUID(int=8)),
    }


def opened(committed: Mapping[str, Any]) -> dict[str, object]:
    """What is in the committed bytes."""
    sealed = {name: bytes.fromhex(committed[f"sealed: {name}"]) for name in _NAMES}
    masters = MasterKeys(current=MASTER)
    store = open_store("memory://")
    store.put_bytes(ROWS_KEY, sealed["rows"])
    store.put_bytes(checkpoint_key(UUID(int=3), 2), sealed["checkpoint"])
    details = Details.open(sealed["details of an endpoint"], masters, UUID(int=8))
    return {
        "stream": SealedReader(io.BytesIO(sealed["stream"]), key=DATA, context="golden").read(),
        "empty stream": SealedReader(io.BytesIO(sealed["empty stream"]), key=DATA, context="golden").read(),
        "rows": _rows(store),
        "checkpoint": Checkpoints(store, **CHECKPOINT).load(),
        "blob": open_bytes(DATA, sealed["blob"], context="golden"),
        "key under the master key": masters.unwrap(
            sealed["key under the master key"], context=f"dataset:{UUID(int=1)}"
        ),
        "details of an endpoint": (details.target, details.secret, details.previous, details.previous_until),
    }


CONTENTS: Final[dict[str, object]] = {
    "stream": PLAINTEXT,
    "empty stream": b"",
    "rows": list(ROWS),
    "checkpoint": PLAINTEXT,
    "blob": PLAINTEXT,
    "key under the master key": DATA,
    "details of an endpoint": ("https://receiver.example/hook", b"1" * 24, b"2" * 24, AT),
}
_NAMES: Final = tuple(CONTENTS)


def _rows(store: ObjectStore) -> list[object]:
    batches = open_private_rows(store, ROWS_KEY, DATA, TableDomain.from_json(DOMAIN))
    return [row for batch in batches for row in batch.to_pylist()]


def _places() -> dict[str, object]:
    """Keys of objects; what is random in one counts here."""
    dataset, job, report = UUID(int=1), UUID(int=3), UUID(int=11)
    with patch("uuid.uuid4", lambda: UUID(int=12)):
        part = new_part_key(UUID(int=10), 4)
    return {
        "key of: rows": rows_context(ROWS_KEY),
        "key of: part of an upload": part.replace(part.rpartition("-")[2], "*.sealed"),
        "key of: owner's report": sealed_report_key(dataset, report, 2),
        "key of: failure note": failure_note_key(job, 2),
        "key of: checkpoint": checkpoint_key(job, 2),
        "key of: bundle": bundle_key(job, 2),
        "key of: counts": count_folder(job, 2),
        "key of: measured terms": measurement_key(job, 2),
        "key of: ledger head": ledger_key(dataset),
        "key of: noted head": head_key(dataset, HEAD),
        "key of: publication": publication_key(dataset, job),
        "key of: acceptance": acceptance_key(dataset, HEAD),
        "id of: a job's release": str(release_id_of(job)),
        "id of: a job's utility report": str(report_id_of(job)),
    }


def _keys() -> dict[str, object]:
    pepper = keys.pepper_from(MASTER)
    with counted_entropy():
        key, token = keys.make_key(os.urandom), keys.make_enrolment_token(os.urandom)
    return {
        "API key: text": key.text,
        "API key: prefix": key.prefix,
        "API key: digest": keys.digest_of(key, pepper=pepper).hex(),
        "enrolment: text": token.text,
        "pepper of the first release": pepper.hex(),
        **{
            f"digest key: {purpose}": keys.subkey_of(pepper, purpose.encode()).hex()
            for purpose in ("browser-sessions", "csrf-tokens")
        },
        "code that confirms an address": code_of(b"1" * 24),
        "mark of the master key": MasterKeys(current=MASTER).mark.hex(),
    }
