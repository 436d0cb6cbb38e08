"""The long run of the laws: `make laws`. A billion numbers and more, under a fresh key, with one verdict.

The key comes from the operating system and is written into the results, so that a run can be repeated; it protects
nothing. All comparisons together ring by chance at most once in a million runs (the union bound of `alarm.py`).
"""

import argparse
import json
import math
import os
import sys
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from benchmarks.machine import machine_facts
from models.dp.discrete import discrete_gaussians
from models.randomness import KeyedStreams, Purpose
from tests.privacy.laws import normal_battery, word_battery
from tests.privacy.laws.alarm import FALSE_ALARM, Alarm
from tests.privacy.laws.draws import gradient_noise
from tests.privacy.laws.normal_battery import LENGTH, TAILS, NormalBattery
from tests.privacy.laws.word_battery import WordBattery, even

PARTS = 5
RATES = (0.5, 0.03, 1e-3)
LABEL_STDS = (1.3, 30.0)
AT_ONCE = 1 << 18
MILLION = 10**6


def words_run(streams: KeyedStreams, count: int) -> tuple[Alarm, dict[str, Any]]:
    """Words of the address space of record choices, a step at a time."""
    judge, battery = Alarm(FALSE_ALARM / PARTS, word_battery.COMPARISONS), WordBattery()
    for step in range(math.ceil(count / AT_ONCE)):
        battery.add(streams.words(Purpose.RECORD_CHOICE, step, AT_ONCE))
    battery.judge(judge)
    return judge, {"words": battery.words}


def normals_run(streams: KeyedStreams, count: int) -> tuple[Alarm, dict[str, Any]]:
    """Gradient noise as the private step draws it: the battery, its low bits, and each step against the one before."""
    judge, battery = Alarm(FALSE_ALARM / PARTS, normal_battery.COMPARISONS + 2), NormalBattery()
    low = np.zeros(2**16, dtype=np.int64)
    before, together = np.zeros(LENGTH), 0.0
    for x, steps in gradient_noise(streams, range(math.ceil(count / LENGTH))):
        battery.add(x)
        low += np.bincount(steps & 0xFFFF, minlength=2**16)
        norm = math.sqrt(float(before @ before))
        together += float(before @ x) / norm if norm else 0.0
        before = x
    battery.judge(judge)
    even(judge, "low bits", low, np.full(2**16, 2.0**-16))
    reach = float(stats.norm.isf(judge.side))
    judge.within("successive steps", together / math.sqrt(battery.pieces - 1), -reach, reach)
    n = battery.numbers
    expected = {f"beyond {tail}": round(2 * n * float(stats.norm.sf(tail)), 2) for tail in TAILS}
    return judge, {"numbers": n, "expected_beyond": expected}


