"""Synthetic rows per second into files, in large samples and in small, balanced ones.

    python -m benchmarks.sampling [--rows 1000000] [--threads 2] [--save]

The generators have the shapes that the public rules pick for Adult, groups of codes as of even columns, and untrained
weights, which does not change how long a row takes. The mixture, which an order gets by default, is sampled from its tables, and
for comparison through its network, as it was before it gave its tables. Prints one JSON object; with --save it also becomes
benchmarks/results/sampling.json.
"""

import argparse
import json
import statistics
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from benchmarks.machine import machine_facts
from core.artifacts.bundle import Bundle, unpack
from core.artifacts.sampling.balanced_sampling import is_balanced
from core.artifacts.sampling.formats import stream
from core.artifacts.sampling.sampler import Sampler
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.plan.domain.table import TableDomain
from core.plan.plan import make_plan
from core.plan.spec import SynthesisSpec
from models.bundle import write_bundle
from models.encoding import PrivateTable
from models.idpgan.generator import Generator, make_generator
from models.idpgan.mixture import LATENT_DIMENSION, Mixture, components_wanted
from models.randomness import KeyedStreams
from models.synthesizer import TrainedGenerator
from models.tables.measurement.second_round import groups_of

DOMAIN = Path(__file__).parent / "domains" / "adult.json"
RESULT = Path(__file__).parent / "results" / "sampling.json"
REPEATS = 5
"""Runs of each figure; the median is quoted."""
SMALL = 32_561
"""Rows of a sample that is balanced: as many as Adult has."""


def adult_shaped_bundle(options: dict[str, Any]) -> bytes:
    """Return a bundle for the Adult domain whose generator was initialised and never trained.

    Args:
        options: Of the synthesizer.
    """
    document = json.loads(DOMAIN.read_text())
    domain = TableDomain.from_json(document)
    plan = make_plan(
        spec=SynthesisSpec(synthesizer="idpgan", options=options),
        guarantee=PrivacyGuarantee(epsilon=1.0, delta=1e-6),
        declared_size=SMALL,
        domain=domain,
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
    )
    nobody = PrivateTable(
        codes=np.zeros((0, len(domain.cardinalities)), dtype=np.int16),
        unit_of_record=np.zeros(0, dtype=np.int64),
        cardinalities=domain.cardinalities,
        target_index=domain.target_index,
    )
    even = [np.full(codes, 1.0 / codes) for codes in domain.cardinalities]
    groups = groups_of([SMALL * distribution for distribution in even], nobody, plan)
    streams = KeyedStreams(bytes(range(32)))
    network: Mixture | Generator
    if plan.idpgan_options.generator == "mixture":
        network = Mixture(
            groups=groups,
            target_index=domain.target_index,
            components=components_wanted(groups, declared_size=plan.declared_size),
        )
        network.initialise(streams, even)
    else:
        network = make_generator(nobody, plan.idpgan_options, groups)
        network.initialise(streams, columns=even)
    generator = TrainedGenerator(
        network=network,
        latent_dimension=LATENT_DIMENSION
        if isinstance(network, Mixture)
        else plan.idpgan_options.latent_dimension,
        label_index=domain.target_index,
        label_probabilities=np.array([0.76, 0.24]),
        cardinalities=domain.cardinalities,
    )
    return write_bundle(generator=generator, domain=document, certificate={})


def without_tables(bundle: Bundle) -> Bundle:
    """Return the bundle with a network that gives its logits and no tables."""
    model = onnx.load_from_string(bundle.network)
    del model.graph.output[1:]
    return replace(bundle, network=model.SerializeToString())


def measure(rows: int, threads: int) -> dict[str, Any]:
    """Return rows per second and per processor second of all threads, for each generator, format and size of samples."""
    mixture = unpack(adult_shaped_bundle({"critic": False}))
    bundles = {
        "mixture": mixture,
        "mixture, through its network": without_tables(mixture),
        "network": unpack(adult_shaped_bundle({"critic": False, "generator": "network"})),
    }
    samplers = {name: Sampler(bundle, threads=threads) for name, bundle in bundles.items()}
    cardinalities = TableDomain.from_json(mixture.domain).cardinalities
    files = [(rows, "parquet"), (rows, "jsonl"), (rows, "csv"), (SMALL, "parquet"), (SMALL, "jsonl")]
    cases = [(generator, *file) for generator in samplers for file in files]
    runs: list[list[tuple[float, float, int]]] = [[] for _ in cases]
    for sampler in samplers.values():
        list(sampler.batches(100_000))
    for _ in range(REPEATS):
        for seen, (generator, size, name) in zip(runs, cases, strict=True):
            wall, processor, written = time.perf_counter(), time.process_time(), 0
            samples = max(1, round(rows / size / 4)) if size == SMALL else 1
            for _sample in range(samples):
                written += sum(len(piece) for piece in stream(samplers[generator].batches(size), name))
            drawn = samples * size
            seen.append((
                drawn / (time.perf_counter() - wall),
                drawn / (time.process_time() - processor),
                written // drawn,
            ))  # fmt: skip
    return {
        "threads": threads,
        "cells": sum(cardinalities),
        "network_bytes": {name: len(bundle.network) for name, bundle in bundles.items()},
        "cases": [
            {
                "generator": generator,
                "rows": size,
                "balanced": is_balanced(size, cardinalities),
                "format": name,
                "rows_per_second": round(statistics.median(run[0] for run in seen)),
                "rows_per_processor_second": round(statistics.median(run[1] for run in seen)),
                "bytes_per_row": seen[0][2],
            }
            for seen, (generator, size, name) in zip(runs, cases, strict=True)
        ],
        "repeats": REPEATS,
    }


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--save", action="store_true")
    wanted = parser.parse_args()
    result = measure(wanted.rows, wanted.threads) | {"machine": machine_facts()}
    print(json.dumps(result, indent=2))
    if wanted.save:
        RESULT.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
