"""Federated averaging: a unit is in the sums of its own owner alone, and true sizes are in none of the public numbers."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from models.classifier.averaging import LocalRows, train_averaged
from models.classifier.private_training import TrainedClassifier, train_classifier
from models.classifier.recorder import ModelRecorder
from models.coding import joined
from models.encoding import PrivateImages, PrivateTable
from models.randomness import KeyedStreams, Purpose
from models.releases import ReleaseRecorder
from models.synthesizer import NullHost, TrainingHost
from tests.models.classifier.small import (
    IMAGES,
    TABLE,
    bits,
    images,
    owners_of_sizes,
    plan_of,
    table,
    without_last,
)
from tests.models.idpgan.jobs import Killed, StubbornHost
from tests.privacy.seam import Recorder, Replayer

KEY = bytes(range(32))
# Owners declare other sizes than they have.
OWNERS = owners_of_sizes(160, 110, 60)
SIZES = (150, 100, 50)
JOBS: dict[str, dict[str, Any]] = {
    "table": {"averaging_rounds": 3},
    "adam": {"averaging_rounds": 2, "network": "mlp", "hidden": 5},
    "images": {"averaging_rounds": 1, "features": "plain", "steps": 3},
}
Parts = list[PrivateImages | PrivateTable]


def parts_of(name: str) -> Parts:
    if name == "images":
        return [images(size, seed=seed) for seed, size in enumerate(SIZES)]
    return [table(size, seed=seed) for seed, size in enumerate(SIZES)]


def plan_for(name: str) -> Any:
    return plan_of(IMAGES if name == "images" else TABLE, size=330, owners=OWNERS, **JOBS[name])


def trained(
    name: str, parts: Parts, *, releases: ReleaseRecorder | None = None, host: TrainingHost | None = None
) -> TrainedClassifier:
    return train_averaged(parts, plan_for(name), KeyedStreams(KEY, releases=releases), host or NullHost())


@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize("name", JOBS)
def test_nothing_but_one_owners_sums_knows_a_unit(name: str, place: int) -> None:
    recorder, plan = Recorder(), plan_for(name)
    before = trained(name, parts_of(name), releases=recorder)
    replayer = Replayer(recorder)
    neighbour = [without_last(one) if at == place else one for at, one in enumerate(parts_of(name))]
    after = trained(name, neighbour, releases=replayer)
    assert bits(after.network) == bits(before.network)
    assert recorder.calls == replayer.calls
    each = plan.steps // plan.options.averaging_rounds
    owner_of = {address: address // each % len(OWNERS) for address in range(plan.noisy_sums)}
    assert set(replayer.distances) == {(int(Purpose.GRADIENT_NOISE), address) for address in owner_of}
    for (_, address), moved in replayer.distances.items():
        limit = 1 / plan.noise_multiplier if owner_of[address] == place else 0.0
        assert moved <= limit * (1 + 1e-12)
    assert max(replayer.distances.values()) > 0, "the unit took part"


def test_the_weight_divisor_and_rate_of_an_owner_do_not_follow_from_its_rows() -> None:
    plan, records = plan_for("table"), table(50)
    whole, lacking = (
        LocalRows.of(2, some, OWNERS[2].declared_size, plan) for some in (records, without_last(records))
    )
    assert (
        (whole.weight, whole.divisor)
        == (lacking.weight, lacking.divisor)
        == (60 / 330, plan.sampling_rate * 60)
    )
    streams = KeyedStreams(KEY)
    for address in range(100):
        # The coins of others are the same: the sample differs by the missing unit alone.
        assert set(whole.sampler.draw(streams, address)) - {49} == set(lacking.sampler.draw(streams, address))


@pytest.mark.parametrize("name", ["table", "adam"])
def test_a_killed_training_resumes_to_the_same_bits(name: str) -> None:
    recorder = ModelRecorder(plan_for(name))
    whole = trained(name, parts_of(name), releases=recorder)
    assert recorder.executed().to_json()["gradients"] == [[0, 1, 18]]
    host = StubbornHost(kill_at=1)
    with pytest.raises(Killed):
        trained(name, parts_of(name), host=host)
    resumed = trained(name, parts_of(name), host=StubbornHost(host.state))
    assert bits(resumed.network) == bits(whole.network)


def test_averaging_after_every_step_is_the_step_on_all_rows_together() -> None:
    parts = parts_of("table")
    owners = owners_of_sizes(*SIZES)
    together = plan_of(TABLE, owners=owners, expected_batch_size=300)
    quiet: dict[str, Any] = {"noise_multiplier": 1e-6, "max_sampled_batch": 400}
    plan = replace(plan_of(TABLE, owners=owners, expected_batch_size=300, averaging_rounds=6), **quiet)
    federated = train_averaged(parts, plan, KeyedStreams(KEY), NullHost())
    pooled = train_classifier(joined(parts), replace(together, **quiet), KeyedStreams(KEY), NullHost())
    for one, other in zip(federated.network.parameters(), pooled.network.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


def test_it_learns() -> None:
    parts = parts_of("table")
    plan = plan_of(TABLE, owners=owners_of_sizes(*SIZES), epsilon=50.0, steps=40, averaging_rounds=4)
    found = train_averaged(parts, plan, KeyedStreams(KEY), NullHost())
    from models.classifier.features import features_of, labels_of

    whole = joined(parts)
    rows = features_of(whole, plan).rows(torch.arange(300).numpy()).float()
    right = (found.network(rows).argmax(dim=1) == labels_of(whole)).float().mean()
    assert right > 0.85
