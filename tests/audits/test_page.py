"""What the audits measured, as the repository has it."""

from tests.audits.page import audit_plots, audits_page, results


def test_the_page_shows_every_plot():
    plots = audit_plots()
    assert plots
    assert all(f"(audits/{name})" in audits_page() for name in plots)


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
