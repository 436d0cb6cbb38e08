"""Epsilon of DP-SGD by four ways of composing its steps, and by a published formula that is no bound. Takes seconds; no data.

    python -m benchmarks.idpgan.composition [--save]

The steps are Poisson-sampled Gaussians (documents 000 and 001: rate 0.01, noise multiplier 4, delta 1e-5):

* Strong composition (Dwork, Rothblum and Vadhan 2010, theorem III.3): each step's exact epsilon at a delta of its own, amplified by sampling to
  log(1 + rate (e^epsilon - 1)), then composed as sqrt(2 T log(1/d)) e + T e (e^e - 1). Delta is split evenly between the steps and d.
* The moments accountant (Abadi and others 2016): moments of orders 1 to 32, min over orders of (T moment + log(1/delta)) / order.
* Renyi divergences at fine orders with the better conversion, and the privacy loss distribution: the service's two accountants.

A tutorial on the privacy of convolutional networks states
min(sqrt(2 T log(1/delta)) / sigma, T / sigma^2) for T Gaussian steps. It ignores the sampling rate and is below the exact
epsilon, so it promises more than holds.
"""

import argparse
import json
import math
from typing import Any, Final

import numpy as np

from benchmarks.machine import machine_facts
from benchmarks.results_file import RESULTS
from core.dp import gaussian
from core.dp.accountant import epsilons
from core.dp.mechanism import Gaussian, PoissonSampled, Repeated
from core.dp.renyi import sampled_gaussian_log_moments

RESULT: Final = RESULTS / "composition.json"
RATE, NOISE, DELTA = 0.01, 4.0, 1e-5
EPOCHS: Final = (1, 10, 50, 100, 200, 400)
MOMENTS: Final = 32
STATED: Final = ((1.0, 1), (1.0, 4), (2.0, 4), (4.0, 16))
"""Noise multipliers and numbers of unsampled steps at which a published formula is compared with the truth."""


def strong_composition(rate: float, noise: float, steps: int, delta: float) -> float:
    """Epsilon of sampled Gaussian steps by amplification and strong composition."""
    each = gaussian.epsilon_of(1 / noise, delta / (2 * steps * rate))
    amplified = math.log1p(rate * math.expm1(each))
    return amplified * (math.sqrt(2 * steps * math.log(2 / delta)) + steps * math.expm1(amplified))


def moments_accountant(rate: float, noise: float, steps: int, delta: float) -> float:
    """Epsilon of sampled Gaussian steps by moments of integer orders and the conversion of 2016."""
    orders = np.arange(1, MOMENTS + 1)
    moments = sampled_gaussian_log_moments(rate, noise)[1 : MOMENTS + 1]
    return float(np.min((steps * moments - math.log(delta)) / orders))


def stated_by_004(noise: float, steps: int, delta: float) -> float:
    """The formula of a tutorial on the privacy of convolutional networks, which is no bound."""
    return min(math.sqrt(2 * steps * math.log(1 / delta)) / noise, steps / noise**2)


def measured() -> dict[str, Any]:
    """Every epsilon of the page, rounded up."""
    composed = []
    for epochs in EPOCHS:
        steps = round(epochs / RATE)
        step = PoissonSampled(sampling_rate=RATE, mechanism=Gaussian(noise_multiplier=NOISE))
        found = epsilons(Repeated(count=steps, mechanism=step), delta=DELTA)
        composed.append(
            {
                "epochs": epochs,
                "steps": steps,
                "strong": _up(strong_composition(RATE, NOISE, steps, DELTA)),
                "moments": _up(moments_accountant(RATE, NOISE, steps, DELTA)),
                "renyi": _up(found.rdp),
                "pld": _up(found.pld),
            }
        )
    stated = [
        {
            "noise_multiplier": noise,
            "steps": steps,
            "stated": _up(stated_by_004(noise, steps, DELTA)),
            "exact": _up(gaussian.epsilon_of(math.sqrt(steps) / noise, DELTA)),
        }
        for noise, steps in STATED
    ]
    return {
        "benchmark": "composition",
        "machine": machine_facts(packages=("numpy", "scipy")),
        "sampling_rate": RATE,
        "noise_multiplier": NOISE,
        "delta": DELTA,
        "composed": composed,
        "stated_by_004": stated,
    }


def _up(epsilon: float) -> float:
    return math.ceil(1000 * epsilon) / 1000


def main() -> None:
    """Compute and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--save", action="store_true")
    wanted = parser.parse_args()
    result = json.dumps(measured(), indent=2) + "\n"
    print(result, end="")
    if wanted.save:
        RESULT.write_text(result)


if __name__ == "__main__":
    main()
