"""Plans for images: within their target, the anchor's releases in the mechanism, the critic that the rules allow."""

import json
from typing import Annotated, Any

import pytest
from pydantic import TypeAdapter

from core.artifacts.certificate import mechanism_rows
from core.artifacts.certificate_form import CertificateForm
from core.dp.accountant import epsilons
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.dp.mechanism import Composed, DiscreteGaussian, leaves
from core.plan.critic_groups import groups_of_shapes, image_critic_shapes
from core.plan.domain.images import ImageDomain
from core.plan.errors import InvalidSpec
from core.plan.images.anchor import ImageAnchorPlan
from core.plan.images.defaults import LABEL_BATCH, LABEL_STEPS
from core.plan.plan import Plan, make_plan
from core.plan.spec import SynthesisSpec
from core.plan.training_quote import make_quote

DIGITS = ImageDomain(height=28, width=28, channels=1, labels=tuple("0123456789"), privacy_unit=None)
UNLABELLED = ImageDomain(height=32, width=48, channels=3, labels=(), privacy_unit=None)


def plan_of(
    options: dict[str, Any] | None = None,
    *,
    domain: ImageDomain = DIGITS,
    epsilon: float = 4.0,
    delta: float = 1e-5,
    declared_size: int = 60_000,
) -> Plan:
    return make_plan(
        spec=SynthesisSpec(synthesizer="idpgan", options=options or {}),
        guarantee=PrivacyGuarantee(epsilon=epsilon, delta=delta),
        declared_size=declared_size,
        domain=domain,
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
    )


@pytest.mark.parametrize("domain", [DIGITS, UNLABELLED], ids=["digits", "unlabelled"])
@pytest.mark.parametrize(
    "options", [{}, {"critic": True}, {"anchor": False, "acts": True, "grouping": "rows"}], ids=str
)
def test_no_plan_exceeds_its_target_and_none_wastes_it(domain: ImageDomain, options: dict[str, Any]):
    plan = plan_of(options, domain=domain)
    assert epsilons(plan.mechanism, delta=1e-5) == plan.epsilons
    assert 0.999 * 4.0 <= plan.epsilons.reported <= 4.0
    assert Plan.from_json(json.loads(json.dumps(plan.to_json(), allow_nan=False))) == plan


@pytest.mark.parametrize(
    ("domain", "epsilon", "declared_size"),
    [
        (DIGITS, 4.0, 39_999),
        (DIGITS, 0.99, 60_000),
        pytest.param(UNLABELLED, 4.0, 10**6, marks=pytest.mark.long),
    ],
    ids=["few images", "little epsilon", "no labels"],
)
def test_the_rule_gives_all_to_the_anchor_unless_the_order_speaks_of_a_critic(
    domain: ImageDomain, epsilon: float, declared_size: int
):
    facts: dict[str, Any] = {"domain": domain, "epsilon": epsilon, "declared_size": declared_size}
    plain = plan_of(**facts)
    assert (plain.steps, plain.options.anchor_share) == (0, 1.0)
    if not domain.labels:
        assert plan_of(domain=domain, declared_size=10**9).steps == 0, "however many images there are"
    for options in (
        {"critic": True},
        {"steps": 5},
        {"acts": True},
        {"anchor": False},
        {"critic_asks": "real"},
    ):
        assert plan_of(options, **facts).steps > 0


def test_the_rule_asks_for_labels_where_images_of_a_label_and_epsilon_are_enough():
    for facts in ({"declared_size": 40_000, "epsilon": 1.0}, {"epsilon": 10.0}):
        plain = plan_of(**facts)
        assert plain.options.critic_asks == "labels"
        assert plain.steps == LABEL_STEPS
        assert plain == plan_of({"critic": True}, **facts)
        assert plan_of({"critic": False}, **facts).steps == 0
    falling = plan_of({"schedule": "step"}).options
    assert falling.schedule_period < falling.steps, "the schedule is one of the steps that are taken"


