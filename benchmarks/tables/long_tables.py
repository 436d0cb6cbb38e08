"""Ten million rows of sixty columns to a release: `python -m benchmarks.tables.long_tables`.

The rows are made, stored and sealed as the service stores them. Each measured part runs in a process of its own that
reports wall seconds, processor seconds and its peak of resident memory:

* counting every one- and two-way table once, in one process;
* the same in two processes, each counting every second shard, added at the end;
* finding out what every record counts where units have a column, of so many rows of three records a unit on average;
* a whole training without critic, from the sealed rows to the packed bundle.

`--rows` changes the length; results of every length stand side by side in `benchmarks/results/long_tables.json`.
"""

import argparse
import itertools
import multiprocessing
import resource
import tempfile
import time
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

import numpy as np
import pyarrow as pa
import torch

from benchmarks.machine import load_average
from benchmarks.results_file import merge, rounded
from core.data.objects import open_store
from core.data.private_rows import PrivateShards
from core.data.sealing import SealedWriter
from core.data.stored_rows import open_writer, rows_context
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.plan.domain.codec import decode
from core.plan.domain.schema import storage_schema
from core.plan.domain.table import TableDomain
from core.plan.plan import Plan, make_plan
from core.plan.spec import SynthesisSpec
from models.bundle import write_bundle
from models.counting.question import CountQuestion, Counts
from models.counting.streamed import StreamedCounter, add_counts, count_shard
from models.counting.units import record_weights
from models.randomness import KEY_BYTES, KeyedStreams
from models.registry import make_synthesizer
from models.synthesizer import NullHost

ROWS: Final = 10_000_000
BATCH: Final = 65_536
KEY: Final = bytes(range(32))
STORED: Final = "rows.sealed"
UNITS: Final = "units.sealed"
PROCESSES: Final = 2
LATENT: Final = 12
"""Groups of similar rows, which make the columns depend on one another."""

Measure = Callable[[str], Mapping[str, Any]]


def declared() -> TableDomain:
    """Sixty columns, 1,073 codes: 20 numbers, 30 categories of 2 to 21 words, 6 flags, 4 dates."""
    numbers = [
        {"name": f"n{place}", "kind": "numeric", "type": ("real", "integer")[place % 2], "lower": 0, "upper": 1000}
        for place in range(20)
    ]  # fmt: skip
    categories = [
        {"name": f"c{place}", "kind": "categorical", "categories": [f"word{one}" for one in range(2 + place * 7 % 20)]}
        for place in range(30)
    ]  # fmt: skip
    flags = [{"name": f"b{place}", "kind": "boolean"} for place in range(6)]
    dates = [
        {"name": f"d{place}", "kind": "date", "lower": "2000-01-01", "upper": "2020-12-31", "bins": 24}
        for place in range(4)
    ]
    return TableDomain.from_json(
        {
            "schema": "understudy.domain/1",
            "target": "b0",
            "privacy_unit": None,
            "columns": [*numbers, *categories, *flags, *dates],
        }
    )


def store_rows(folder: Path, rows: int) -> int:
    """Make, seal and store the rows. Returns their stored bytes."""
    domain, rng = declared(), np.random.default_rng(3)
    shares = [rng.dirichlet(np.full(codes, 0.7), LATENT).cumsum(axis=1) for codes in domain.cardinalities]
    path = folder / STORED
    with (
        path.open("wb") as raw,
        SealedWriter(raw, key=KEY, context=rows_context(STORED)) as sealed,
        open_writer(cast("BinaryIO", sealed), domain) as writer,
    ):
        for start in range(0, rows, BATCH):
            count = min(BATCH, rows - start)
            group = rng.integers(0, LATENT, count)
            codes = np.empty((count, len(shares)), np.int16)
            for place, distribution in enumerate(shares):
                uniform = rng.random(count)
                codes[:, place] = np.minimum(
                    (distribution[group] < uniform[:, None]).sum(axis=1), distribution.shape[1] - 1
                )
            writer.write_batch(decode(domain, codes, rng))
    return path.stat().st_size


def shards_in(folder: str) -> PrivateShards:
    """The stored rows."""
    return PrivateShards(open_store(f"file://{folder}"), STORED, KEY, declared())


def all_pairs() -> list[CountQuestion]:
    """Every one- and two-way table."""
    codes = declared().cardinalities
    places = range(len(codes))
    return [
        CountQuestion(
            columns=columns,
            groups=(None,) * len(columns),
            cardinalities=tuple(codes[place] for place in columns),
        )
        for columns in (*itertools.combinations(places, 1), *itertools.combinations(places, 2))
    ]


def units_declared() -> TableDomain:
    """A unit column beside one flag."""
    columns = [{"name": "sick", "kind": "boolean"}, {"name": "person", "kind": "unit"}]
    return TableDomain.from_json(
        {"schema": "understudy.domain/1", "target": None, "privacy_unit": "person", "columns": columns}
    )


