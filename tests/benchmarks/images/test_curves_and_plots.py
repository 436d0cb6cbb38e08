import json

import numpy as np
import pytest

from benchmarks.images import curves, plots
from benchmarks.images.classifiers import Recipe
from benchmarks.images.curves import Curve
from benchmarks.images.scorer import scorer
from tests.benchmarks.images.pictures import squares
from tests.benchmarks.images.test_score import small_set

QUICK = Recipe(epochs=1, batch=16)
ENTRIES = {
    "one": {
        "points": [{"seconds": 1.0, "sliced_wasserstein": 0.2}, {"seconds": 2.0, "sliced_wasserstein": 0.1}]
    }
}
RUNS = {
    str(seed): {"dataset": "mnist", "method": "anchor only", "epsilon": 4.0, "seed": seed, "accuracy_cnn": 0.95 + seed / 100}
    for seed in (0, 1)
}  # fmt: skip


def test_a_curve_is_measured_on_what_was_held_out_and_its_own_time_is_not_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(
        curves, "scorer", lambda images, *, folder: scorer(images, folder=folder, recipe=QUICK)
    )
    clock = iter([0.0, 5.0, 105.0, 110.0, 210.0])
    monkeypatch.setattr(curves.time, "perf_counter", lambda: next(clock))
    curve = Curve(small_set(development=True), "squares", tested=False, cache=tmp_path)
    for step in (10, 20):
        curve.point(step, lambda: squares(60, seed=4))
    curve.keep(tmp_path)
    kept = json.loads((tmp_path / "images.json").read_text())["curves"]["squares"]["points"]
    assert [(point["step"], point["seconds"]) for point in kept] == [(10, 5.0), (20, 10.0)]
    assert 0 < kept[0]["sliced_wasserstein"] < 0.1
    with pytest.raises(AssertionError, match="looked at once"):
        Curve(small_set(), "squares", cache=tmp_path)


def test_plots_have_the_same_bytes_for_the_same_results():
    result = {"curves": ENTRIES, "runs": RUNS}
    first, again = plots.plots(result), plots.plots(result)
    assert first == again
    assert sorted(first) == ["curves.svg", "mnist.svg"]
    assert all(text.startswith("<?xml") for text in first.values())
    assert plots.plots({}) == {}


def test_a_plot_shows_the_mean_over_seeds():
    figure = plots.accuracies(RUNS, "mnist")
    assert np.allclose(figure.axes[0].containers[0][0].get_xydata(), [[4.0, 95.5]])
