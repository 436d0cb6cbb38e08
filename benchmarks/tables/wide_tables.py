"""Wide tables to releases: `python -m benchmarks.tables.wide_tables`.

Simulated tables of known structure. A class of each record drives latent factors, each factor drives some columns, so columns
of one factor depend strongly on one another and all columns depend a little:

* `500 columns`: 50 factors of 10 columns, 2 to 50 codes each, 100,000 rows;
* `200 columns`: 20 factors of 10 columns, numbers, categories, ordinals and flags, 20,000 rows;
* `100 categories`: 10 factors of 10 columns, 2,000 to 5,000 codes each with frequencies by Zipf's law in 20 chapters, 50,000 rows;
* `4,000 codes`: one category of 4,000 codes among 20 columns, 50,000 rows;
* `100,000 codes`: one category of 100,000 codes beside 9 columns, 50,000 rows;
* `1,000,000 codes`: 199 categories of 5,000 codes beside a flag, 10,000 rows: what a domain may declare at most.

Rows are stored and sealed as the service stores them. The training, from the sealed rows to the packed bundle, and the drawing of as
many rows run in processes of their own that report processor seconds and their peak of resident memory. Scores compare drawn
codes with stored ones, and fresh rows of the same distributions with them: mean total variation of columns, of pairs of one factor, of pairs of
different factors, and of all pairs. Columns of more than 50 codes are scored in pairs by 20 chapters of neighbouring codes. `--method independent`
and `--method mst` make rows of the same codes for the same epsilon; a peer is stopped after 300 processor seconds.
"""

import argparse
import itertools
import multiprocessing
import resource
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

import numpy as np
import numpy.typing as npt
import torch

from benchmarks.machine import load_average
from benchmarks.results_file import merge, rounded
from benchmarks.tables.methods import METHODS
from benchmarks.tables.task import Task
from core.artifacts.bundle import unpack
from core.artifacts.sampling.sampler import Sampler
from core.data.objects import open_store
from core.data.private_rows import PrivateShards
from core.data.sealing import SealedWriter
from core.data.stored_rows import open_writer, rows_context
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.plan.domain.codec import Codes, decode
from core.plan.domain.table import TableDomain
from core.plan.plan import Plan, make_plan
from core.plan.spec import SynthesisSpec
from models.bundle import write_bundle
from models.counting.streamed import StreamedCounter
from models.randomness import KEY_BYTES, KeyedStreams
from models.registry import make_synthesizer
from models.synthesizer import NullHost

