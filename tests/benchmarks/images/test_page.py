from benchmarks.images.published import ACCURACY
from docs.image_figures import grouped, images, unlabelled


def run(method, epsilon, seed, accuracy, *, dataset="mnist"):
    return {
        "dataset": dataset, "method": method, "epsilon": epsilon, "seed": seed, "accuracy_cnn": accuracy,
        "inception_score": 9.0, "seconds": 100.0,
    }  # fmt: skip


RUNS = [
    run("anchor and critic", 4.0, 1, 0.962),
    run("anchor and critic", 4.0, 0, 0.960),
    run("mean embedding", 1.0, 0, 0.7),
    run("real images", None, 0, 0.99),
    run("anchor only", 10.0, 0, 0.958),
    run("anchor only", 1.0, 0, 0.93, dataset="faces"),
    {"dataset": "mnist", "method": "DP-SGD on real images", "epsilon": 1.0, "seed": 0, "accuracy_cnn": 0.967},
]


def page():
    return "\n".join(images({"runs": {str(index): entry for index, entry in enumerate(RUNS)}, "machine": {}}))


def test_real_images_come_first_then_ours_then_baselines():
    order = list(grouped(entry for entry in RUNS if entry["dataset"] == "mnist"))
    assert order == [
        ("real images", None), ("anchor only", 10.0), ("anchor and critic", 4.0),
        ("DP-SGD on real images", 1.0), ("mean embedding", 1.0),
    ]  # fmt: skip


def test_rows_show_the_mean_over_seeds_with_its_interval_and_one_seed_alone():
    # t_(1, 0.975) = 12.706, times 0.1 points.
    assert "| anchor and critic | 4 | 2 | 96.10 ± 1.27 % |" in page()
    assert "| anchor only | 10 | 1 | 95.80 % |" in page()


def test_every_bar_stands_beside_what_was_measured_and_what_others_print():
    assert (
        "| anchor and critic | 4 | 2 | 96.10 ± 1.27 % | 96.1 % | 97.5 % | 96.1 % | - | - | +0.00 |" in page()
    )
    assert "| anchor only | 10 | 1 | 95.80 % | 96.5 % | 98.1 % | - | 95.0 % | 98.1 % | -0.70 |" in page()
    assert "| IDPGAN | 4 | 96.1 % | 8.93 ± 0.03 |" in page()
    assert "### Faces" in page()
    assert "Fashion-MNIST" not in page()


def test_what_was_not_run_is_said():
    assert "| critic only | 4 | 0 | not run | 96.1 % | 97.5 % | 96.1 % | - | - |  |" in page()
    assert "| anchor only | 10 | 0 | not run | 85.0 % | 92.0 % |" in page()
    assert "Baselines not run at epsilon 1: DPGAN, GANobfuscator, DPACGAN.\n" in page()
    assert "Baselines not run at epsilon 4: DP-SGD on real images, mean embedding, DPGAN," in page()
    assert "| critic only | 4 | 0 |" not in "\n".join(
        images({"runs": {"0": run("critic only", 4.0, 0, 0.9)}})
    )


def test_a_curve_shows_where_it_began_and_ended():
    points = [
        {
            "step": 60,
            "seconds": seconds,
            "processor_seconds": seconds / 2,
            "accuracy_cnn": 0.8,
            "sliced_wasserstein": 0.1,
        }
        for seconds in (10.0, 400.0)
    ]
    document = {"curves": {"mnist critic only epsilon 4 seed 0": {"points": points, "load": 2.0}}}
    lines = images(document)
    assert any(line.startswith("![Scores against seconds") for line in lines)
    row = "| mnist critic only epsilon 4 seed 0 | 2 | 80.0 % and 0.1000 after 5 s (10 s on the clock) | 80.0 % and 0.1000 after 200 s (400 s on the clock) | 2.0 |"
    assert row in lines


def test_the_page_says_which_curves_are_whole_which_were_cut_and_which_were_not_run():
    ended = {
        "mnist critic only": 60,
        "faces critic only": 400,
        "faces mean embedding": 1500,
        "mnist anchor only": 0,
    }
    curves = {
        f"{name} epsilon 4 seed 0": {
            "load": 1.0,
            "points": [
                {"step": step, "seconds": 1.0, "processor_seconds": 1.0, "accuracy_cnn": 0.8, "sliced_wasserstein": 0.1}
            ],
        }
        for name, step in ended.items()
    }  # fmt: skip
    said = next(line for line in images({"curves": curves}) if "Not run" in line)
    assert said.startswith("3 trainings have all steps")
    assert (
        "at the last point of the tables' number: MNIST, critic only: 60 of 400. Not run: MNIST, anchor and critic;"
        in said
    )
    assert "Faces, critic only" not in said
    assert "Fashion-MNIST, anchor only" in said


def test_a_classifier_that_makes_no_images_is_not_held_against_their_bars():
    assert "| DP-SGD on real images | 1 | 1 | 96.70 % |" in page()
    assert page().count("DP-SGD on real images |") == 1


def test_the_paper_s_claims_are_kept_as_printed():
    claims = {epsilon: bars.paper for (name, epsilon), bars in ACCURACY.items() if name == "mnist"}
    assert claims == {1.0: 0.858, 2.0: 0.927, 4.0: 0.961, 8.0: 0.973, 10.0: None}


def test_rows_of_pictures_that_lost_brightness_are_named_until_they_are_scored_again():
    assert "and not since: anchor and critic at 4, anchor only at 10.\n" in page()
    again = {"0": run("anchor and critic", 4.0, 0, 0.9) | {"brightness": "kept"}}
    assert "and not since" not in "\n".join(images({"runs": again, "machine": {}}))


def test_a_critic_alone_at_another_budget_than_the_rule_s_says_which():
    cut = run("critic only", 4.0, 0, 0.78) | {"options": {"anchor": False, "steps": 400, "critic_steps": 1}}
    whole = run("critic only", 10.0, 0, 0.8) | {"options": {"anchor": False}}
    text = "\n".join(images({"runs": {"cut": cut, "whole": whole}, "machine": {}}))
    assert '"Critic only" at epsilon 4 seed 0 is not the rule\'s' in text
    assert "ordered with steps 400, critic_steps 1." in text
    assert '"Critic only" at epsilon 10' not in text


def test_a_rule_without_privacy_that_was_cut_says_so_too():
    name = "critic only, without privacy"
    cut = run(name, None, 0, 0.9) | {"options": {"steps": 2000, "expected_batch_size": 128}}
    whole = run(name, None, 1, 0.9) | {"options": {}}
    text = "\n".join(images({"runs": {"cut": cut, "whole": whole}, "machine": {}}))
    assert (
        '"Critic only, without privacy" at seed 0 is not the rule\'s '
        "but ordered with steps 2000, expected_batch_size 128.\n"
    ) in text


def test_images_without_labels_stand_beside_the_real_ones() -> None:
    scores = {"frechet": 9.0, "sliced_wasserstein": 0.02, "inception_score": 1.3, "separated": 0.99}
    made = {"dataset": "faces", "method": "anchor only", "epsilon": 4.0, "steps": 0, "processor_seconds": 7.2}
    lines = unlabelled({"runs": {"0": made | scores}, "real": {"faces": scores}, "machine": {}})
    assert "| faces | anchor only | 4 | 0 | 9 | 0.02 | 1.3 | 99.00 % | 7 |" in lines
    assert "| faces | real images |  |  | 9 | 0.02 | 1.3 | 99.00 % |  |" in lines
