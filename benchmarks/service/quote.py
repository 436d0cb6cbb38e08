"""Seconds that a quote takes: the first one of a process, and new ones in a warm process. It reads declared facts only.

    python -m benchmarks.service.quote [--save]

Every warm quote asks for another epsilon, so nothing that an earlier one left in a cache answers it. The dataset is the
declared domain of Adult; no row is there to be read.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.machine import load_average, machine_facts
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.filters import AdmissionRule, Cap
from core.dp.guarantee import PrivacyGuarantee
from core.plan.domain.table import TableDomain
from core.plan.plan import make_plan
from core.plan.spec import SynthesisSpec
from core.plan.training_quote import make_quote

HERE = Path(__file__).parents[1]
RESULT = HERE / "results" / "quote.json"
OPTIONS: dict[str, dict[str, Any]] = {
    "anchor and critic": {"critic": True},
    "anchor only": {"critic": False},
    "critic only": {"anchor": False},
    "dpba+acts+wc": {"ablation": "dpba+acts+wc"},
}
COUNT = 25


def one_quote(epsilon: float, options: dict[str, Any]) -> float:
    """Seconds of one quote."""
    domain = TableDomain.from_json(json.loads((HERE / "domains" / "adult.json").read_text()))
    begun = time.perf_counter()
    plan = make_plan(
        spec=SynthesisSpec(synthesizer="idpgan", options=options),
        guarantee=PrivacyGuarantee(epsilon=epsilon, delta=1e-6),
        declared_size=32_561,
        domain=domain,
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
    )
    make_quote(plan, Cap(epsilon=20.0, delta=1e-4, rule=AdmissionRule.FILTERS), [], domain=domain)
    return time.perf_counter() - begun


def cold() -> float:
    """Seconds of the first quote of a fresh process, imports not counted."""
    program = "from benchmarks.service.quote import one_quote; print(one_quote(1.0, {}))"
    ran = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    return float(ran.stdout)


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--save", action="store_true")
    wanted = parser.parse_args()
    rows = {}
    for name, options in OPTIONS.items():
        one_quote(1.0, options)
        times = sorted(one_quote(0.5 + 0.13 * number, options) for number in range(COUNT))
        rows[name] = {
            "p50_seconds": round(statistics.median(times), 3),
            "slowest_seconds": round(times[-1], 3),
        }
    result = {
        "cold_seconds": round(statistics.median(cold() for _ in range(3)), 3),
        "warm": rows,
        "quotes": COUNT,
        "load_average": load_average(),
        "machine": machine_facts(packages=("dp-accounting", "numpy", "scipy")),
    }
    print(json.dumps(result, indent=2))
    if wanted.save:
        RESULT.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
