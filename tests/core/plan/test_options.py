import pytest
from pydantic import ValidationError

from core.plan.errors import InvalidSpec
from core.plan.options import ABLATIONS, IdpganOptions, IdpganRequest, explain
from core.plan.spec import SynthesisSpec
from tests.core.plan.shapes import Shape, plan_of
from tests.core.plan.test_image_plans import DIGITS


def test_every_option_can_be_requested_and_beside_them_an_effort_alone():
    assert set(IdpganRequest.model_fields) == set(IdpganOptions.model_fields) | {"effort"}
    assert IdpganRequest().chosen() == {}


def test_the_defaults_are_consistent_and_survive_json():
    options = IdpganOptions()
    added = {"first_noise_multiplier", "schedule_start", "adam_beta1", "adam_beta2"}

    assert options.model_dump().keys() == IdpganOptions.model_fields.keys() - added
    assert IdpganOptions.model_validate_json(options.model_dump_json()) == options


@pytest.mark.parametrize(
    "changes",
    [
        {"anchor": False, "critic": False},
        {"steps": 0},
        {"critic": False, "anchor_share": 1.0},
        {"anchor_share": 1.0},
        {"anchor_share": 0.0},
        {"anchor": False},
        {"critic": False, "anchor_share": 1.0, "steps": 0, "acts": True, "acts_noise_multiplier": 5.0},
        {"acts": True},
        {"acts_noise_multiplier": 2.0},
        {"acts": True, "acts_noise_multiplier": 5.0, "acts_edge_ratio": 16.0, "acts_bins": 512},
        {"acts": True, "acts_noise_multiplier": 5.0, "acts_edge_ratio": 4.0, "acts_bins": 60},
        {"weight_clusters": True},
        {"weight_clusters": True, "acts": True, "acts_noise_multiplier": 5.0},
        {"schedule": "step", "schedule_decay": 1.5},
        {"schedule_start": 5},
        {"schedule": "polynomial", "schedule_start": 500},
        {"critic": False, "anchor_share": 1.0, "steps": 0, "adam_beta1": 0.0},
        {"critic": False, "anchor_share": 1.0, "steps": 0, "first_noise_multiplier": 2.0},
        {"first_noise_multiplier": 0.01},
        {"adam_beta2": 1.0},
        {"clipping_norm": 0.0},
        {"clipping_norm": float("nan")},
        {"steps": 2.5},
        {"unheard_of": 1},
    ],
)
def test_options_that_exclude_each_other_or_are_out_of_range_are_refused(changes: dict[str, object]):
    with pytest.raises(ValidationError):
        IdpganOptions.model_validate(changes)


def test_a_spec_survives_json_with_what_was_asked_for():
    spec = SynthesisSpec(synthesizer="idpgan", options={"steps": 300, "critic_steps": "adaptive"})

    assert spec.to_json() == {"synthesizer": "idpgan", "options": {"steps": 300, "critic_steps": "adaptive"}}
    assert SynthesisSpec(**spec.to_json()) == spec


@pytest.mark.parametrize(
    "document",
    [
        {"synthesizer": "unknown"},
        {"synthesizer": "idpgan", "options": {"noise": 0}},
        {"synthesizer": "idpgan", "options": {"steps": 0}},
        {"synthesizer": "idpgan", "options": {"steps": True}},
        {"synthesizer": "idpgan", "options": {"acts": "yes"}},
        {"synthesizer": "idpgan", "options": {"gp_weight": float("inf")}},
    ],
)
def test_an_unknown_synthesizer_or_option_is_refused_with_a_reason(document: dict[str, object]):
    with pytest.raises(InvalidSpec) as refused:
        SynthesisSpec(**document)  # type: ignore[arg-type]

    assert refused.value.detail


def test_a_refusal_names_the_option():
    with pytest.raises(InvalidSpec, match="clipping_norm"):
        SynthesisSpec(synthesizer="idpgan", options={"clipping_norm": -1})


@pytest.mark.parametrize("name", ["dpgan", "dpba", "acts", "dpba+acts", "acts+wc", "dpba+acts+wc"])
def test_each_ablation_of_the_paper_is_a_configuration(name: str):
    request = SynthesisSpec(synthesizer="idpgan", options=ABLATIONS[name]).request()

    assert (request.schedule != "constant") == ("dpba" in name)
    assert request.acts == ("acts" in name)
    assert request.weight_clusters == ("wc" in name)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"nosuch": 1}, "nosuch: there is no such option"),
        ({"step": 1}, "step: there is no such option, did you mean steps?"),
        ({"steps": 0}, "steps: Input should be greater than or equal to 1"),
        (
            {"critic_steps": "often"},
            "critic_steps: Input should be a valid integer; critic_steps: Input should be 'adaptive'",
        ),
    ],
)
def test_a_wrong_option_is_named_with_its_rule(options: dict[str, object], said: str):
    with pytest.raises(InvalidSpec) as caught:
        SynthesisSpec(synthesizer="idpgan", options=options)
    assert caught.value.detail == said


def test_options_that_exclude_each_other_are_refused_in_plain_words():
    with pytest.raises(ValidationError) as caught:
        IdpganOptions(critic_asks="labels", critic=False, steps=0, anchor_share=1.0)
    assert explain(caught.value).detail == (
        "options: a critic of labels chooses among images of the anchor, so it needs both"
    )


def test_there_are_no_other_ablations():
    assert len(ABLATIONS) == 6


@pytest.mark.parametrize("name", ABLATIONS)
def test_an_ablation_is_asked_for_by_name_and_other_options_win(name: str):
    by_name = SynthesisSpec(synthesizer="idpgan", options={"ablation": name, "steps": 7})
    assert by_name.request().chosen() == ABLATIONS[name] | {"steps": 7}
    assert SynthesisSpec(**by_name.to_json()).request() == by_name.request()


@pytest.mark.parametrize(
    ("profile", "same"), [("auto", {}), ("idpgan", {"anchor": False}), ("anchor", {"critic": False})]
)
def test_a_profile_is_one_name_of_the_parts_that_run(profile: str, same: dict[str, object]):
    for shape in (Shape(), DIGITS):
        assert plan_of({"profile": profile}, shape=shape) == plan_of(same, shape=shape)  # type: ignore[arg-type]


def test_a_profile_agrees_with_an_ablation_and_contradicts_no_option():
    assert plan_of({"profile": "idpgan", "ablation": "dpba"}) == plan_of({"ablation": "dpba"})
    for options in (
        {"profile": "anchor", "ablation": "dpba"},
        {"profile": "idpgan", "anchor": True},
        {"profile": "idpgan", "critic": False},
        {"profile": "anchor", "critic": []},
        {"profile": "both"},
        {"profile": ["auto"]},
    ):
        with pytest.raises(InvalidSpec, match="profile"):
            SynthesisSpec(synthesizer="idpgan", options=options)
    with pytest.raises(InvalidSpec, match="no such option"):
        SynthesisSpec(synthesizer="mst", options={"profile": "anchor"})


@pytest.mark.parametrize("ablation", ["all", {}, ["dpba"], 1, True])
def test_an_unknown_ablation_is_refused_with_the_known_ones(ablation: object):
    with pytest.raises(InvalidSpec) as caught:
        SynthesisSpec(synthesizer="idpgan", options={"ablation": ablation})
    assert "dpba+acts+wc" in caught.value.remedy
