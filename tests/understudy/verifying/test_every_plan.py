"""What the service certifies the verifier accepts, for every kind of plan; and it refuses each figure that is moved.

A representative grid runs every day. UNDERSTUDY_EVERY_PLAN=2000 (part of `make accounting`) takes every combination.
"""

import itertools
import json
import math
import os
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal, localcontext
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from core.artifacts.execution import Executed, multiplier_runs
from core.dp.accountant import rdp_at
from core.dp.charge import charge_of
from core.dp.errors import TargetOutOfReach
from core.dp.mechanism import Gaussian, PoissonSampled
from core.plan.domain.images import ImageDomain
from core.plan.errors import InvalidSpec
from core.plan.options import ABLATIONS
from core.plan.ordered_plan import OrderedPlan
from core.plan.plan import Plan
from core.plan.split import split_of
from tests.cases import daily
from tests.core.artifacts.certified import SIGNER, certified
from tests.core.artifacts.stand_in import DOMAIN
from tests.core.plan.shapes import Shape, plan_of
from tests.core.plan.test_report_plan import plan_of as report_of
from tests.core.plan.test_selection import selection_of
from tests.understudy.local.test_fitting import SMALL as SHORT
from tests.understudy.local.test_fitting import frame
from understudy.local import fit, set_cap
from understudy.verifying import accounting, adaptive, planned, renyi, selections
from understudy.verifying.accounting import Recomputed
from understudy.verifying.bounds import NoiseKind, Part
from understudy.verifying.executed import executed_problems
from understudy.verifying.records import Described
from understudy.verifying.verification import Outcome, verify_bundle

PLANS = int(os.environ.get("UNDERSTUDY_EVERY_PLAN", "0"))
"""How many of all combinations are taken, drawn anew each day; 0 takes the daily grid."""
TABLE, SMALL = Shape(), Shape(cardinalities=(3, 4), target_index=None)
DIGITS = ImageDomain(height=28, width=28, channels=1, labels=tuple("0123456789"), privacy_unit=None)
FACES = ImageDomain(height=64, width=64, channels=3, labels=(), privacy_unit=None)
SHAPES: dict[str, tuple[Shape | ImageDomain, int]] = {
    "table": (TABLE, 50_000),
    "small table": (SMALL, 200),
    "digits": (DIGITS, 60_000),
    "faces": (FACES, 100_000),
    "a rare sample": (TABLE, 10**9),
}
OPTIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "both": {"critic": True},
    "critic": {"anchor": False},
    "anchor": {"critic": False},
    "many blocks": {"schedule": "polynomial", "schedule_blocks": 64},
    "steps": {"schedule": "step", "schedule_start": 70},
    "ordered": {
        "profile": "idpgan",
        "first_noise_multiplier": 1.1,
        "schedule": "polynomial",
        "schedule_start": 9,
        "adam_beta1": 0.0,
    },
    "refreshed always": {"acts": True, "acts_interval": 1, "grouping": "rows", "row_blocks": 64},
    **ABLATIONS,
}
GUARANTEES = ((0.05, 1e-12), (4.0, 1e-6), (100.0, 1e-2))
KINDS = (
    *itertools.product(["table"], ["both", "critic"]),
    *itertools.product(["digits"], ["default", "critic", "acts"]),
    *itertools.product(["faces"], ["default", "critic"]),
    *itertools.product(["small table"], ["default", "both", "critic"]),
)
DAILY = (
    *((*kind, guarantee) for kind, guarantee in zip(KINDS, itertools.cycle(GUARANTEES), strict=False)),
    ("table", "dpgan", (4.0, 1e-6)), ("table", "refreshed always", (4.0, 1e-6)), ("table", "ordered", (4.0, 1e-6)),
    pytest.param("table", "dpba+acts+wc", (4.0, 1e-6), marks=pytest.mark.long),
    pytest.param("table", "steps", (4.0, 1e-6), marks=pytest.mark.long),
    pytest.param("a rare sample", "critic", (20.0, 1e-12), marks=pytest.mark.long),
)  # fmt: skip
WIDE = tuple(
    itertools.product(
        SHAPES, OPTIONS, itertools.product([0.05, 0.3, 1.0, 4.0, 20.0, 100.0], [1e-12, 1e-9, 1e-6, 1e-2])
    )
)
DRAWN = (
    random.Random(datetime.now(UTC).date().isoformat()).sample(WIDE, min(PLANS, len(WIDE)))
    if PLANS
    else DAILY
)
Divergence = Callable[[int], float]


