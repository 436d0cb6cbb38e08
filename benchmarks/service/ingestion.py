"""Rows per second of taking in a CSV, beside a bare duckdb CSV-to-Parquet copy of the same file.

Both run on two threads, each run in a fresh process that reports its own wall time and peak resident memory; runs
alternate, so that a busy machine slows both. Our run does everything the service does: checking, cleaning by the
declared domain, columnar writing, sealing, and the put into a local object store.

    python -m benchmarks.service.ingestion                  # 100 MB and 1 GB, writes benchmarks/results/ingestion.json
    python -m benchmarks.service.ingestion --json --megabytes 20 --repeats 1
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.machine import load_average, machine_facts
from benchmarks.results_file import RESULTS

RESULT = RESULTS / "ingestion.json"
THREADS = 2
WARDS = [
    "cardiology",
    "emergency",
    "geriatrics",
    "maternity",
    "neurology",
    "oncology",
    "paediatrics",
    "surgery",
]
CODES = [f"{letter}{number:02d}" for letter in "ABCDEFGH" for number in range(8)]
DOMAIN = {
    "schema": "understudy.domain/1",
    "target": "died",
    "columns": [
        {"name": "record", "kind": "ignored"},
        {"name": "age", "kind": "numeric", "type": "integer", "lower": 0, "upper": 110},
        {"name": "ward", "kind": "categorical", "categories": WARDS, "null": "category"},
        {"name": "code", "kind": "categorical", "categories": CODES, "other": True},
        {"name": "admitted", "kind": "date", "lower": "2020-01-01", "upper": "2024-12-31"},
        {"name": "seen", "kind": "datetime", "lower": "2020-01-01", "upper": "2024-12-31", "resolution": "minute"},
        {"name": "weight", "kind": "numeric", "type": "real", "lower": 2, "upper": 150, "decimals": 1},
        {"name": "charge", "kind": "numeric", "type": "real", "lower": 0, "upper": 1e6, "decimals": 2, "spacing": "log"},
        {"name": "days", "kind": "numeric", "type": "integer", "lower": 0, "upper": 365, "specials": [0]},
        {"name": "died", "kind": "boolean"},
    ],
}  # fmt: skip


def generate(path: Path, megabytes: int) -> None:
    """Write a simulated table of about this size; every block of rows is drawn anew."""
    import numpy as np
    import pyarrow as pa
    from pyarrow import csv

    rng = np.random.default_rng(7)
    rows = 100_000
    start = 0
    with path.open("wb") as file:
        while file.tell() < megabytes * 1_000_000:
            day = rng.integers(18262, 20088, rows)
            table = pa.table({
                "record": np.arange(start, start + rows),
                "age": np.clip(rng.normal(55, 22, rows), 0, 110).astype(int),
                "ward": pa.array(np.array(WARDS)[rng.integers(0, 8, rows)], mask=rng.random(rows) < 0.03),
                "code": np.array(CODES)[rng.integers(0, 64, rows)],
                "admitted": pa.array(day.astype(np.int32)).cast(pa.date32()),
                "seen": pa.array(day * 86400 + rng.integers(0, 1440, rows) * 60).cast(pa.timestamp("s")),
                "weight": np.clip(rng.normal(75, 18, rows), 2, 150).round(1),
                "charge": rng.lognormal(8, 1.2, rows).clip(0, 1e6).round(2),
                "days": np.where(rng.random(rows) < 0.3, 0, rng.integers(0, 60, rows)),
                "died": rng.random(rows) < 0.04,
            })  # fmt: skip
            csv.write_csv(table, file, csv.WriteOptions(include_header=start == 0, quoting_style="none"))
            start += rows


def run_duckdb(path: Path, folder: Path) -> int:
    """The bare copy; the number of rows."""
    import duckdb

    connection = duckdb.connect(config={"threads": THREADS})
    target = folder / "copy.parquet"
    query = f"COPY (SELECT * FROM read_csv('{path}')) TO '{target}' (FORMAT parquet)"  # noqa: S608 (own paths)
    return int(connection.execute(query).fetchall()[0][0])


def run_understudy(path: Path, folder: Path) -> int:
    """Ingest a file as the service does an upload. Returns the number of rows."""
    from core.data.intake.intake import CSV, store_rows
    from core.data.objects import open_store
    from core.data.sealing import new_data_key
    from core.plan.domain.table import TableDomain

    with path.open("rb") as file:
        report = store_rows(
            file, content_type=CSV, domain=TableDomain.from_json(DOMAIN), store=open_store(folder.as_uri()),
            key="rows", data_key=new_data_key(), scratch_folder=folder / "scratch", threads=THREADS,
        )  # fmt: skip
    return report.rows_accepted


ENGINES = {"duckdb": run_duckdb, "understudy": run_understudy}


def peak_megabytes() -> float:
    """Peak resident memory of this process since it was started."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return float("nan")


