"""A whole job in one process - intake, training with an interruption, bundle, samples - and all it leaves behind."""

import io
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from core.artifacts.bundle import unpack
from core.artifacts.sampling.sampler import Sampler
from core.data.intake.intake import CSV, store_rows
from core.data.intake.unit_limit import UnitLimit
from core.data.objects import ObjectStore, open_store
from core.data.private_rows import PrivateShards, open_private_rows
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.plan.domain.table import TableDomain
from core.plan.plan import Plan, make_plan
from core.plan.spec import SynthesisSpec
from models.bundle import write_bundle
from models.counting.streamed import StreamedCounter
from models.counting.units import UNIT_KEY_BYTES
from models.encoding import PrivateTable
from models.learnt_domains.checked_bounds import check_bounds
from models.learnt_domains.learning import learnt_records
from models.learnt_domains.records import pair_of
from models.randomness import KeyedStreams, Purpose
from models.registry import make_synthesizer
from models.releases import ReleaseRecorder
from tests.models.idpgan.jobs import generator_bytes

KEY, DATA_KEY = bytes(range(32)), bytes(range(1, 33))
DECLARED_SIZE = 200
HEADER = "person,ward,age,dose,sick"
SMALL: dict[str, Any] = {
    "critic_width": 12,
    "generator_width": 12,
    "generator_blocks": 1,
    "latent_dimension": 3,
    "generator_batch_size": 48,
    "expected_batch_size": 40,
}
_DEFECTS = ("null", "outside", "infinite", "unreadable")
COLUMNS: list[dict[str, Any]] = [
    {"name": "ward", "kind": "categorical", "categories": ["A", "B", "C"], "other": "elsewhere"},
    {"name": "age", "kind": "numeric", "type": "integer", "lower": 0, "upper": 99, "edges": [0, 20, 50, 99]},
    {
        "name": "dose", "kind": "numeric", "type": "real", "lower": 0, "upper": 10, "bins": 4, "null": "category",
        "outside": "clamp", "infinite": "clamp", "unreadable": "null",
    },
    {"name": "sick", "kind": "boolean", "true": "yes", "false": "no"},
]  # fmt: skip

FEW = [
    COLUMNS[0],
    {"name": "age", "kind": "numeric", "type": "integer", "lower": 0, "upper": 99, "edges": [0, 50, 99]},
    {**COLUMNS[2], "bins": 1},
    COLUMNS[3],
]
"""So few codes that all their combinations are counted."""

WIDE = [
    COLUMNS[0],
    {"name": "age", "kind": "numeric", "type": "integer", "lower": 0, "upper": 100_000},
    {"name": "dose", "kind": "numeric", "type": "real", "lower": -1e6, "upper": 1e9}
    | {key: COLUMNS[2][key] for key in _DEFECTS},
    COLUMNS[3],
]
"""Bounds that are far wider than the values."""

LEARNT = [
    {"name": "ward", "kind": "categorical", "categories": "learn", "most": 5, "other": "elsewhere"},
    {"name": "age", "kind": "numeric", "type": "integer", "bounds": "learn", "bins": "learn", "most": 6},
    {
        "name": "dose", "kind": "numeric", "type": "real", "bounds": "learn", "bins": "learn", "most": 8, "null": "category",
        "infinite": "clamp", "unreadable": "null",
    },
    {"name": "sick", "kind": "boolean", "true": "yes", "false": "no"},
]  # fmt: skip


def declared(
    *,
    target: bool,
    by_person: bool,
    bound: int | str | None = None,
    learnt: bool = False,
    few: bool = False,
    wide: bool = False,
) -> TableDomain:
    """A small declared domain, one with bounds that are far too wide, or one to be learnt; with persons, a unit has any number of records, of which `bound` may count, or "learn"."""
    person: dict[str, Any] = {"name": "person", "kind": "unit" if by_person else "ignored"}
    if bound is not None:
        person["records"] = bound
    return TableDomain.from_json(
        {
            "schema": "understudy.domain/1",
            "target": "sick" if target else None,
            "privacy_unit": "person" if by_person else None,
            "columns": [person, *(LEARNT if learnt else FEW if few else WIDE if wide else COLUMNS)],
        }
    )


def plan_for(
    domain: TableDomain, options: dict[str, Any], *, epsilon: float = 3.0, checks: bool = False
) -> Plan:
    """A small plan, from public facts.

    Raises:
        UnderstudyError: the options exclude each other or cost too much.
    """
    chosen = SMALL | options
    if chosen.get("critic", True):
        chosen = {"steps": 8} | chosen
    if chosen.get("anchor", True):
        chosen = {"pretraining_steps": 4} | chosen
    return make_plan(
        spec=SynthesisSpec(synthesizer="idpgan", options=chosen),
        guarantee=PrivacyGuarantee(epsilon=epsilon, delta=1e-6),
        declared_size=DECLARED_SIZE,
        domain=domain,
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=domain.privacy_unit, records=domain.records_per_unit),
        checks_bounds=checks,
    )