NAME: Final = "wide_tables"
KEY: Final = bytes(range(32))
STORED, BUNDLE = "rows.sealed", "bundle.zip"
TRUE, FRESH, DRAWN = "true.npy", "fresh.npy", "drawn.npy"
EPSILON, DELTA = 1.0, 1e-6
CLASSES: Final = 8
STATES: Final = 4
"""States of a factor."""
OF_CLASS: Final = 0.6
"""Share of a factor's states that follow the distribution of the record's class; the others follow one distribution of all."""
OWN_TERM: Final = 0.8
"""Share of the codes that follow the distribution of the factor's state; the others follow the column's own."""
CHAPTERS: Final = 20
SCORED_AS_THEY_ARE: Final = 50
"""Codes of a column up to which pairs are scored code by code."""
MOST_PAIRS: Final = 3000
"""Pairs of one factor, and of different ones, that are scored at most."""
PEER_SECONDS: Final = 300
BATCH: Final = 16_384


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A simulated table.

    Args:
        rows: how many.
        domain: what is declared.
        factor_of: (columns,) which factor drives each column.
    """

    rows: int
    domain: TableDomain
    factor_of: tuple[int, ...]


def _declared(columns: list[dict[str, Any]]) -> TableDomain:
    return TableDomain.from_json(
        {
            "schema": "understudy.domain/1",
            "target": columns[0]["name"],
            "privacy_unit": None,
            "columns": columns,
        }
    )


def _category(place: int, codes: int) -> dict[str, Any]:
    words = [f"{chr(65 + one * CHAPTERS // codes)}{one:05}" for one in range(codes)]
    return {"name": f"c{place:03}", "kind": "categorical", "categories": words}


def _mixed(place: int) -> dict[str, Any]:
    """Numbers, categories, ordinals and flags in turn."""
    kind, size = place % 4, place // 4
    name = f"c{place:03}"
    if kind == 0:
        return {"name": name, "kind": "boolean"}
    if kind == 1:
        return {
            "name": name,
            "kind": "numeric",
            "type": ("real", "integer")[size % 2],
            "lower": 0,
            "upper": 1000,
        }
    if kind == 2:
        return _category(place, 3 + 7 * size % 28)
    return {"name": name, "kind": "ordinal", "levels": [f"level {one}" for one in range(3 + size % 7)]}


def shape_of(name: str) -> Shape:
    """The declared table of a name."""
    match name:
        case "500 columns":
            columns = [_category(place, 2 if place == 0 else 2 + place * 7 % 49) for place in range(500)]
            rows, width = 100_000, 10
        case "200 columns":
            columns, rows, width = [_mixed(place) for place in range(200)], 20_000, 10
        case "100 categories":
            columns = [
                _category(place, 2 if place == 0 else 2000 + 3000 * place // 99) for place in range(100)
            ]
            rows, width = 50_000, 10
        case "1,000,000 codes":
            columns = [_category(place, 2 if place == 0 else 5000) for place in range(200)]
            rows, width = 10_000, 10
        case "4,000 codes":
            columns = [_category(place, 4000 if place == 5 else 2 + place * 3 % 19) for place in range(20)]
            rows, width = 50_000, 5
        case _:
            columns = [_category(place, 100_000 if place == 5 else 2 + place * 3 % 19) for place in range(10)]
            rows, width = 50_000, 5
    places = range(len(columns))
    return Shape(rows=rows, domain=_declared(columns), factor_of=tuple(place // width for place in places))


SHAPES: Final = (
    "200 columns",
    "500 columns",
    "4,000 codes",
    "100,000 codes",
    "100 categories",
    "1,000,000 codes",
)


def _distributions(codes: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    """(states, codes) the distribution of a column given its factor's state."""
    if codes <= SCORED_AS_THEY_ARE:
        own, of_state = rng.dirichlet(np.full(codes, 1.0)), rng.dirichlet(np.full(codes, 0.5), STATES)
    else:
        frequencies = 1.0 / (1.0 + rng.permutation(codes))
        own = np.asarray(frequencies / frequencies.sum())
        chapters = np.arange(codes) * CHAPTERS // codes
        of_state = own * rng.dirichlet(np.full(CHAPTERS, 0.5), STATES)[:, chapters]
        of_state /= of_state.sum(axis=1, keepdims=True)
    return np.asarray(OWN_TERM * of_state + (1 - OWN_TERM) * own)


def simulated(shape: Shape) -> Codes:
    """(twice the rows, columns) codes; the same for the same shape. The second half are fresh rows of the same distributions."""
    rng = np.random.default_rng(20_261_123)
    rows = 2 * shape.rows
    group = rng.choice(CLASSES, rows, p=rng.dirichlet(np.full(CLASSES, 3.0)))
    factors = max(shape.factor_of) + 1
    states = np.empty((factors, rows), np.int64)
    for factor in range(factors):
        of_all, of_class = rng.dirichlet(np.ones(STATES)), rng.dirichlet(np.full(STATES, 0.5), CLASSES)
        distributions = OF_CLASS * of_class + (1 - OF_CLASS) * of_all
        states[factor] = _chosen(distributions, group, rng)
    codes = np.empty((rows, len(shape.factor_of)), np.int32)
    for place, size in enumerate(shape.domain.cardinalities):
        codes[:, place] = _chosen(_distributions(size, rng), states[shape.factor_of[place]], rng)
    return codes