def child(engine: str, path: Path, folder: Path) -> None:
    """One run in this process; prints its facts as JSON."""
    start = time.perf_counter()
    rows = ENGINES[engine](path, folder)
    seconds = time.perf_counter() - start
    print(json.dumps({"rows": rows, "seconds": seconds, "peak_megabytes": peak_megabytes()}))


def in_fresh_process(*arguments: str) -> str:
    """Run this module again and return what it prints."""
    command = [sys.executable, "-m", "benchmarks.service.ingestion", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def measure(megabytes: int, repeats: int) -> dict[str, object]:
    """Both engines on one file, alternating."""
    runs: dict[str, list[dict[str, float]]] = {engine: [] for engine in ENGINES}
    with tempfile.TemporaryDirectory(prefix="ingestion-") as name:
        folder = Path(name)
        path = folder / "rows.csv"
        in_fresh_process("--generate", str(path), str(megabytes))
        size = path.stat().st_size
        for _ in range(repeats):
            for engine in ENGINES:
                runs[engine].append(json.loads(in_fresh_process("--child", engine, str(path), str(folder))))
    found: dict[str, object] = {
        "megabytes": size / 1e6,
        "rows": int(runs["duckdb"][0]["rows"]),
        "repeats": repeats,
    }
    speeds = {}
    for engine, results in runs.items():
        speeds[engine] = statistics.median(result["rows"] / result["seconds"] for result in results)
        found[engine] = {
            "rows_per_second": round(speeds[engine]),
            "megabytes_per_second": round(speeds[engine] * size / 1e6 / results[0]["rows"], 1),
            "peak_megabytes": round(max(result["peak_megabytes"] for result in results), 1),
            "seconds": [round(result["seconds"], 2) for result in results],
        }
    found["understudy_over_duckdb"] = round(speeds["understudy"] / speeds["duckdb"], 3)
    return found


def main() -> None:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--megabytes", type=int, nargs="+", default=[100, 1000], help="file sizes")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each engine and size")
    parser.add_argument("--json", action="store_true", help="print the result as JSON; write no file")
    parser.add_argument("--generate", nargs=2, metavar=("PATH", "MEGABYTES"), help=argparse.SUPPRESS)
    parser.add_argument("--child", nargs=3, metavar=("ENGINE", "PATH", "FOLDER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.generate:
        generate(Path(options.generate[0]), int(options.generate[1]))
        return
    if options.child:
        child(options.child[0], Path(options.child[1]), Path(options.child[2]))
        return
    result = {
        "benchmark": "ingestion", "machine": machine_facts(packages=("duckdb", "pyarrow")),
        "threads": THREADS, "load_before": load_average(), "sizes": [measure(size, options.repeats) for size in options.megabytes],
    }  # fmt: skip
    text = json.dumps(result, indent=1)
    if options.json:
        print(text)
        return
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
