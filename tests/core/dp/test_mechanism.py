import json

import dp_accounting
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.dp.errors import InvalidMechanism, UnknownMechanism
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
    from_json,
    leaves,
    to_json,
)
from tests.core.dp.builders import gaussian, sampled, training
from tests.core.dp.dp_events import to_event

_multipliers = st.floats(1e-3, 1e6)
_leaves = st.one_of(
    _multipliers.map(gaussian),
    _multipliers.map(lambda m: DiscreteGaussian(noise_multiplier=m)),
    _multipliers.map(lambda m: Laplace(noise_multiplier=m)),
    st.builds(sampled, st.floats(1e-9, 1.0), _multipliers),
    st.builds(PermuteAndFlip, epsilon=st.floats(1e-6, 100.0), candidates=st.integers(2, 64)),
)
_parts = st.lists(_leaves, min_size=1, max_size=3).map(tuple)
mechanisms = st.recursive(
    _leaves,
    lambda inner: st.one_of(
        st.builds(lambda m, n: Repeated(mechanism=m, count=n), inner, st.integers(1, 10**6)),
        st.lists(inner, max_size=4).map(lambda parts: Composed(parts=tuple(parts))),
        st.builds(Parallel, parts=_parts),
        st.builds(Chosen, parts=_parts),
    ),
    max_leaves=8,
)


@given(mechanisms)
def test_a_mechanism_survives_json_text(mechanism: Mechanism):
    text = json.dumps(to_json(mechanism), allow_nan=False)

    assert from_json(json.loads(text)) == mechanism


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"kind": "gaussian", "noise_multiplier": 1.0},
        {"version": 2, "kind": "gaussian", "noise_multiplier": 1.0},
        {"version": 1},
        {"version": 1, "kind": "exponential"},
        {"version": 1, "kind": "gaussian"},
        {"version": 1, "kind": "gaussian", "noise_multiplier": "much"},
        {
            "version": 1,
            "kind": "repeated",
            "count": 2.0,
            "mechanism": {"kind": "gaussian", "noise_multiplier": 1.0},
        },
        {
            "version": 1,
            "kind": "repeated",
            "count": True,
            "mechanism": {"kind": "gaussian", "noise_multiplier": 1.0},
        },
        {"version": 1, "kind": "repeated", "count": 2, "mechanism": 3},
        {"version": 1, "kind": "composed", "parts": [7]},
        {"version": 1, "kind": "composed", "parts": None},
        {"version": 1, "kind": "gaussian", "noise_multiplier": "1.0"},
        {"version": 1, "kind": "gaussian", "noise_multiplier": True},
        {"version": 1, "kind": "gaussian", "noise_multiplier": 2},
        {"version": 1, "kind": "gaussian", "noise_multiplier": None},
        {"version": 1, "kind": "gaussian", "noise_multiplier": 10**400},
        {"version": 1, "kind": "gaussian", "noise_multiplier": 1.0, "sensitivity": 2.0},
        {"version": 1, "kind": ["gaussian"], "noise_multiplier": 1.0},
        {
            "version": 1,
            "kind": "composed",
            "parts": [{"version": 1, "kind": "gaussian", "noise_multiplier": 1.0}],
        },
        {
            "version": 1,
            "kind": "poisson-sampled",
            "sampling_rate": 0.1,
            "mechanism": {"noise_multiplier": 1.0},
        },
        {
            "version": 1,
            "kind": "poisson-sampled",
            "sampling_rate": 0.1,
            "mechanism": {"kind": "laplace", "noise_multiplier": 1.0},
        },
    ],
)
def test_what_is_not_understood_is_refused(document: dict[str, object]):
    with pytest.raises(UnknownMechanism):
        from_json(document)


@pytest.mark.parametrize("multiplier", [0, 0.0, -1.0, 1e13, float("inf"), float("nan")])
def test_a_number_out_of_range_is_refused_as_such(multiplier: float):
    with pytest.raises(InvalidMechanism):
        from_json({"version": 1, "kind": "gaussian", "noise_multiplier": multiplier})


@pytest.mark.parametrize("multiplier", [0.0, -1.0, float("inf"), float("nan")])
@pytest.mark.parametrize("kind", [Gaussian, DiscreteGaussian, Laplace])
def test_a_release_without_proper_noise_is_refused(kind: type, multiplier: float):
    with pytest.raises(InvalidMechanism):
        kind(noise_multiplier=multiplier)


@pytest.mark.parametrize("rate", [0.0, -0.1, 1.1, float("nan")])
def test_a_sampling_rate_that_is_no_probability_is_refused(rate: float):
    with pytest.raises(InvalidMechanism):
        sampled(rate, 1.0)


def test_only_a_gaussian_is_sampled():
    with pytest.raises(InvalidMechanism):
        PoissonSampled(sampling_rate=0.5, mechanism=Laplace(noise_multiplier=1.0))  # type: ignore[arg-type]


@pytest.mark.parametrize("count", [0, -1, 10**12 + 1])
def test_a_count_that_never_ran_is_refused(count: int):
    with pytest.raises(InvalidMechanism):
        Repeated(mechanism=gaussian(1.0), count=count)


def test_leaves_counts_equal_parts_together_through_nesting():
    mechanism = Composed(
        parts=(
            training(0.1, 2.0, 5),
            Repeated(mechanism=Composed(parts=(sampled(0.1, 2.0), gaussian(3.0))), count=4),
            gaussian(3.0),
        )
    )

    assert leaves(mechanism) == {sampled(0.1, 2.0): 9, gaussian(3.0): 5}
    assert leaves(Composed(parts=())) == {}


def test_events_are_the_librarys_own():
    mechanism = Composed(
        parts=(DiscreteGaussian(noise_multiplier=5.0), training(0.1, 2.0, 5), Laplace(noise_multiplier=3.0))
    )

    assert to_event(mechanism) == dp_accounting.ComposedDpEvent(
        [
            dp_accounting.GaussianDpEvent(5.0),
            dp_accounting.SelfComposedDpEvent(
                dp_accounting.PoissonSampledDpEvent(0.1, dp_accounting.GaussianDpEvent(2.0)), 5
            ),
            dp_accounting.LaplaceDpEvent(3.0),
        ]
    )
