"""The page of audits says what the committed results say."""

from tests.audits.page import PAGE, PLOTS, page, plots, results


def test_the_page_is_what_the_results_give():
    found = results("white_box"), results("one_run"), results("attacks")
    assert PAGE.read_text() == page(*found), "run `python -m tests.audits.page` and commit the result"
    assert {f"{name}.svg" for name in plots(*found)} == {path.name for path in PLOTS.iterdir()}


FEWEST_GAMES = 25
"""A twin that was given fewer in each world need not have been caught; CI catches each of them too."""


def test_no_sound_job_exceeded_its_claim_and_every_twin_did():
    measured = results("white_box")
    for kind, above in (("sound", False), ("twins", True)):
        for name, entry in measured[kind].items():
            bound, claim = (
                ("mu_lower", "claimed_mu") if "mu" in entry else ("epsilon_by_threshold", "claimed_epsilon")
            )
            exceeded = entry[bound] > entry[claim]
            assert exceeded == above or (above and entry["games"] < FEWEST_GAMES), name
    for name, entry in results("one_run").get("jobs", {}).items():
        if not entry["twin"]:
            assert entry["bounds"]["0.999"]["epsilon_lower"] <= entry["claimed_epsilon"], name


def test_the_attack_finds_the_raw_copy_and_nothing_in_strangers():
    outputs = results("attacks")["outputs"]
    assert outputs["raw copy"]["area"]["lower"] > 0.99
    strangers = outputs["independent columns of strangers"]["area"]
    assert strangers["lower"] < 0.53
    assert strangers["upper"] > 0.47