def table_of(count: int, *, by_person: bool) -> list[str]:
    """Rows of people that nobody is."""
    rng = np.random.default_rng(5)
    rows = []
    for number in range(count):
        sick = rng.random() < 0.4
        person = number // 3 if by_person else number
        ward = "ABC"[int(rng.integers(0, 3))]
        rows.append(
            f"p{person},{ward},{rng.integers(0, 100)},{rng.random() * 10:.2f},{'yes' if sick else 'no'}"
        )
    return rows


class Interrupted(Exception):
    """The process was killed."""


@dataclass
class Host:
    """Keeps marks and checkpoints, and interrupts the training once.

    Attributes:
        interrupt_at: Which checkpoint the training dies at.
        unsaved: Whether it dies before that checkpoint is kept, so that its last step is done again.
    """

    interrupt_at: int | None = None
    unsaved: bool = False
    state: bytes | None = None
    marks: list[tuple[str, int, int]] = field(default_factory=list)
    checkpoints: list[bytes] = field(default_factory=list)

    def advance(self, *, stage: str, step: int, total: int) -> None:
        self.marks.append((stage, step, total))

    def load_checkpoint(self) -> bytes | None:
        return self.state

    def checkpoint_due(self) -> bool:
        return True

    def save_checkpoint(self, state: bytes) -> None:
        self.checkpoints.append(state)
        interrupted = len(self.checkpoints) == self.interrupt_at
        if not (interrupted and self.unsaved):
            self.state = state
        if interrupted:
            self.interrupt_at = None
            raise Interrupted


@dataclass(frozen=True)
class Left:
    """Everything a job leaves behind that anybody but the owner could ever see, or that steers the job."""

    marks: list[tuple[str, int, int]]
    checkpoints: list[bytes]
    bundle: bytes
    samples: bytes
    domain: TableDomain
    printed: str
    objects: list[str]


def csv_of(rows: Sequence[str]) -> bytes:
    """Lines of the small domain as a file."""
    return "\n".join([HEADER, *rows, ""]).encode()


def _opened(
    store: ObjectStore, domain: TableDomain, plan: Plan, streams: KeyedStreams, host: Host
) -> tuple[TableDomain, PrivateTable | StreamedCounter]:
    """The domain of the release and the rows by it, as workers.runner opens them."""
    key, bound = streams.bytes(Purpose.UNIT_KEY, 0, UNIT_KEY_BYTES), plan.privacy_unit.records
    if plan.checks_then_counts:
        assert plan.learning is not None
        shards = PrivateShards(store, "rows", DATA_KEY, domain, shard_bytes=1)
        found = check_bounds(
            shards, domain, plan.learning, streams, host, declared_size=DECLARED_SIZE, key=key
        )
        return found, StreamedCounter(shards, found, key=key, bound=bound)
    if plan.only_counts:
        shards = PrivateShards(store, "rows", DATA_KEY, domain, shard_bytes=1)
        return domain, StreamedCounter(shards, domain, key=key, bound=bound)
    batches = list(open_private_rows(store, "rows", DATA_KEY, domain))
    pair = pair_of(plan, domain)
    return learnt_records(batches, domain, plan.learning, streams, host, bound=bound, key=key, pair=pair)


def run(
    content: bytes,
    domain: TableDomain,
    plan: Plan,
    releases: ReleaseRecorder,
    *,
    folder: Path,
    content_type: str = CSV,
    interrupt_at: int | None = None,
    unsaved: bool = False,
    export: bool = True,
) -> Left:
    """Take a file in, train, be interrupted where told, resume; export and sample, or stop at the weights."""
    folder.mkdir()
    store = open_store(folder.as_uri())
    printed = io.StringIO()
    with redirect_stdout(printed), redirect_stderr(printed):
        store_rows(
            [content],
            content_type=content_type,
            domain=domain,
            store=store,
            key="rows",
            data_key=DATA_KEY,
            scratch_folder=folder / "scratch",
            units=UnitLimit(declared_size=DECLARED_SIZE, unit_column=domain.privacy_unit),
        )
        streams = KeyedStreams(KEY, releases=releases)
        host = Host(interrupt_at=interrupt_at, unsaved=unsaved)
        synthesizer = make_synthesizer(plan.synthesizer)
        # As in workers.runner a resumed job learns its domain again, from the same noise.
        found, table = _opened(store, domain, plan, streams, host)
        running = plan.with_learnt_records(found.records_per_unit)
        with suppress(Interrupted):
            trained = synthesizer.fit(table, running, streams, host)
        if interrupt_at is not None:
            again, table = _opened(store, domain, plan, streams, host)
            assert again == found, "a resumed job learns the same domain"
            trained = synthesizer.fit(table, running, streams, host)
        bundle, samples = generator_bytes(trained), b""
        if export:
            bundle = write_bundle(
                generator=trained, domain=found.to_json(), certificate={"schema": "a test's"}
            )
            samples = Sampler(unpack(bundle)).codes(200, np.random.default_rng(1)).tobytes()
    return Left(
        marks=host.marks,
        checkpoints=host.checkpoints,
        bundle=bundle,
        samples=samples,
        domain=found,
        printed=printed.getvalue(),
        objects=sorted(path.name for path in folder.rglob("*") if path.is_file()),
    )