def store_units(folder: Path, rows: int) -> None:
    """Make, seal and store rows of units in no order."""
    rng = np.random.default_rng(4)
    with (
        (folder / UNITS).open("wb") as raw,
        SealedWriter(raw, key=KEY, context=rows_context(UNITS)) as sealed,
        open_writer(cast("BinaryIO", sealed), units_declared()) as writer,
    ):
        for start in range(0, rows, BATCH):
            count = min(BATCH, rows - start)
            names = pa.array(rng.integers(10**9, 10**9 + rows // 3, count)).cast(pa.string())
            flags = pa.array(rng.random(count) < 0.3)
            schema = storage_schema(units_declared())
            writer.write_batch(pa.RecordBatch.from_arrays([flags, names], schema=schema))


def weighed(folder: str) -> Mapping[str, Any]:
    """Find out what every record counts."""
    shards = PrivateShards(open_store(f"file://{folder}"), UNITS, KEY, units_declared())
    weights = record_weights(shards, "person", key=KEY, bound=None)
    return {"rows_weighed": sum(map(len, weights))}


def opened(folder: str) -> Mapping[str, Any]:
    """Find where the shards begin: what every reader does once."""
    return {"shards": len(shards_in(folder))}


def counted(folder: str) -> Mapping[str, Any]:
    """Count every table once, in this process."""
    StreamedCounter(shards_in(folder), declared(), key=KEY).count(all_pairs())
    return {"tables": len(all_pairs())}


def _part(folder: str, first: int, answer: Connection) -> None:
    shards, questions = shards_in(folder), all_pairs()
    sums: list[Counts] = [np.zeros(question.shape, np.int64) for question in questions]
    for shard in range(first, len(shards), PROCESSES):
        add_counts(sums, count_shard(shards.read(shard), declared(), questions, None))
    answer.send((sums, _own_figures()))


def counted_by_two(folder: str) -> Mapping[str, Any]:
    """Count every table once, every second shard in another process, and compare with a count in one."""
    context = multiprocessing.get_context("spawn")
    pipes = [context.Pipe(duplex=False) for _ in range(PROCESSES)]
    parts = [context.Process(target=_part, args=(folder, first, pipe[1])) for first, pipe in enumerate(pipes)]
    for part in parts:
        part.start()
    answers = [pipe[0].recv() for pipe in pipes]
    for part in parts:
        part.join()
    sums = answers[0][0]
    add_counts(sums, answers[1][0])
    total = {int(table.sum()) for table in sums}
    assert len(total) == 1, "every table counts every record once"
    return {
        "processor_seconds_of_parts": [figures["processor_seconds"] for _sums, figures in answers],
        "peak_megabytes_of_parts": [figures["peak_megabytes"] for _sums, figures in answers],
    }


def released(folder: str) -> Mapping[str, Any]:
    """Train without critic from the sealed rows, to the packed bundle."""
    torch.set_num_threads(1)
    domain = declared()
    shards = shards_in(folder)
    plan = plan_of(domain, rows=ROWS)
    counter = StreamedCounter(shards, domain, key=KEY)
    generator = make_synthesizer("idpgan").fit(counter, plan, KeyedStreams(bytes(KEY_BYTES)), NullHost())
    return {"bundle_bytes": len(write_bundle(generator=generator, domain=domain.to_json(), certificate={}))}


def plan_of(domain: TableDomain, *, rows: int) -> Plan:
    """The default plan at epsilon 1."""
    return make_plan(
        spec=SynthesisSpec(synthesizer="idpgan"),
        guarantee=PrivacyGuarantee(epsilon=1.0, delta=1e-9),
        declared_size=rows,
        domain=domain,
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
    )


MEASURED: Final[Mapping[str, Measure]] = {
    "open": opened,
    "count": counted,
    "weigh": weighed,
    "count_by_two": counted_by_two,
    "release": released,
}


def _own_figures() -> dict[str, float]:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return {"processor_seconds": used.ru_utime + used.ru_stime, "peak_megabytes": used.ru_maxrss / 1000}


def _measured(name: str, folder: str, answer: Connection) -> None:
    began = time.perf_counter()
    found = MEASURED[name](folder)
    answer.send(rounded({**found, **_own_figures(), "seconds": time.perf_counter() - began}))


def measured(name: str, folder: str) -> dict[str, Any]:
    """Time and memory of one part in a fresh process; its start and its imports count."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_measured, args=(name, folder, sender))
    process.start()
    sender.close()
    found: dict[str, Any] = receiver.recv()
    process.join()
    return found | {"load": load_average()}


def main() -> None:
    """Measure and write the result."""
    parser = argparse.ArgumentParser(description="Sealed rows of a long table to counts and to a release.")
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--only", choices=sorted(MEASURED), nargs="*", default=list(MEASURED))
    parser.add_argument("--folder", type=Path, help="where the rows are kept for another run")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        stored = (
            (folder / STORED).stat().st_size
            if (folder / STORED).exists()
            else store_rows(folder, options.rows)
        )
        if "weigh" in options.only:
            store_units(folder, options.rows)
        for name in options.only:
            entry = {"rows": options.rows, "columns": len(declared().modelled), "codes": declared().cells}
            entry |= {"stored_bytes": stored} | measured(name, str(folder))
            merge("long_tables", kind=name, key=str(options.rows), entry=entry)


if __name__ == "__main__":
    main()
