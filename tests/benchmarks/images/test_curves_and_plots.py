import json
import re

import numpy as np
import pytest
import torch

from benchmarks.images import curve_runs, curves, plots
from benchmarks.images.classifiers import Recipe
from benchmarks.images.curves import Curve
from benchmarks.images.plots import COLOURS, MARKS, REAL
from benchmarks.images.scorer import scorer
from benchmarks.results_file import RESULTS
from models.idpgan.image_training import ImageTraining
from models.synthesizer import NullHost
from tests.benchmarks.images.pictures import squares
from tests.benchmarks.images.test_score import small_set

QUICK = Recipe(epochs=1, batch=16)
ENTRIES = {
    "mnist anchor and critic epsilon 4 seed 0": {
        "load": 1.0,
        "points": [
            {"processor_seconds": 1.0, "sliced_wasserstein": 0.2, "accuracy_cnn": 0.8},
            {"processor_seconds": 2.0, "sliced_wasserstein": 0.1, "accuracy_cnn": 0.9},
        ],
    },
    "mnist anchor only epsilon 4 seed 0": {
        "load": 1.0,
        "points": [{"processor_seconds": 0.5, "sliced_wasserstein": 0.15, "accuracy_cnn": 0.85}],
    },
}
RUNS = {
    str(seed): {"dataset": "mnist", "method": "anchor only", "epsilon": 4.0, "seed": seed, "accuracy_cnn": 0.95 + seed / 100}
    for seed in (0, 1)
}  # fmt: skip


@pytest.fixture
def quick(tmp_path, monkeypatch):
    """A folder for results; a scorer and a classifier that learn in no time."""
    monkeypatch.setattr(
        curves, "scorer", lambda images, *, folder: scorer(images, folder=tmp_path, recipe=QUICK)
    )
    monkeypatch.setattr(curves, "RECIPE", QUICK)
    return tmp_path


def kept(folder):
    return json.loads((folder / "images.json").read_text())["curves"]


def test_a_curve_is_measured_on_what_was_held_out_and_its_own_time_is_not_counted(quick, monkeypatch):
    clock = iter([0.0, 0.5, 5.0, 5.0, 105.0, 106.0, 111.0, 111.0, 211.0])
    now = lambda: curves.Clocks(wall=0.0, processor=next(clock))  # noqa: E731 - a clock
    monkeypatch.setattr(curves.Clocks, "now", now)
    curve = Curve(small_set(development=True), "squares", tested=False)
    for step in (10, 20, 30, 40):  # nothing is due after 0.5 and after 6 seconds
        curve.point(step, lambda: squares(60, seed=4))
    curve.keep(quick)
    points = kept(quick)["squares"]["points"]
    assert [(point["step"], point["processor_seconds"]) for point in points] == [(20, 5.0), (40, 11.0)]
    assert 0 < points[0]["sliced_wasserstein"] < 0.1
    with pytest.raises(AssertionError, match="looked at once"):
        Curve(small_set(), "squares")


@pytest.mark.long
def test_a_training_is_looked_at_on_its_way_and_at_its_end(quick, monkeypatch):
    monkeypatch.setattr(curves, "FIRST_LOOK", 0.0)
    monkeypatch.setattr(curves, "LATER", 0.0)
    monkeypatch.setattr(curve_runs, "WATCHED", 40)
    images = small_set(development=True)
    options = {"steps": 3, "expected_batch_size": 16, "critic_steps": 1, "generator_batch_size": 16}
    curve_runs.run(images, "critic", epsilon=50.0, seed=1, options=options, folder=quick)
    points = kept(quick)["squares critic only epsilon 50 seed 1"]["points"]
    assert [point["step"] for point in points] == [1, 2, 3, 3]
    assert all(point["made"] == 40 and point["accuracy_cnn"] > 0 for point in points)
    # What it would have left after the last step is what it leaves.
    assert points[2]["sliced_wasserstein"] == points[3]["sliced_wasserstein"]
    assert points[0]["sliced_wasserstein"] != points[2]["sliced_wasserstein"]


@pytest.mark.long
def test_looking_changes_nothing_in_a_training(quick):
    images = small_set(development=True)
    options = {"steps": 2, "expected_batch_size": 16, "generator_batch_size": 16, "pretraining_steps": 2}
    plan = curve_runs.plan_of(images, epsilon=50.0, options={"critic": True} | options)
    curve = Curve(images, "squares", tested=False)
    curve.due = lambda: True
    trainings = (
        curve_runs.WatchedTraining(curve, images, plan, seed=0),
        ImageTraining(images.private(), plan, curve_runs.streams_of(0), NullHost()),
    )
    watched, alone = (training.run().network.state_dict() for training in trainings)
    assert curve.points
    assert all(torch.equal(watched[name], alone[name]) for name in alone)


