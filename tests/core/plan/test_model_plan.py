"""Plans of private models: within the guarantee, the least noise, the same after a round trip, refused where altered."""

from typing import Any

import pytest

from core.dp.accountant import epsilons
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.errors import InvalidGuarantee
from core.dp.guarantee import PrivacyGuarantee
from core.dp.mechanism import Composed, Gaussian, PoissonSampled, Repeated
from core.errors import UnderstudyError
from core.plan.domain.images import ImageDomain
from core.plan.domain.table import TableDomain
from core.plan.errors import BoundNeedsAnchor, InvalidPlan, InvalidSpec
from core.plan.ordered_plan import ordered_plan_from_json
from core.plan.private_models.plan import ModelPlan
from core.plan.private_models.planning import ModelFacts, ModelSpec, decide, make_model_plan
from core.plan.private_models.quote import ModelQuote, accuracy_error, make_model_quote
from tests.core.plan.domain.examples import DAY_WITH_WEEKDAY, table
from tests.models.classifier.small import IMAGES, TABLE, owners_of_sizes, plan_of

KINDS: tuple[dict[str, Any], ...] = (
    {},
    {"network": "mlp"},
    {"network": "mlp", "components": 7, "hidden": 30},
    {"network": "cnn"},
    {"module": "theirs"},
    {"accuracy_share": 0.1, "features": "plain"},
    {"components": 10, "accuracy_share": 0.25, "pca_share": 0.3},
)


@pytest.mark.parametrize("options", KINDS)
def test_a_plan_is_read_back_as_written(options: dict[str, Any]) -> None:
    plan = plan_of(**options)
    assert ordered_plan_from_json(plan.to_json()) == plan


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 8.0])
@pytest.mark.parametrize("options", KINDS)
def test_the_noise_is_the_least_within_the_guarantee(options: dict[str, Any], epsilon: float) -> None:
    plan = plan_of(epsilon=epsilon, **options)
    assert plan.epsilons == epsilons(plan.mechanism, delta=1e-4)
    assert 0.999 * epsilon < plan.epsilons.reported <= epsilon


def test_the_mechanism_is_what_runs_in_order() -> None:
    plan = plan_of(components=10, accuracy_share=0.25, steps=5)
    step = PoissonSampled(
        sampling_rate=plan.options.expected_batch_size / 270,
        mechanism=Gaussian(noise_multiplier=plan.noise_multiplier),
    )
    assert plan.held_out_size == 30
    assert plan.pca_noise_multiplier is not None
    assert plan.accuracy_noise_multiplier is not None
    first, last = plan.pca_noise_multiplier, plan.accuracy_noise_multiplier
    parts = (
        Gaussian(noise_multiplier=first),
        Repeated(mechanism=step, count=5),
        Gaussian(noise_multiplier=last),
    )
    assert plan.mechanism == Composed(parts=parts)
    assert plan.executed(0) == Composed(parts=(parts[0], parts[2])), "measured once it has begun"
    assert plan.executed(2) == Composed(parts=(parts[0], Repeated(mechanism=step, count=2), parts[2]))
    with pytest.raises(InvalidPlan):
        plan.executed(6)


def test_the_learning_rate_falls_linearly() -> None:
    plan = plan_of(steps=10, final_share=0.5)
    assert [plan.rate_at(step) for step in (0, 5)] == [1.0, 0.75]


def decided(
    domain: TableDomain | ImageDomain = TABLE, *, size: int = 400, epsilon: float = 1.0, **options: Any
) -> Any:
    facts = ModelFacts.of(domain, declared_size=size, epsilon=epsilon)
    return decide(ModelSpec(options=options).request(), facts)


@pytest.mark.parametrize(
    ("size", "epsilon", "batch", "steps", "rate"),
    [
        (1, 0.1, 1, 8, 0.000391), (100, 1.0, 100, 8, 0.391), (400, 1.0, 400, 12, 1.04), (2000, 1.0, 2000, 62, 1.01), (400, 10.0, 400, 125, 1.0),
        (10_000, 1.0, 2000, 200, 1.56), (19_200, 1.0, 2000, 200, 3.0),
    ],
)  # fmt: skip
def test_weights_of_a_table_move_as_far_as_its_signal_allows(
    size: int, epsilon: float, batch: int, steps: int, rate: float
) -> None:
    found = decided(size=size, epsilon=epsilon)
    assert (found.expected_batch_size, found.steps, found.learning_rate) == (batch, steps, rate)
    assert (found.clipping_norm, found.optimizer) == (1.0, "momentum")


@pytest.mark.parametrize(
    ("size", "epsilon", "batch", "steps"), [(20_000, 1.0, 2000, 200), (100_000, 10.0, 6000, 800)]
)
def test_a_table_with_signal_for_a_larger_rate_is_trained_like_images(
    size: int, epsilon: float, batch: int, steps: int
) -> None:
    found = decided(size=size, epsilon=epsilon)
    assert (found.expected_batch_size, found.steps, found.learning_rate, found.clipping_norm) == (
        batch,
        steps,
        200.0,
        0.1,
    )