def _chosen(
    distributions: npt.NDArray[np.float64], given: npt.NDArray[np.int64], rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    """Draw one code for each record from the distribution that is given to it."""
    sums = distributions.cumsum(axis=1)
    found = np.empty(len(given), np.int64)
    for one, distribution in enumerate(sums):
        own = np.flatnonzero(given == one)
        found[own] = np.searchsorted(distribution, rng.random(len(own)) * distribution[-1], side="right")
    return np.asarray(np.minimum(found, distributions.shape[1] - 1))


def store(folder: Path, shape: Shape) -> None:
    """Make, seal and keep the rows; their codes are kept beside them for the scores."""
    codes, others = np.split(simulated(shape), 2)
    np.save(folder / TRUE, codes)
    np.save(folder / FRESH, others)
    rng = np.random.default_rng(5)
    with (
        (folder / STORED).open("wb") as raw,
        SealedWriter(raw, key=KEY, context=rows_context(STORED)) as sealed,
        open_writer(cast("BinaryIO", sealed), shape.domain) as writer,
    ):
        for start in range(0, len(codes), BATCH):
            writer.write_batch(decode(shape.domain, codes[start : start + BATCH], rng))


def plan_of(shape: Shape) -> Plan:
    """The default plan."""
    return make_plan(
        spec=SynthesisSpec(synthesizer="idpgan", options={}),
        guarantee=PrivacyGuarantee(epsilon=EPSILON, delta=DELTA),
        declared_size=shape.rows,
        domain=shape.domain,
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
    )


def trained(name: str, folder: str) -> Mapping[str, Any]:
    """Train on a table of a name."""
    return {"bundle_bytes": train_shape(shape_of(name), folder)}


def train_shape(shape: Shape, folder: str) -> int:
    """Train, from the sealed rows to the packed bundle. Returns the bytes of the bundle."""
    torch.set_num_threads(1)
    shards = PrivateShards(open_store(f"file://{folder}"), STORED, KEY, shape.domain)
    counter = StreamedCounter(shards, shape.domain, key=KEY)
    streams = KeyedStreams(bytes(KEY_BYTES))
    generator = make_synthesizer("idpgan").fit(counter, plan_of(shape), streams, NullHost())
    bundle = write_bundle(generator=generator, domain=shape.domain.to_json(), certificate={})
    (Path(folder) / BUNDLE).write_bytes(bundle)
    return len(bundle)


def drawn(name: str, folder: str) -> Mapping[str, Any]:
    """Draw as many rows as were trained on, in coded form."""
    shape = shape_of(name)
    sampler = Sampler(unpack(Path(folder) / BUNDLE))
    codes = sampler.codes(shape.rows, np.random.default_rng(6))
    np.save(Path(folder) / DRAWN, codes)
    return {}


def peer(method: str) -> Callable[[str, str], Mapping[str, Any]]:
    """Rows of another method."""

    def made(name: str, folder: str) -> Mapping[str, Any]:
        shape = shape_of(name)
        task = Task(
            codes=np.load(Path(folder) / TRUE), cardinalities=shape.domain.cardinalities, target=0,
            ordered=shape.domain.ordered, epsilon=EPSILON, delta=DELTA, seed=0,
        )  # fmt: skip
        # Of the processor, for the machine may be shared; children inherit it.
        resource.setrlimit(resource.RLIMIT_CPU, (PEER_SECONDS, PEER_SECONDS + 30))
        try:
            codes, _facts = METHODS[method](task)
        except subprocess.CalledProcessError as error:
            if error.returncode == -signal.SIGXCPU:
                return {"stopped_after_processor_seconds": PEER_SECONDS}
            return {"failed": True}
        except MemoryError:
            return {"failed": True}
        np.save(Path(folder) / DRAWN, codes)
        return {}

    return made


def fresh(name: str, folder: str) -> Mapping[str, Any]:
    """Score as many other rows of the same distributions, as a perfect generator would give them. Not private."""
    del name
    np.save(Path(folder) / DRAWN, np.load(Path(folder) / FRESH))
    return {}


def scores(name: str, folder: Path) -> dict[str, Any]:
    """Distances of the drawn codes from the stored ones."""
    shape = shape_of(name)
    real, made = np.load(folder / TRUE), np.load(folder / DRAWN)
    sizes = shape.domain.cardinalities
    one_way = [_variation(real[:, place], made[:, place], size) for place, size in enumerate(sizes)]
    coarse = np.array([min(size, CHAPTERS) if size > SCORED_AS_THEY_ARE else size for size in sizes])
    for place, size in enumerate(sizes):
        if size > SCORED_AS_THEY_ARE:
            for codes in (real, made):
                codes[:, place] = codes[:, place].astype(np.int64) * CHAPTERS // size
    pairs = list(itertools.combinations(range(len(sizes)), 2))
    rng = np.random.default_rng(7)
    found: dict[str, Any] = {"one_way": float(np.mean(one_way))}
    weighted = 0.0
    for kind, same in (("pairs_of_a_factor", True), ("other_pairs", False)):
        of_kind = [pair for pair in pairs if (shape.factor_of[pair[0]] == shape.factor_of[pair[1]]) == same]
        chosen = rng.permutation(len(of_kind))[:MOST_PAIRS]
        distances = []
        for number in chosen:
            i, j = of_kind[number]
            stored, drawn_pair = (
                codes[:, i].astype(np.int64) * coarse[j] + codes[:, j] for codes in (real, made)
            )
            distances.append(_variation(stored, drawn_pair, int(coarse[i] * coarse[j])))
        found[kind] = float(np.mean(distances))
        weighted += found[kind] * len(of_kind)
    return found | {"two_way": weighted / len(pairs)}


def _variation(real: npt.NDArray[np.integer], made: npt.NDArray[np.integer], size: int) -> float:
    shares = [np.bincount(codes, minlength=size) / len(codes) for codes in (real, made)]
    return float(np.abs(shares[0] - shares[1]).sum() / 2)


def _measured(
    work: Callable[[str, str], Mapping[str, Any]], name: str, folder: str, answer: Connection
) -> None:
    began = time.perf_counter()
    found = dict(work(name, folder))
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    found["processor_seconds"] = sum(one.ru_utime + one.ru_stime for one in used)
    found["peak_megabytes"] = max(one.ru_maxrss for one in used) / 1000
    answer.send(rounded(found | {"seconds": time.perf_counter() - began}))


def measured(work: str, name: str, folder: Path) -> dict[str, Any]:
    """Time and memory of one part in a fresh process; its start and its imports count."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_run, args=(work, name, str(folder), sender))
    process.start()
    sender.close()
    found: dict[str, Any] = receiver.recv()
    process.join()
    return found | {"load": load_average()}


def _run(work: str, name: str, folder: str, answer: Connection) -> None:
    own = {"training": trained, "drawing": drawn, "fresh": fresh}
    _measured(own[work] if work in own else peer(work), name, folder, answer)


def main() -> None:
    """Measure and write the results."""
    parser = argparse.ArgumentParser(
        description="Wide tables, from sealed rows to a release and to drawn rows."
    )
    parser.add_argument("--table", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument(
        "--method",
        nargs="+",
        choices=("fresh", *METHODS),
        default=["fresh", "understudy", "independent", "mst"],
    )
    options = parser.parse_args()
    for name in options.table:
        with tempfile.TemporaryDirectory() as temporary:
            folder, shape = Path(temporary), shape_of(name)
            store(folder, shape)
            facts = {
                "rows": shape.rows,
                "columns": len(shape.factor_of),
                "codes": shape.domain.cells,
                "epsilon": EPSILON,
            }
            for method in options.method:
                parts = ("training", "drawing") if method == "understudy" else (method,)
                found = {part: measured(part, name, folder) for part in parts}
                made = not any(
                    {"stopped_after_processor_seconds", "failed"} & part.keys() for part in found.values()
                )
                entry = facts | found | (rounded(scores(name, folder)) if made else {})
                merge(NAME, kind=name, key=method, entry=entry)
                print(name, method, entry, flush=True)


if __name__ == "__main__":
    main()
