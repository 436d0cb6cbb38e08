"""The training of a classifier: its releases stay within what is paid, on neighbours, and a killed one resumes to the same bits."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score
from torch import nn

from core.artifacts.errors import ExecutionDiffers
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.plan.errors import InvalidSpec
from core.plan.private_models.plan import HELD_OUT
from core.plan.private_models.planning import ModelSpec, make_model_plan
from models.classifier import private_training, registered
from models.classifier.features import Batch, features_of, labels_of
from models.classifier.private_training import PrivateClassifier, TrainedClassifier, train_classifier
from models.classifier.recorder import ModelRecorder
from models.coding import joined
from models.dp.errors import BatchOverCap
from models.encoding import PrivateImages, PrivateTable
from models.randomness import KeyedStreams, Purpose
from models.releases import ReleaseRecorder
from models.selection.split import part_of_unit
from models.synthesizer import NullHost, TrainingHost
from tests.models.classifier.small import (
    IMAGES,
    TABLE,
    bits,
    hinting_rows,
    hints,
    images,
    plan_of,
    table,
    without_last,
)
from tests.models.idpgan.jobs import Killed, StubbornHost
from tests.privacy.seam import Recorder, Replayer

KEY = bytes(range(32))
JOBS: dict[str, dict[str, Any]] = {
    "scattering": {},
    "components": {"network": "mlp", "hidden": 9, "components": 5, "optimizer": "momentum", "learning_rate": 1.0},
    "cnn": {"network": "cnn", "steps": 3},
    "opacus": {"engine": "opacus", "features": "plain", "steps": 3},
    "accuracy": {"features": "plain", "accuracy_share": 0.2, "expected_batch_size": 270},
    "table": {},
    "whole": {"expected_batch_size": 300, "clipping_norm": 1.0, "learning_rate": 1.0},
}  # fmt: skip
OF_TABLES = ("table", "whole")


def records_of(name: str) -> PrivateImages | PrivateTable:
    if name in OF_TABLES:
        return table()
    made = images()
    # The last unit is answered wrongly if it is held out.
    made.labels[-1] = (made.labels[-1] + 1) % 3
    return made


def plan_for(name: str) -> Any:
    return plan_of(TABLE if name in OF_TABLES else IMAGES, **JOBS[name])


def trained(
    name: str,
    records: PrivateImages | PrivateTable,
    *,
    releases: ReleaseRecorder | None = None,
    host: TrainingHost | None = None,
) -> TrainedClassifier:
    streams = KeyedStreams(KEY, releases=releases)
    return train_classifier(records, plan_for(name), streams, host or NullHost())


def paid(name: str) -> dict[tuple[int, int], float]:
    plan = plan_for(name)
    found = {(int(Purpose.GRADIENT_NOISE), step): 1 / plan.noise_multiplier for step in range(plan.steps)}
    if plan.pca_noise_multiplier is not None:
        found[Purpose.MODEL_COMPONENTS_NOISE, 0] = 1 / plan.pca_noise_multiplier
    if plan.accuracy_noise_multiplier is not None:
        found[Purpose.MODEL_ACCURACY_NOISE, 0] = 1 / plan.accuracy_noise_multiplier
    return found


@pytest.mark.parametrize("removed", [False, True], ids=["added", "removed"])
@pytest.mark.parametrize("name", JOBS)
def test_nothing_but_the_releases_knows_a_unit(name: str, *, removed: bool) -> None:
    pair = [records_of(name), without_last(records_of(name))]
    if removed:
        pair.reverse()
    recorder = Recorder()
    before = trained(name, pair[0], releases=recorder)
    replayer = Replayer(recorder)
    after = trained(name, pair[1], releases=replayer)
    assert bits(after.network) == bits(before.network)
    assert recorder.calls == replayer.calls
    limits = paid(name)
    assert replayer.distances.keys() == limits.keys()
    assert max(replayer.distances.values()) > 0, "the unit took part"
    for release, moved in replayer.distances.items():
        assert moved <= limits[release] * (1 + 1e-12)
    for release, heard in recorder.heard.items():
        assert heard.sensitivity <= limits[release] * (1 + 1e-12), "the step states what is paid"


@pytest.mark.parametrize("name", JOBS)
def test_a_killed_training_resumes_to_the_same_bits(name: str) -> None:
    recorder = ModelRecorder(plan_for(name))
    whole = trained(name, records_of(name), releases=recorder)
    host = StubbornHost(kill_at=1)
    with pytest.raises(Killed):
        trained(name, records_of(name), host=host)
    resumed = trained(name, records_of(name), host=StubbornHost(host.state))
    assert bits(resumed.network) == bits(whole.network)
    assert resumed.wrong == whole.wrong
    recorder.executed()


def test_the_record_of_a_killed_training_goes_on_where_it_was() -> None:
    plan = plan_for("components")
    recorder, host = ModelRecorder(plan), StubbornHost(kill_at=2)
    with pytest.raises(Killed):
        trained("components", images(), releases=recorder, host=host)
    assert host.state is not None
    later = ModelRecorder(plan)
    assert later.restored(recorder.beside(host.state)) == host.state
    assert later.restored(b"of another version") is None
    trained("components", images(), releases=later, host=StubbornHost(host.state))
    assert later.executed().to_json() == {
        "components": [[0, 1, 1]], "gradients": [[0, 1, 6]], "accuracy": []
    }  # fmt: skip


def test_a_release_with_less_noise_than_charged_is_refused() -> None:
    recorder = ModelRecorder(plan_of())
    with pytest.raises(ExecutionDiffers):
        recorder.exact(Purpose.GRADIENT_NOISE, 0, [], sensitivity=1.01 / plan_of().noise_multiplier)
    with pytest.raises(ExecutionDiffers):
        recorder.exact(Purpose.GRADIENT_NOISE, 6, [], sensitivity=0.0)
    with pytest.raises(ExecutionDiffers):
        recorder.exact(Purpose.MODEL_ACCURACY_NOISE, 0, [], sensitivity=0.0)
    with pytest.raises(ExecutionDiffers):
        recorder.executed()


@pytest.mark.parametrize("name", ["scattering", "components", "cnn", *OF_TABLES])
def test_it_learns(name: str) -> None:
    options = JOBS[name] | {"steps": 40}
    records = records_of(name)
    plan = plan_of(TABLE if name in OF_TABLES else IMAGES, epsilon=50.0, **options)
    found = train_classifier(records, plan, KeyedStreams(KEY), NullHost())
    rows = features_of(records, plan).rows(np.arange(300)).float()
    right = (found.network(rows).argmax(dim=1) == labels_of(records)).float().mean()
    assert right > 0.85


def test_few_rows_teach_by_the_rules() -> None:
    domain = hints()
    plan = make_model_plan(
        model=ModelSpec(),
        guarantee=PrivacyGuarantee(epsilon=1.0, delta=1e-6),
        declared_size=400,
        domain=domain,
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
    )
    found = train_classifier(hinting_rows(domain, 400), plan, KeyedStreams(KEY), NullHost())
    fresh = hinting_rows(domain, 2000, seed=1)
    logits = found.network(features_of(fresh, plan).rows(np.arange(2000)).float()).detach()
    labels = labels_of(fresh).numpy()
    assert roc_auc_score(labels, (logits[:, 1] - logits[:, 0]).numpy()) > 0.9
    assert float((logits.argmax(dim=1).numpy() == labels).mean()) > 0.75
    shares = logits.double().log_softmax(dim=1).numpy()
    entropy = -np.mean(labels * np.log(1 / 3) + (1 - labels) * np.log(2 / 3))
    assert -shares[np.arange(2000), labels].mean() < entropy


def test_the_accuracy_is_of_units_that_no_step_saw() -> None:
    recorder = Recorder()
    found = trained("accuracy", images(), releases=recorder)
    wrong = recorder.heard[Purpose.MODEL_ACCURACY_NOISE, 0]
    assert found.wrong == float(wrong.noisy[0])
    # Only held-out units are counted: as many as the coin of one in ten leaves.
    assert 0 <= float(wrong.exact[0][0]) <= 60


def test_held_out_units_take_part_in_no_step() -> None:
    # Every unit that is trained on is in every batch: the sum is of these alone.
    plan = plan_for("accuracy")
    sizes: list[int] = []

    class Counting(PrivateClassifier):
        def step(self, step: int, batch: Batch, streams: KeyedStreams) -> None:
            sizes.append(len(batch))
            super().step(step, batch, streams)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(private_training, "PrivateClassifier", Counting)
        train_classifier(images(), plan, KeyedStreams(KEY), NullHost())
    held_out = int((part_of_unit(300, parts=HELD_OUT, streams=KeyedStreams(KEY)) == 0).sum())
    assert held_out > 0
    assert sizes == [300 - held_out] * plan.steps


def test_more_units_than_the_public_cap_end_the_training() -> None:
    from dataclasses import replace

    plan = replace(plan_of(features="plain"), max_sampled_batch=5)
    with pytest.raises(BatchOverCap):
        train_classifier(images(), plan, KeyedStreams(KEY), NullHost())


class Normalised(nn.Module):
    """A module with a normalisation of each record, as an operator may register."""

    def __init__(self, inputs: int, classes: int) -> None:
        super().__init__()
        self.first = nn.Linear(inputs, 16)
        self.normal = nn.GroupNorm(4, 16)
        self.last = nn.Linear(16, classes)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        return self.last(torch.tanh(self.normal(self.first(rows))))


class _Point:
    name = "normalised"

    @staticmethod
    def load() -> type[nn.Module]:
        return Normalised


def test_a_registered_module_is_trained_and_resumes_to_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registered, "entry_points", lambda *, group: [_Point] * (group == registered.GROUP))
    plan = plan_of(module="normalised", steps=4)
    assert plan.options.engine == "opacus"
    whole = train_classifier(images(), plan, KeyedStreams(KEY), NullHost())
    host = StubbornHost(kill_at=1)
    with pytest.raises(Killed):
        train_classifier(images(), plan, KeyedStreams(KEY), host)
    again = train_classifier(images(), plan, KeyedStreams(KEY), StubbornHost(host.state))
    assert bits(again.network) == bits(whole.network)


def test_a_module_that_nobody_registered_is_refused() -> None:
    with pytest.raises(InvalidSpec, match="no module 'unknown'"):
        registered.require_registered("unknown")


def test_units_of_different_owners_are_different_units() -> None:
    first, second, none = table(5, seed=1), table(7, seed=2), table(0)
    grouped = replace(second, unit_of_record=np.array([0, 0, 1, 1, 1, 2, 2]))
    both = joined([first, grouped, none])
    assert isinstance(both, PrivateTable)
    assert both.units == 8
    assert both.unit_of_record.tolist() == [0, 1, 2, 3, 4, 5, 5, 6, 6, 6, 7, 7]
    assert both.codes.tolist() == [*first.codes.tolist(), *second.codes.tolist()]
    pictures = joined([images(3), images(4, seed=1)])
    assert isinstance(pictures, PrivateImages)
    assert (pictures.units, pictures.pixels.shape[0], len(pictures.labels)) == (7, 7, 7)
