import json

from benchmarks.images.critic_seeds import FILE, critic_steps, name_of, run, taught
from benchmarks.results_file import RESULTS
from models.devices.placement import CPU, HOST
from tests.benchmarks.images.test_private_gans import SMALL
from tests.benchmarks.images.test_score import small_set


def test_a_run_states_what_was_ordered_and_what_its_images_taught():
    entry = run(small_set(), epsilon=4.0, options=SMALL, seed=0, made=40, placement=HOST)
    assert (entry["steps"], entry["options"], entry["made"], entry["device"]) == (2, SMALL, 40, "")
    assert 3.9 < entry["spent_epsilon"] <= 4.0
    assert 0.0 <= entry["accuracy"] <= 1.0


def test_real_images_teach_the_network():
    images = small_set()
    assert taught(images.train, images, CPU) > 0.9


def test_kept_entries_lie_under_their_names():
    kept = json.loads((RESULTS / f"{FILE}.json").read_text())["runs"]
    assert {name_of(entry) for entry in kept.values()} == set(kept)
    assert [critic_steps(word) for word in ("5", "adaptive")] == [5, "adaptive"]
