"""The page docs/audits.md and its plots, from benchmarks/results/audits/*.json and nothing else."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from matplotlib.figure import Figure

from docs.tables import machine, table
from tests.audits import pictures
from tests.audits.results import FOLDER

Result = Mapping[str, Any]

INTRODUCTION = """\
# Audits: what attackers measure

Epsilon is proven on paper and by the other tests; an audit attacks the running code and measures how much it really gives
away. It can refute a claim and it can show that the proof is tight, but an attack that fails proves nothing, so every
instrument here is first shown to find something. `make audit` measures again; an interrupted audit
goes on where it was. Quick versions run with the tests (`tests/audits/`). Keys of audits derive from names, so they can
be repeated. Every result holds its own date and commit (a plus means that product files differed from it).
"""


def results(name: str) -> Result:
    """One file of results, or nothing yet."""
    path = FOLDER / f"{name}.json"
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return found


def page(white_box: Result, one_run: Result, attacks: Result) -> str:
    """The whole page."""
    return "\n".join(
        [
            INTRODUCTION,
            *(_white_box(white_box) if white_box else []),
            *(_one_run(one_run) if one_run else []),
            *(_attacks(attacks) if attacks else []),
        ]
    )


def _white_box(result: Result) -> list[str]:
    rows, thresholds = [], []
    for kind, label in (("sound", ""), ("twins", "twin: ")):
        for name, entry in result.get(kind, {}).items():
            if "mu" in entry:
                rows.append(
                    [
                        label + name, str(2 * entry["games"]), str(entry["steps"]), f"{entry['claimed_mu']:.3f}",
                        f"{entry['mu']:.3f} ({entry['mu_lower']:.3f} to {entry['mu_upper']:.3f})",
                        f"{entry['mu_by_threshold']:.3f}", f"{entry['mu'] / entry['claimed_mu']:.1%}", _mu_verdict(entry, twin=kind == "twins"),
                    ]
                )  # fmt: skip
            else:
                share = entry["epsilon_by_threshold"] / entry["claimed_epsilon"]
                thresholds.append(
                    [
                        label + name, str(2 * entry["games"]), f"{entry['sampling_rate']:g}", f"{entry['delta']:g}",
                        f"{entry['claimed_epsilon']:.3f}", f"{entry['epsilon_by_threshold']:.3f}", f"{share:.0%}",
                        f"{entry['epsilon_by_threshold_1e-6']:.2f} of {entry['claimed_epsilon_1e-6']:.2f}",
                        "exceeded: caught" if share > 1.0 else "within the claim" if share else "nothing shown by so few games",
                    ]
                )  # fmt: skip
    return [
        "## A canary in the real training loop\n",
        (
            "A small real job runs with or without one unlike record, each time with an independent key; the seam of the "
            "releases is only read. The adversary knows the other records, the code and all randomness but the noise and the canary's "
            "coin. From the releases it follows the critic's weights, works out what the canary would add to every release, and takes "
            "the likelihood ratio. The canary is chosen so that its gradient is clipped. *flat* is plain clipping; *thresholds* has "
            "falling noise, groups of rows, noisy histograms on the same sample and clusters; *whole* is anchor and critic; *resumed* is "
            "killed again and again in its last step, and resumed.\n"
        ),
        (
            "Without sampling the score is Gaussian with one standard deviation in both worlds, so the bounds on mu (99.9 % each) are the "
            "exact ones of the noncentral t distribution. Beside them stands the least mu by one threshold fixed beforehand and Clopper-Pearson "
            "bounds of its two error rates (99.9 % together), which assumes nothing about the distribution. Over the choice of keys a sound job "
            "exceeds its claim at these bounds in one audit of a thousand; the tests in CI use bounds of one in a million. The bar is 90 % of "
            "the claim: it is proven where the verdict says at least 90 %; elsewhere it takes more games to prove it.\n"
        ),
        *table(
            ["job", "games", "steps", "claimed mu", "measured (99.9 %)", "by threshold, at least", "share", "verdict"], rows
        ),
        "",
        "![Measured over claimed mu](audits/white_box.svg)\n",
        (
            "Discrete noise and sampling make the score no Gaussian; there one threshold of the likelihood ratio bounds epsilon from below "
            "(Clopper-Pearson, 99.9 %), at a delta where a few thousand games can see something, and at 1e-6, where they cannot see much.\n"
        ),
        *table(
            ["job", "games", "sampling rate", "delta", "claimed epsilon", "at least", "share", "at delta 1e-6", "verdict"],
            thresholds,
        ),
        "",
        "![Trade-off curves](audits/curves.svg)\n",
        "Points of the curves are estimates without intervals, each resting on five false alarms or more.\n",
        machine(result),
    ]  # fmt: skip


def _mu_verdict(entry: Result, *, twin: bool) -> str:
    lower, claim = entry["mu_lower"], entry["claimed_mu"]
    if lower > claim:
        return "exceeded: caught"
    if twin:
        return "not caught by so few games"
    shown = f"at least {lower / claim:.0%} of the claim" if lower > 0 else "nothing shown"
    return f"within the claim, {shown}"


def _one_run(result: Result) -> list[str]:
    rows = []
    for name, entry in result["jobs"].items():
        bound, strict = entry["bounds"]["0.95"], entry["bounds"]["0.999"]
        best = max(bound["guesses"], key=lambda each: each["epsilon"])
        over = bound["epsilon_lower"] > entry["claimed_epsilon"]
        rows.append(
            [
                name, f"{entry['records']:,}", str(entry["steps"]), f"{entry['claimed_epsilon']:.3f}",
                f"{bound['epsilon_lower']:.3f}", f"{strict['epsilon_lower']:.3f}", f"{best['right']} of {best['guesses']}",
                f"{bound['ceiling']:.2f}", "exceeded: caught" if over else "within the claim",
            ]
        )  # fmt: skip
    first = next(iter(result["jobs"].values()))
    return [
        "## One run, a thousand canaries\n",
        (
            f"The audit of Steinke, Nasr and Jagielski (2023) on full-size jobs ({first['table']}, {first['canaries']:,} canaries, delta "
            f"{first['delta']:g}): every canary, a record drawn uniformly from the domain, is in the table by its own coin, and the adversary "
            "guesses the coins from the anchor's release and the gradients, knowing everything else. Of the surest tenth, the surest three "
            "tenths and all canaries the best bound counts, paid for by Bonferroni. The ceiling is what perfect guesses would prove: "
            "a claim above it cannot be refuted by this instrument. Steps and pre-training are shortened, which changes no claim; "
            "gradients are read at some of the steps, which can only weaken the attack.\n"
        ),
        *table(
            ["job", "records", "steps", "claimed epsilon", "at least (95 %)", "at least (99.9 %)", "right guesses", "ceiling (95 %)", "verdict"],
            rows,
        ),
        "",
        "![Bounds of the one-run audit](audits/one_run.svg)\n",
        machine(result),
    ]  # fmt: skip


def _attacks(result: Result) -> list[str]:
    rows = []
    for name, entry in result["outputs"].items():
        area, found, both = entry["area"], entry["found"], entry["inference"]
        lead = both["advantage"]
        allowed = (
            f"{entry['area_allowed']:.3f}; {entry['found_allowed']:.3f}" if "area_allowed" in entry else ""
        )
        rows.append(
            [
                name, str(entry["models"]), f"{area['estimate']:.3f} ({area['lower']:.3f} to {area['upper']:.3f})",
                f"{found['estimate']:.3f} ({found['lower']:.3f} to {found['upper']:.3f})", allowed,
                f"{both['members']:.3f} against {both['others']:.3f}",
                f"{lead['estimate']:+.4f} ({lead['lower']:+.4f} to {lead['upper']:+.4f})",
            ]
        )  # fmt: skip
    first = next(iter(result["outputs"].values()))
    return [
        "## Attacks on what is published\n",
        (
            f"Evidence, never a guarantee. Shadow models learn from random halves of a pool of {first['pool']} records of Adult (seven columns). "
            f"Membership: the likelihood-ratio attack of Carlini et al. (2022) on the {first['targets']} records that stand out most, by the "
            "density that the published generator gives them; area under the ROC curve, and the share found where 1 % of the absent are "
            "accused. Attribute inference: the likeliest occupation given all other columns, for all records; only the members' lead over "
            "non-members is due to being in the table. 95 % intervals resample models. A raw copy is the positive control, columns drawn "
            "independently from strangers the negative one; columns drawn independently from the table itself, without noise, still "
            "betray rare values. *No privacy* is a twin with next to no noise.\n"
        ),
        *table(
            ["output", "models", "membership area", "found at 1 %", "the claim allows (area; found)", "guessed, members against others", "members' lead"],
            rows,
        ),
        "",
        "![Attacks on outputs](audits/attacks.svg)\n",
        machine(result),
    ]  # fmt: skip


def audits_page() -> str:
    """Return the page of the results in the repository."""
    return page(results("white_box"), results("one_run"), results("attacks"))


def audit_plots() -> Mapping[str, str]:
    """Return every plot that has results, as SVG, by the name of its file."""
    made: Mapping[str, tuple[str, Callable[[Result], Figure]]] = {
        "white_box": ("white_box", pictures.white_box),
        "curves": ("white_box", pictures.curves),
        "one_run": ("one_run", pictures.one_run),
        "attacks": ("attacks", pictures.attacks),
    }
    return {
        f"{name}.svg": pictures.svg(draw(result))
        for name, (of, draw) in made.items()
        if (result := results(of))
    }
