"""The JSON of every mechanism, and what a charge is called."""

from typing import get_args

from core.dp import mechanism as mechanisms
from core.dp.charge import ORDERS, Charge
from core.dp.filters import AdmissionRule
from core.dp.guarantee import PrivacyGuarantee
from core.dp.mechanism import (
    Chosen,
    Composed,
    DiscreteGaussian,
    Gaussian,
    Laplace,
    Mechanism,
    Parallel,
    PermuteAndFlip,
    PoissonSampled,
    Repeated,
    Threshold,
)

NOISE = Gaussian(noise_multiplier=1.5)
SAMPLED = PoissonSampled(sampling_rate=0.01, mechanism=NOISE)
EXAMPLES: dict[str, Mechanism] = {
    "Gaussian": NOISE,
    "discrete Gaussian": DiscreteGaussian(noise_multiplier=3.25),
    "Laplace": Laplace(noise_multiplier=0.125),
    "Poisson-sampled Gaussian": SAMPLED,
    "repeated": Repeated(mechanism=SAMPLED, count=1000),
    "nothing": Composed(parts=()),
    "composed": Composed(parts=(NOISE, Repeated(mechanism=SAMPLED, count=3))),
    "permute and flip": PermuteAndFlip(epsilon=0.3, candidates=4),
    "threshold": Threshold(delta=1e-7),
    "parallel": Parallel(parts=(NOISE, Composed(parts=(NOISE, SAMPLED)))),
    "chosen": Chosen(parts=(NOISE, DiscreteGaussian(noise_multiplier=2.0))),
}
CHARGE = Charge(epsilon_micros=1_234_567, delta_femtos=1_000_000_000, rdp_micros=(1, 2, 3, 4, 5, 6))


def privacy() -> dict[str, object]:
    """By name."""
    assert {type(example) for example in EXAMPLES.values()} == set(get_args(get_args(Mechanism)[0])), (
        "one of each kind"
    )
    members: dict[str, object] = {}
    for name, example in EXAMPLES.items():
        written = mechanisms.to_json(example)
        assert mechanisms.from_json(written) == example
        members[f"mechanism: {name}"] = written
    members["charge"] = CHARGE.to_json()
    members["guarantee"] = PrivacyGuarantee(epsilon=0.5, delta=1e-6).to_json()
    members["orders"] = list(ORDERS)
    members["rules"] = sorted(rule.value for rule in AdmissionRule)
    return members