@dataclass(frozen=True)
class Stated:
    """What a certificate says of its price, and what the verifier computes of it."""

    certificate: dict[str, Any]
    found: Recomputed
    divergence: Divergence
    excess: float = 0.0

    def problems(self, **changes: Any) -> list[str]:
        document = self.certificate | changes
        return [
            *accounting.epsilon_problems(document, self.found),
            *accounting.charge_problems(document, self.divergence, excess=self.excess),
        ]


def priced(plan: OrderedPlan) -> dict[str, Any]:
    """The members that state a price, through JSON as a reader gets them."""
    charge = charge_of(plan.mechanism, delta=plan.guarantee.delta).to_json()
    stated = {"plan": plan.to_json(), "charge": charge}
    read: dict[str, Any] = json.loads(json.dumps(stated))
    return read | {"privacy_parameters": read["plan"]["guarantee"], "epsilon": read["plan"]["epsilons"]}


def of_parts(plan: OrderedPlan, parts: tuple[Part, ...]) -> Stated:
    found = accounting.recompute(parts, plan.guarantee.delta)
    return Stated(priced(plan), found, partial(renyi.divergence, parts))


def of_training(plan: Plan) -> Stated:
    return of_parts(plan, tuple(planned.parts_of(priced(plan)["plan"])))


def described(shape: Shape | ImageDomain) -> Described:
    if isinstance(shape, Shape):
        labelled = shape.target_index is not None
        return Described(cardinalities=shape.cardinalities, labelled=labelled, image_outputs=None)
    labels = len(shape.labels)
    codes = (256,) * shape.values + ((labels,) if labels else ())
    return Described(cardinalities=codes, labelled=bool(labels), image_outputs=labels or 1)


def require_moved_figures_refused(stated: Stated) -> None:
    """Each amount, one more than the interval is wide, on either side; each epsilon beyond its enclosure."""
    charge, epsilon, found = stated.certificate["charge"], stated.certificate["epsilon"], stated.found
    for moved in moved_charges(charge, excess=stated.excess):
        assert len(stated.problems(charge=moved)) == 1, moved
    assert found.pld is not None
    wrong: list[tuple[str, float]] = [("reported", epsilon["reported"] * 0.99)]
    for name, bounds in (("pld", found.pld), ("rdp", found.rdp)):
        high = bounds.high * (1 + accounting.PESSIMISM) if name == "pld" else bounds.high
        wrong += [(name, bounds.low * 0.999), (name, high * 1.001)]
    for name, value in wrong:
        if value > accounting.SMALLEST:
            assert stated.problems(epsilon=epsilon | {name: value}), (name, value)


def moved_charges(charge: dict[str, Any], *, excess: float) -> Iterator[dict[str, Any]]:
    for name, by in itertools.product(("epsilon_micros", "delta_femtos"), (-1, 1)):
        yield charge | {name: charge[name] + by}
    for order, amount in charge["rdp_micros"].items():
        width = math.ceil(amount * (4 * renyi.ROUNDING + excess)) + 1
        for by in (-width, width):
            yield charge | {"rdp_micros": charge["rdp_micros"] | {order: amount + by}}


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("shape", "options", "guarantee"), DRAWN, ids=str)
def test_a_training_is_accepted_and_each_moved_figure_refused(
    shape: str, options: str, guarantee: tuple[float, float]
) -> None:
    domain, size = SHAPES[shape]
    try:
        plan = plan_of(
            OPTIONS[options],
            epsilon=guarantee[0],
            delta=guarantee[1],
            declared_size=size,
            shape=domain,  # type: ignore[arg-type]
        )
    except TargetOutOfReach:
        assert (options, PLANS > 0) == ("ordered", True), "noise that is calibrated reaches every target"
        pytest.skip("one step of the ordered noise is beyond this budget")
    except InvalidSpec:
        assert (options, PLANS > 0, isinstance(domain, ImageDomain)) == ("steps", True, True)
        pytest.skip("by rule these images have no critic, so no decay can be delayed")
    stated = of_training(plan)
    executed = {
        "steps": plan.steps,
        "releases": Executed.planned(plan).to_json(),
        "noise_multipliers": multiplier_runs(plan),
    }

    assert not list(planned.plan_problems(stated.certificate["plan"], described(domain)))
    assert not list(executed_problems(executed, stated.certificate["plan"]))
    assert planned.split_text(stated.certificate["plan"]) == split_of(plan).text
    assert not stated.problems()
    require_moved_figures_refused(stated)