def test_every_release_of_the_anchor_is_charged_before_the_first_step():
    plan = plan_of({"critic": True})
    assert isinstance(plan.anchor, ImageAnchorPlan)
    times = sum(times for _, times, _, _ in plan.anchor.releases)
    assert len(plan.anchor.parts) == times
    assert leaves(plan.executed(0)) == leaves(Composed(parts=plan.anchor.parts))
    split = make_quote(plan, None, [], domain=DIGITS).split
    assert split.anchor.share + split.critic.share + split.label_histogram.share == pytest.approx(1.0)


def test_labels_are_counted_only_where_no_anchor_counts_them():
    kinds = [type(leaf) for leaf in leaves(plan_of({"anchor": False}).executed(0))]
    assert kinds == [DiscreteGaussian]
    assert leaves(plan_of({"anchor": False}, domain=UNLABELLED).executed(0)) == {}


def test_the_critic_halves_an_image_with_every_layer_and_has_a_row_per_class():
    options = plan_of({"critic_layers": 2, "critic_width": 16}).options
    assert image_critic_shapes(options, DIGITS) == ((16, 16), (32, 256), (10, 7 * 7 * 32))
    assert image_critic_shapes(options, UNLABELLED) == ((16, 48), (32, 256), (1, 8 * 12 * 32))
    rows = options.model_copy(update={"grouping": "rows", "row_blocks": 8})
    assert groups_of_shapes(rows, image_critic_shapes(rows, DIGITS)) == 8 + 8 + 8 + 1


@pytest.mark.parametrize(
    ("options", "said"),
    [({"steps": 9, "critic_width": 24}, "critic_width"), ({"steps": 9, "critic_layers": 5}, "critic_layers")],
)
def test_a_critic_that_cannot_be_is_refused_before_anything_is_charged(options: dict[str, Any], said: str):
    with pytest.raises(InvalidSpec, match=said):
        plan_of(options)


def test_a_certificate_has_room_for_every_mechanism_of_images():
    plan = plan_of({"critic": True, "acts": True}, epsilon=50.0)
    assert isinstance(plan.anchor, ImageAnchorPlan)
    assert plan.anchor.rounds > 0
    rows = mechanism_rows(plan)
    assert len(rows) == 7
    field = CertificateForm.model_fields["mechanisms"]
    TypeAdapter(Annotated[field.annotation, *field.metadata]).validate_python(rows)


def test_beside_an_anchor_a_critic_is_asked_for_labels_where_there_are_any():
    asked = plan_of({"critic": True})
    assert asked.options.critic_asks == "labels"
    assert (asked.steps, asked.expected_batch_size) == (LABEL_STEPS, LABEL_BATCH)
    assert asked.options.pretraining_steps > 0
    assert plan_of({"critic": True}, domain=UNLABELLED).options.critic_asks == "real"
    assert plan_of({"anchor": False}).options.critic_asks == "real"
    assert plan_of({"critic": True, "critic_asks": "real"}).options.pretraining_steps == 0


@pytest.mark.parametrize(
    ("options", "domain"),
    [
        ({"critic_asks": "labels", "anchor": False}, DIGITS),
        ({"critic_asks": "labels", "steps": 3}, UNLABELLED),
    ],
    ids=["without an anchor", "without labels"],
)
def test_a_critic_of_labels_needs_labels_and_an_anchor(options: dict[str, Any], domain: ImageDomain):
    with pytest.raises(InvalidSpec, match="label"):
        plan_of(options, domain=domain)


@pytest.mark.parametrize(("side", "layers"), [(8, 1), (31, 2), (32, 3), (256, 3)])
def test_a_critic_of_labels_has_one_convolution_more_from_32_pixels_on(side: int, layers: int):
    pictures = ImageDomain(height=side, width=256, channels=3, labels=("a", "b"), privacy_unit=None)
    assert plan_of({"critic": True}, domain=pictures).options.critic_layers == layers
    paper = plan_of({"critic": True, "critic_asks": "real"}, domain=pictures).options.critic_layers
    assert layers - paper == (side == 32)