def test_units_that_are_held_out_take_part_in_no_step() -> None:
    assert decided(accuracy_share=0.1).expected_batch_size == 360


@pytest.mark.parametrize(
    ("domain", "options"),
    [
        (TABLE, {"network": "mlp"}), (TABLE, {"features": "pca"}), (IMAGES, {}),
        (TABLE, {"steps": 200}), (TABLE, {"clipping_norm": 0.1}), (TABLE, {"expected_batch_size": 256}),
    ],
)  # fmt: skip
def test_other_orders_have_the_steps_of_their_epsilon(domain: Any, options: dict[str, Any]) -> None:
    found = decided(domain, **options)
    assert (found.steps, found.clipping_norm) == (200, 0.1)
    assert found.expected_batch_size == 256


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("version", 2), ("noise_multiplier", 0.5), ("steps", 7), ("sampling_rate", 0.5), ("classes", 1), ("inputs", "many"),
        ("held_out_size", 1), ("pca_noise_multiplier", 3.0), ("accuracy_noise_multiplier", 3.0), ("options", {}),
        ("epsilons", {"pld": 9.0, "rdp": 9.0, "reported": 9.0}), ("declared_size", 299),
    ],
)  # fmt: skip
def test_an_altered_plan_is_refused(member: str, value: object) -> None:
    with pytest.raises(UnderstudyError):
        ordered_plan_from_json(plan_of().to_json() | {member: value})


@pytest.mark.parametrize(
    ("domain", "options"),
    [
        (TABLE, {"features": "scattering"}), (TABLE, {"network": "cnn"}), (IMAGES, {"network": "cnn", "engine": "opacus"}),
        (IMAGES, {"components": 200}), (IMAGES, {"hidden": 5}), (IMAGES, {"network": "mlp", "pca_share": 0.1, "features": "plain"}),
        (IMAGES, {"expected_batch_size": 301}), (IMAGES, {"steps": 3, "averaged_steps": 4}), (IMAGES, {"network": "other"}),
        (IMAGES, {"module": "theirs", "engine": "closed_form"}), (IMAGES, {"learning": 1}), (IMAGES, {"accuracy_share": 0.9}),
        (ImageDomain(height=8, width=8, channels=1, labels=(), privacy_unit=None), {}),
    ],
)  # fmt: skip
def test_options_that_do_not_suit_are_refused(domain: Any, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidSpec):
        plan_of(domain, **options)


def test_a_plan_with_rounds_costs_what_one_owners_steps_cost() -> None:
    owners = owners_of_sizes(200, 100)
    plan = plan_of(TABLE, owners=owners, averaging_rounds=3)
    assert plan.mechanism == plan_of(TABLE, owners=owners).mechanism
    assert (plan.noisy_sums, plan_of(TABLE, owners=owners).noisy_sums) == (12, 6)
    assert ordered_plan_from_json(plan.to_json()) == plan
    assert "averaging_rounds" not in plan_of(TABLE, owners=owners).to_json()["options"]
    for options in (
        {"averaging_rounds": 4},
        {"averaging_rounds": 3, "accuracy_share": 0.1},
        {"averaging_rounds": 3, "components": 2},
    ):
        with pytest.raises(InvalidSpec):
            plan_of(TABLE, owners=owners, **options)
    with pytest.raises(InvalidSpec, match="one dataset"):
        plan_of(TABLE, averaging_rounds=3)
    with pytest.raises(InvalidPlan):
        ordered_plan_from_json({name: member for name, member in plan.to_json().items() if name != "owners"})


def test_a_table_without_a_target_and_a_bound_on_records_are_refused() -> None:
    from dataclasses import replace

    with pytest.raises(InvalidSpec):
        plan_of(replace(TABLE, target=None))
    with pytest.raises(BoundNeedsAnchor):
        make_model_plan(
            model=ModelSpec(),
            guarantee=PrivacyGuarantee(epsilon=1.0, delta=1e-6),
            declared_size=1000,
            domain=TABLE,
            adjacency=Adjacency.ADD_OR_REMOVE,
            privacy_unit=PrivacyUnit(column="who", records=3),
        )
    with pytest.raises(InvalidGuarantee):
        plan_of(epsilon=-1.0)
    learnt = TableDomain.from_json(TABLE.to_json() | {
        "privacy_unit": "person",
        "columns": [*TABLE.to_json()["columns"], {"name": "person", "kind": "unit", "records": "learn"}],
    })  # fmt: skip
    with pytest.raises(BoundNeedsAnchor):
        plan_of(learnt)


@pytest.mark.parametrize(
    ("unit", "said"),
    [
        ({}, "bins of 'dose' to be"),
        ({"records": "learn"}, "bins of 'dose' and the records of a unit that count to be"),
    ],
)
def test_a_table_whose_bins_are_learnt_is_refused_with_the_columns_and_what_to_do(
    unit: dict[str, str], said: str
) -> None:
    dose = {"name": "dose", "kind": "numeric", "type": "integer", "lower": 0, "upper": 900, "bins": "learn"}
    learnt = TableDomain.from_json(TABLE.to_json() | {
        "privacy_unit": "person",
        "columns": [*TABLE.to_json()["columns"], dose, {"name": "person", "kind": "unit", **unit}],
    })  # fmt: skip
    with pytest.raises(InvalidSpec, match=f"leaves {said} learnt") as refused:
        plan_of(learnt)
    assert "domain.json in its bundle" in refused.value.remedy