@pytest.mark.parametrize(
    ("epsilon", "choice", "final", "shape"),
    daily(
        [(0.8, 0.3, 1.0, TABLE), (0.5, 6.0, 4.0, TABLE), (20.0, 0.005, 20.0, TABLE), (4.0, 1.0, 8.0, DIGITS)],
        some=[(0.5, 6.0, 4.0, TABLE), (20.0, 0.005, 20.0, TABLE)],
    ),
)
def test_a_selection_is_accepted_and_each_moved_figure_refused(
    epsilon: float, choice: float, final: float, shape: Shape
) -> None:
    plan = selection_of(
        {"steps": 40}, {"steps": 60, "anchor": False, "acts": True}, {"critic": False},
        epsilon=epsilon, choice=choice, final=final, shape=shape,
    )  # fmt: skip
    certificate = priced(plan)
    selecting = selections.selecting_of(certificate["plan"])
    stated = Stated(
        certificate,
        selections.recompute(certificate),
        partial(adaptive.divergence, selecting),
        adaptive.CHOICE_EXCESS,
    )

    assert not list(selections.charge_problems(certificate))
    assert not stated.problems()
    require_moved_figures_refused(stated)


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 20.0, 100.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 1e-2])
def test_a_charged_report_is_accepted_and_each_moved_figure_refused(epsilon: float, delta: float) -> None:
    plan = report_of(epsilon=epsilon, delta=delta)
    noise = plan.noise_multiplier
    part = Part(kind=NoiseKind.GAUSSIAN, noise_multiplier=noise, sampling_rate=1.0, count=1)
    stated = of_parts(plan, (part,))

    assert not stated.problems()
    require_moved_figures_refused(stated)


@pytest.mark.parametrize(
    ("noise", "rate"),
    [(0.05, 1e-12), (0.05, 2e-9), (0.06, 0.5), (0.25, 0.03), (0.4, 1e-6), (0.7, 0.999), (1.1, 0.03), (30.0, 1e-5), (150.0, 0.9)],
)  # fmt: skip
def test_both_divergences_are_within_the_rounding_of_the_exact_sum(noise: float, rate: float) -> None:
    """Equation 3.3 of Mironov, Talwar and Zhang 2019 with 60 digits."""
    service = PoissonSampled(sampling_rate=rate, mechanism=Gaussian(noise_multiplier=noise))
    own = Part(kind=NoiseKind.GAUSSIAN, noise_multiplier=noise, sampling_rate=rate, count=1)
    for order in renyi.CHARGED_ORDERS:
        exact = exact_divergence(Decimal(noise), Decimal(rate), order)
        for found in (rdp_at(service, (order,))[0], renyi.divergence((own,), order)):
            assert abs(Decimal(found) / exact - 1) < Decimal(renyi.ROUNDING), (order, found)


def exact_divergence(noise: Decimal, rate: Decimal, order: int) -> Decimal:
    with localcontext() as context:
        context.prec = 60
        moment = sum(
            (
                math.comb(order, k)
                * (1 - rate) ** (order - k)
                * rate**k
                * (k * (k - 1) / (2 * noise**2)).exp()
                for k in range(order + 1)
            ),
            Decimal(0),
        )
        return moment.ln() / (order - 1)


@pytest.mark.parametrize(("options", "epsilon"), [({"critic": True}, 100.0), ({"anchor": False}, 20.0)])
def test_a_bundle_with_little_noise_is_verified_end_to_end(
    tmp_path: Path, options: dict[str, Any], epsilon: float
) -> None:
    made = certified(options, epsilon=epsilon)
    assert max(block.noise_multiplier for block in made.plan.blocks) < 1.1
    path = tmp_path / "bundle.zip"
    path.write_bytes(made.packed)
    report = verify_bundle(path, public_keys=[SIGNER.public_key])
    assert report.outcome is Outcome.VERIFIED, report.refusals


def test_a_whole_training_with_little_noise_is_verified_end_to_end(tmp_path: Path) -> None:
    """Rows, training, bundle, verification; without a service, so nobody signs."""
    set_cap("wards", epsilon=20.0, delta=2e-6, ledgers=tmp_path)
    fitted = fit(
        frame(), DOMAIN, (20.0, 1e-6), dataset="wards", declared_size=300, options=SHORT | {"anchor": False}, ledgers=tmp_path
    )  # fmt: skip
    path = fitted.save(tmp_path / "bundle.zip")
    report = verify_bundle(path, allow_unsigned=True)
    assert max(block["noise_multiplier"] for block in report.certificate["plan"]["blocks"]) < 1.1
    assert report.outcome is Outcome.VERIFIED, report.refusals