@pytest.mark.long
def test_the_anchor_and_the_mean_embedding_have_their_points(quick, monkeypatch):
    monkeypatch.setattr(curve_runs, "WATCHED", 40)
    monkeypatch.setattr(curve_runs, "MATCHING_STEPS", (1, 3))
    images = small_set(development=True)
    for method in ("real", "anchor", "mean-embedding"):
        curve_runs.run(images, method, epsilon=50.0, seed=0, options={}, folder=quick)
    found = kept(quick)
    assert found["squares real images seed 0"]["points"][0]["made"] == 40
    assert [point["step"] for point in found["squares anchor only epsilon 50 seed 0"]["points"]] == [0]
    assert [point["step"] for point in found["squares mean embedding epsilon 50 seed 0"]["points"]] == [1, 3]


@pytest.mark.long
def test_plots_have_the_same_bytes_for_the_same_results():
    result = {"curves": ENTRIES, "runs": RUNS}
    first, again = plots.plots(result), plots.plots(result)
    assert first == again
    assert sorted(first) == ["curves.svg", "mnist.svg"]
    assert all(text.startswith("<?xml") for text in first.values())
    assert plots.plots({}) == {}


def test_plots_do_not_change_with_the_last_digit_of_a_float():
    moved = [run | {"accuracy_cnn": run["accuracy_cnn"] * (1.0 + 2.0**-52)} for run in RUNS.values()]
    drawn = plots.svg(plots.accuracies(RUNS, "mnist"))
    assert drawn == plots.svg(plots.accuracies(dict(zip(RUNS, moved, strict=True)), "mnist"))
    assert re.findall(r'<clipPath id="(\w+)"', drawn) == ["p1"]
    assert 'version="1.0"' in drawn.partition("\n")[0]


def test_curves_are_drawn_against_processor_seconds_and_real_images_as_a_line():
    real = {"mnist real images seed 0": {"load": 1.0, "points": [{"processor_seconds": 0.0, "sliced_wasserstein": 0.01, "accuracy_cnn": 0.96}]}}  # fmt: skip
    distance, accuracy = plots.curves(ENTRIES | real).axes
    lines = {line.get_label(): np.asarray(line.get_xydata()).tolist() for line in accuracy.lines}
    assert np.allclose(lines["anchor and critic"], [[1.0, 80.0], [2.0, 90.0]])
    assert np.allclose([y for _, y in lines["real images"]], 96.0)
    assert len(distance.lines) == len(lines) == 3


def test_every_set_has_a_row_of_panels_in_which_a_method_looks_alike():
    anchor = ENTRIES["mnist anchor only epsilon 4 seed 0"]
    faces = {"faces anchor only epsilon 4 seed 0": anchor, "squares mean embedding epsilon 4 seed 0": anchor}
    axes = plots.curves(faces | ENTRIES).axes
    assert [panel.get_title(loc="left") for panel in axes] == ["MNIST", "", "Faces", "", "squares", ""]
    looks = [
        {line.get_label(): (line.get_color(), line.get_marker()) for line in panel.lines} for panel in axes
    ]
    assert set(looks[0]) == {"anchor only", "anchor and critic"}
    assert looks[2] == looks[3] == {"anchor only": looks[0]["anchor only"]}
    assert len(set((looks[0] | looks[4]).values())) == 3


def test_a_plot_shows_the_mean_over_seeds():
    figure = plots.accuracies(RUNS, "mnist")
    assert np.allclose(figure.axes[0].containers[0][0].get_xydata(), [[4.0, 95.5]])


def test_no_two_methods_of_a_plot_look_alike() -> None:
    """Looks were dealt out in turn: with an eighth method the mean embedding looked like the critic alone."""
    methods: dict[str, set[str]] = {}
    for run in json.loads((RESULTS / "images.json").read_text())["runs"].values():
        methods.setdefault(run["dataset"], set()).add(run["method"])
    assert len(set(COLOURS)) == len(COLOURS) == len(set(MARKS)) == len(MARKS)
    assert max(len(names - {REAL}) for names in methods.values()) <= len(COLOURS)