def coins_run(streams: KeyedStreams, count: int) -> tuple[Alarm, dict[str, Any]]:
    """Coins of three rates: how many heads, and heads in successive steps."""
    judge = Alarm(FALSE_ALARM / PARTS, 2 * len(RATES))
    each = math.ceil(count / len(RATES) / AT_ONCE)
    for index, rate in enumerate(RATES):
        heads = twice = 0
        before = np.zeros(AT_ONCE, dtype=bool)
        for step in range(each):
            now = streams.coins(Purpose.POISSON, index * each + step, rate, AT_ONCE)
            heads += int(now.sum())
            twice += int((now & before).sum()) if step % 2 else 0
            before = now
        for name, found, tries, p in (
            ("heads", heads, each * AT_ONCE, rate),
            ("twice", twice, each // 2 * AT_ONCE, rate**2),
        ):
            law = stats.binom(tries, p)
            judge.within(f"{name} at {rate}", found, law.ppf(judge.side), law.isf(judge.side))
    return judge, {"coins": each * AT_ONCE * len(RATES), "rates": RATES}


def labels_run(streams: KeyedStreams, count: int) -> tuple[Alarm, dict[str, Any]]:
    """Exact discrete noise against its table."""
    judge = Alarm(FALSE_ALARM / PARTS, len(LABEL_STDS))
    each = math.ceil(count / len(LABEL_STDS))
    for step, std in enumerate(LABEL_STDS):
        drawn = discrete_gaussians(streams, Purpose.LABEL_NOISE, step, noise_std=std, count=each)
        reach = int(3.5 * std) + 1
        everywhere = range(-20 * reach, 20 * reach + 1)
        weights = np.array([math.exp(-Fraction(x * x) / (2 * Fraction(std) ** 2)) for x in everywhere])
        cells = np.clip(np.array(everywhere), -reach, reach) + reach
        shares = np.bincount(cells, weights=weights / weights.sum())
        counts = np.bincount(np.clip(drawn, -reach, reach) + reach, minlength=2 * reach + 1)
        even(judge, f"table of {std}", counts, shares)
    return judge, {"draws": each * len(LABEL_STDS), "noise_stds": LABEL_STDS}


def keys_run(key: bytes, count: int) -> tuple[Alarm, dict[str, Any]]:
    """Noise of one step under successive keys: no two neighbours hang together."""
    judge, keys = Alarm(FALSE_ALARM / PARTS, 1), max(2, math.ceil(count / LENGTH))
    before, together = np.zeros(LENGTH), 0.0
    for number in range(keys):
        own = (int.from_bytes(key, "little") ^ number).to_bytes(32, "little")
        x = KeyedStreams(own).normals(Purpose.GRADIENT_NOISE, 0, LENGTH)
        norm = math.sqrt(float(before @ before))
        together += float(before @ x) / norm if norm else 0.0
        before = x
    reach = float(stats.norm.isf(judge.side))
    judge.within("successive keys", together / math.sqrt(keys - 1), -reach, reach)
    return judge, {"keys": keys, "numbers": keys * LENGTH}


def long_run(key: bytes, millions: int) -> dict[str, Any]:
    """All parts; a document for the results."""
    streams = KeyedStreams(key)
    runs = {
        "words": lambda: words_run(streams, millions * MILLION // 2),
        "gradient_noise": lambda: normals_run(streams, millions * MILLION),
        "coins": lambda: coins_run(streams, millions * MILLION),
        "label_noise": lambda: labels_run(streams, millions * MILLION // 2000),
        "keys": lambda: keys_run(key, millions * MILLION // 20),
    }
    assert len(runs) == PARTS
    parts = {}
    for name, run in runs.items():
        begun = time.perf_counter()
        judge, facts = run()
        assert len(judge.made) == judge.comparisons
        parts[name] = facts | {
            "comparisons": judge.comparisons,
            "false_alarm": judge.share,
            "rung": judge.rung,
            "found": {comparison: float(f"{value:.6g}") for comparison, value in judge.made.items()},
            "seconds": round(time.perf_counter() - begun, 1),
        }
        sys.stdout.write(f"{name}: {judge.comparisons} comparisons, {judge.rung or 'none'} rung\n")
        sys.stdout.flush()
    return {
        "benchmark": "laws",
        "machine": machine_facts(packages=("cryptography", "numpy", "scipy", "torch")),
        "key": key.hex(),
        "false_alarm": FALSE_ALARM,
        "parts": parts,
    }


def main() -> int:
    """Run, write the results, and fail if any comparison rang."""
    parser = argparse.ArgumentParser(prog="tests.privacy.laws.long_run", description=__doc__)
    parser.add_argument("--millions", type=int, default=1000, help="numbers of gradient noise, in millions")
    parser.add_argument(
        "--key", type=bytes.fromhex, default=None, help="64 hexadecimal digits, to repeat a run"
    )
    parser.add_argument("--out", type=Path, required=True)
    told = parser.parse_args()
    document = long_run(told.key or os.urandom(32), told.millions)
    told.out.write_text(json.dumps(document, indent=1) + "\n")
    return int(any(part["rung"] for part in document["parts"].values()))


if __name__ == "__main__":
    sys.exit(main())
