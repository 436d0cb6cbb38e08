"""What DP-SGD costs by four ways of composing its steps, for docs/benchmarks.md."""

from typing import Any

from docs.tables import machine, table


def composition(result: dict[str, Any]) -> list[str]:
    """Epsilon by each way, and a published formula beside the exact epsilon."""
    composed = [
        [f"{row['epochs']}", f"{row['steps']:,}", *(f"{row[way]:.2f}" for way in ("strong", "moments", "renyi", "pld"))]
        for row in result["composed"]
    ]  # fmt: skip
    stated = [
        [f"{row['noise_multiplier']:g}", f"{row['steps']}", f"{row['stated']:.2f}", f"{row['exact']:.2f}"]
        for row in result["stated_by_004"]
    ]
    last = result["composed"][-1]
    return [
        (
            f"`make bench-composition`: epsilon at delta {result['delta']:g} of DP-SGD at sampling rate {result['sampling_rate']:g} and noise "
            f"multiplier {result['noise_multiplier']:g}, the setting of the moments accountant's paper (Abadi and others 2016, figure 2). *Strong "
            "composition* takes each step's exact epsilon, amplified by sampling. *Moments* has integer orders to 32 and the conversion of 2016. *Renyi* and *PLD* "
            "are the service's two accountants; the ledger charges the smaller. All four are valid upper bounds.\n"
        ),
        *table(["epochs", "steps", "strong composition", "moments", "Renyi", "PLD"], composed),
        "",
        (
            f"After {last['epochs']} epochs strong composition overstates epsilon {last['strong'] / last['pld']:.1f} times, the moments accountant "
            f"{last['moments'] / last['pld']:.2f} times.\n"
        ),
        (
            "A tutorial on the privacy of convolutional networks states min(sqrt(2 T ln(1/delta)) / sigma, T / sigma^2) for T Gaussian steps without sampling. It is no bound: the exact "
            "epsilon (Balle and Wang 2018) is higher, so a budget kept by it is overspent.\n"
        ),
        *table(["sigma", "T", "stated", "exact"], stated),
        "",
        machine(result),
    ]
