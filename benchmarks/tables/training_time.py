"""Processor seconds of a training on one core: `python -m benchmarks.tables.training_time`.

Adult's training rows, and a hundred of them, are sealed as the service stores them; the default order at epsilon 1 goes from the sealed rows to the
packed bundle in a process of its own, which imports what a training child imports. Start and imports count; *imports* is a process that does no more.
The hundred rows show what does not grow with the rows.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import BinaryIO, Final, cast

import pyarrow as pa

from benchmarks.machine import load_average
from benchmarks.results_file import merge, rounded
from benchmarks.tables.sources import Split, split
from benchmarks.tables.wide_tables import KEY, STORED, Shape, train_shape
from core.data.sealing import SealedWriter
from core.data.stored_rows import open_writer, rows_context
from core.plan.domain.table import TableDomain

NAME: Final = "training_time"
ROUNDS: Final = 5
FEW: Final = 100
DOMAIN: Final = "domain.json"
_CHILD: Final = """
import sys
import workers.training_child
if sys.argv[1:]:
    from benchmarks.tables.training_time import train
    train(sys.argv[1], int(sys.argv[2]))
"""


def seal(folder: Path, given: Split, rows: int) -> None:
    """Seal and keep the first training rows, and their domain."""
    (folder / DOMAIN).write_text(json.dumps(given.domain.to_json()))
    with (
        (folder / STORED).open("wb") as raw,
        SealedWriter(raw, key=KEY, context=rows_context(STORED)) as sealed,
        open_writer(cast("BinaryIO", sealed), given.domain) as writer,
    ):
        batch: pa.RecordBatch
        for batch in pa.Table.from_batches([given.train]).slice(0, rows).to_batches(max_chunksize=16_384):
            writer.write_batch(batch)


def train(folder: str, rows: int) -> None:
    """Train, from the sealed rows to the packed bundle."""
    domain = TableDomain.from_json(json.loads((Path(folder) / DOMAIN).read_text()))
    train_shape(Shape(rows=rows, domain=domain, factor_of=()), folder)


def processor_seconds(*words: str) -> float:
    """What a fresh process with one thread takes, of all its threads.

    Args:
        words: The folder and the rows to train on; none for imports alone.
    """
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    process = subprocess.Popen([sys.executable, "-c", _CHILD, *words], env=environment)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError("The training failed.")
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Measure and write the results."""
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    given = split("adult", "full", 0)
    cases = {"imports": 0, "100 rows": FEW, "all rows": given.train.num_rows}
    found: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(ROUNDS):
        for name, rows in cases.items():
            with tempfile.TemporaryDirectory() as folder:
                if rows:
                    seal(Path(folder), given, rows)
                found[name].append(processor_seconds(*((folder, str(rows)) if rows else ())))
    for name, seconds in found.items():
        entry = {
            "rows": cases[name], "median_seconds": statistics.median(seconds), "slowest_seconds": max(seconds),
            "rounds": ROUNDS, "load_average": load_average(),
        }  # fmt: skip
        merge(NAME, kind="cases", key=name, entry=rounded(entry))
        print(name, entry, flush=True)


if __name__ == "__main__":
    main()