def test_a_target_from_which_another_column_is_a_distance_is_refused() -> None:
    """Without the target such a column has no code, so the model would answer no record."""
    columns = [
        {"name": "booked", "kind": "date", "lower": "2025-01-01", "upper": "2025-12-31", "resolution": "day"},
        {
            "name": "settled", "kind": "date", "lower": "2025-01-01", "upper": "2026-01-31", "resolution": "day",
            "difference": {"from": "booked", "lower": 0, "upper": 3, "bins": 4},
        },
        {"name": "ward", "kind": "categorical", "categories": ["A", "B"]},
    ]  # fmt: skip
    domain = {"schema": "understudy.domain/1", "target": "booked", "privacy_unit": None, "columns": columns}
    with pytest.raises(InvalidSpec, match="'booked' or distances from it"):
        ModelFacts.of(TableDomain.from_json(domain), declared_size=100, epsilon=1.0)
    assert ModelFacts.of(TableDomain.from_json(domain | {"target": "ward"}), declared_size=100, epsilon=1.0)


def test_a_target_whose_patterns_are_modelled_is_refused() -> None:
    """The weekday of a day says much of the day, and a record without the day has no weekday."""
    domain = table(DAY_WITH_WEEKDAY, {"name": "ward", "kind": "boolean"}, target="day")
    with pytest.raises(InvalidSpec, match="patterns of 'day'"):
        ModelFacts.of(domain, declared_size=100, epsilon=1.0)


def test_a_quote_says_what_is_trained_and_how_well_the_accuracy_is_known() -> None:
    plan = plan_of(accuracy_share=0.25, features="plain", size=10_000)
    quote = make_model_quote(plan, None, [], domain=IMAGES)
    assert quote.model.options == plan.options
    assert quote.model.target == "label"
    assert quote.plan_digest == plan.digest()
    assert not quote.fits, "no budget is set"
    assert ModelQuote.from_json(quote.to_json()) == quote
    assert accuracy_error(plan) == plan.accuracy_noise_multiplier / 1000  # type: ignore[operator]
    assert accuracy_error(plan_of()) is None


ONE_HOT = TableDomain.from_json({
    "schema": "understudy.domain/1", "target": "ill", "privacy_unit": None,
    "columns": [
        {"name": "age", "kind": "numeric", "type": "integer", "lower": 18, "upper": 90},
        {"name": "score", "kind": "numeric", "type": "real", "lower": -3, "upper": 3},
        {"name": "ill", "kind": "categorical", "categories": ["no", "yes"]},
    ],
})  # fmt: skip


def plan_of_table(size: int, **options: Any) -> ModelPlan:
    return make_model_plan(
        model=ModelSpec(options=options),
        guarantee=PrivacyGuarantee(epsilon=2.0, delta=1e-6),
        declared_size=size,
        domain=ONE_HOT,
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
    )


@pytest.mark.parametrize(
    ("options", "size", "codes"),
    [
        ({}, 1500, []),
        ({"accuracy_share": 0.1}, 1500, []),
        ({"network": "mlp"}, 1500, ["few-units"]),
        ({"optimizer": "momentum"}, 1500, ["few-units"]),
        ({"steps": 90}, 1500, ["few-units"]),
        ({"network": "mlp"}, 100_000, []),
        ({"network": "mlp", "components": 10}, 100_000, ["few-components"]),
        ({"network": "mlp", "components": 10}, 1500, ["few-components", "few-units"]),
        ({"features": "pca", "components": 64}, 100_000, []),
    ],
)
def test_a_quote_warns_of_options_that_make_a_useless_model_likely(
    options: dict[str, Any], size: int, codes: list[str]
) -> None:
    plan = plan_of_table(size, **options)
    quote = make_model_quote(plan, None, [], domain=ONE_HOT)
    assert [one.code for one in quote.model.cautions] == codes
    assert ModelQuote.from_json(quote.to_json()) == quote


def test_a_caution_says_what_the_rule_has_and_what_the_order_has() -> None:
    plan = plan_of_table(1500, network="mlp")
    (caution,) = make_model_quote(plan, None, [], domain=ONE_HOT).model.cautions
    assert "1,500 units at epsilon 2" in caution.detail
    assert "a linear network then takes 94 steps of momentum at 0.997" in caution.detail
    assert "this order has mlp on plain features, 400 steps of adam at 0.01" in caution.detail


def test_images_have_no_cautions() -> None:
    plan = plan_of(epsilon=0.5, size=1000, network="mlp", components=5)
    assert make_model_quote(plan, None, [], domain=IMAGES).model.cautions == ()
