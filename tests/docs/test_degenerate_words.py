"""The page that says when a generator is degenerate repeats the code's limits and what was measured."""

import json
from pathlib import Path

from benchmarks.results_file import RESULTS
from core.artifacts.sampling.generator_check import GeneratorCheck
from models import generator_check as check
from models.idpgan import variety

PAGE = (Path(__file__).parents[2] / "docs" / "idpgan.md").read_text()
LOOKS = json.loads((RESULTS / "degenerate.json").read_text())["looks"].values()
FOUND = (
    "draws", "distinct_records", "constant_columns", "repeated_labels", "few_records", "degenerate"
)  # fmt: skip


def row(look: dict[str, object]) -> str:
    found = GeneratorCheck.from_json({name: look[name] for name in FOUND})
    kinds = {
        "constant columns": found.constant_columns,
        "labels with one record": found.repeated_labels,
        "few records": found.few_records,
    }
    told = ", ".join(kind for kind, is_there in kinds.items() if is_there) or "nothing"
    different = f"{found.distinct_records:,} of {found.draws:,}"
    return f"| {look['records']} | {look['setting']} | {look['epsilon']:g} | {different} | {told} | {look['cpu_seconds']:.2f} |"


def test_the_table_is_what_was_measured() -> None:
    stated = {line for line in PAGE.splitlines() if " of 5,000 | " in line}
    assert stated == {row(look) for look in LOOKS}


def test_sound_and_collapsed_generators_are_distinguished() -> None:
    assert {look["degenerate"] for look in LOOKS} == {True, False}
    anchored = [look for look in LOOKS if look["setting"] == "anchor" and look["epsilon"] >= 0.3]
    assert len(anchored) > 5
    assert not any(look["degenerate"] for look in anchored)


def test_the_limits_are_the_code_s() -> None:
    assert (check.LOST, check.LEAST_SPREAD, check.CONSTANT, check.FEW) == (0.1, 0.02, 0.002, 0.02)
    assert (variety.SURE, variety.OPEN, variety.DRAWS) == (6.0, 0.1, 5000)
    limits = (
        "a tenth of the records", "six standard deviations", "2 % or more", "fewer than 0.2 %", "is 0.1 or more",
        "fewer than 2 %", "below 2 shades of 255 at 16 x 16 pixels", "5,000 rows or images",
    )  # fmt: skip
    assert not [limit for limit in limits if limit not in PAGE]
