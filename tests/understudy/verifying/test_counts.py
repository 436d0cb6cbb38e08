"""The verifier's look at noisy counts: shape, noise and step follow from the certificate; nothing else passes."""

import json
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.artifacts.bundle import artefacts_of
from core.artifacts.certificate import sign_certificate
from core.plan.plan import Plan
from core.plan.stages import AnchorPlan
from tests.core.artifacts.certified import (
    SIGNER,
    Certified,
    certified,
    certified_plan,
    counts_for,
    plan_for,
)
from tests.core.artifacts.certified_selection import packed, selection_statement
from tests.fuzz.seeds import CORPUS
from tests.understudy.verifying.tampering import SEAL, Bench, files_in, replaced, resigned, written, zipped
from understudy.verifying.verification import Outcome, Report, verify_bundle

ONLY_COUNTS = {"critic": False}
MADE = certified(ONLY_COUNTS, epsilon=0.02)
"""The noise is so large that codes are merged."""
FILES = files_in(MADE.packed)
LINE, _newline, BODY = FILES["counts.bin"].partition(b"\n")
HEAD: dict[str, Any] = json.loads(LINE)
EARLIER_COUNTS = (CORPUS / "counts" / "earlier-by-class").read_bytes()
"""Written before there were groups, with the noise of `earlier_plan`."""


def earlier_plan() -> Plan:
    """A plan of before there were two rounds."""
    plan = plan_for(ONLY_COUNTS | {"anchor_diagonal_weight": 1.5})
    assert isinstance(plan.anchor, AnchorPlan)
    return replace(plan, anchor=replace(plan.anchor, column_sensitivity=0.0, table_sensitivity=0.0))


def spelled(head: dict[str, Any], body: bytes = BODY) -> bytes:
    return json.dumps(head, sort_keys=True, separators=(",", ":")).encode() + b"\n" + body


def signed_with(folder: Path, counts: bytes, *, made: Certified = MADE) -> Report:
    """What verifying says of the bundle with other counts, signed by somebody who holds the service's key."""
    files = files_in(made.packed) | {"counts.bin": counts}
    stated = {name: value for name, value in made.certificate.items() if name not in SEAL}
    del files["certificate.json"]
    stated["artefacts"] = artefacts_of(files)
    signed = sign_certificate(stated, SIGNER).to_json()
    path = folder / "bundle.zip"
    path.write_bytes(zipped(files | {"certificate.json": written(signed)}))
    return verify_bundle(path, public_keys=[SIGNER.public_key])


def refusal(report: Report) -> str:
    assert report.outcome is Outcome.REFUSED
    (check,) = report.refusals
    assert check.name == "counts"
    return check.detail


NEARLY_ALL_NOISE = certified(ONLY_COUNTS, epsilon=0.0001)


@pytest.mark.parametrize(
    ("made", "tables"),
    [(MADE, 10), (certified(ONLY_COUNTS), 10), (certified(), 10), (NEARLY_ALL_NOISE, 10)],
    ids=["in groups", "of codes", "with a critic", "nearly all noise"],
)
def test_honest_counts_hold(tmp_path: Path, made: Certified, tables: int) -> None:
    counts = files_in(made.packed)["counts.bin"]
    report = signed_with(tmp_path, counts, made=made)
    assert report.outcome is Outcome.VERIFIED
    assert "counts" in {check.name for check in report.checks}
    head = json.loads(counts.partition(b"\n")[0])
    listed = [columns for group in head["groups"] for columns in group["tables"]]
    assert len(listed) == tables
    assert ([0, 1, 2] in listed) == (made.plan.guarantee.epsilon == 1.0), "by class of the target, or not"
    assert (head["merged"] == [None] * 4) == (made.plan.guarantee.epsilon == 1.0)


def test_counts_of_before_there_were_groups_hold_for_plans_of_before(tmp_path: Path) -> None:
    made = certified_plan(earlier_plan(), EARLIER_COUNTS)
    assert [row["name"] for row in made.certificate["mechanisms"]] == ["anchor"]
    report = signed_with(tmp_path, EARLIER_COUNTS, made=made)
    assert report.outcome is Outcome.VERIFIED, report.refusals
    assert "counts" in {check.name for check in report.checks}
    fewer = EARLIER_COUNTS.replace(b"9.07606", b"8.07606")
    assert "not that of the certified noise" in refusal(signed_with(tmp_path, fewer, made=made))


def test_counts_of_another_version_than_the_plan_are_refused(tmp_path: Path) -> None:
    ordinary, earlier = certified(ONLY_COUNTS), certified_plan(earlier_plan(), EARLIER_COUNTS)
    of_now = files_in(ordinary.packed)["counts.bin"]
    for made, counts in ((ordinary, EARLIER_COUNTS), (earlier, of_now)):
        assert "another version than the plan" in refusal(signed_with(tmp_path, counts, made=made))


def combining_plan() -> Plan:
    """A plan that counts all combinations of codes instead of pairs."""
    plan = plan_for(ONLY_COUNTS)
    assert isinstance(plan.anchor, AnchorPlan)
    return replace(plan, anchor=replace(plan.anchor, combinations=True))


def test_counts_of_all_combinations_hold_and_pairs_are_not_taken_for_them(tmp_path: Path) -> None:
    plan = combining_plan()
    counts = counts_for(plan)
    assert counts is not None
    made = certified_plan(plan, counts)
    report = signed_with(tmp_path, counts, made=made)
    assert report.outcome is Outcome.VERIFIED, report.refusals
    head = json.loads(counts.partition(b"\n")[0])
    assert [table for group in head["groups"] for table in group["tables"]][4:] == [[0, 1, 2, 3]]
    of_pairs = certified(ONLY_COUNTS)
    other = files_in(of_pairs.packed)["counts.bin"]
    assert "every pair of columns once" in refusal(signed_with(tmp_path, other, made=made))
    assert "every pair of columns once" in refusal(signed_with(tmp_path, counts, made=of_pairs))
    *rest, last = head["groups"]
    finer = head | {"groups": [*rest, last | {"noise_std": last["noise_std"] * 0.5}]}
    lying = spelled(finer, counts.partition(b"\n")[2])
    assert "not that of the certified noise" in refusal(signed_with(tmp_path, lying, made=made))


def test_a_plan_that_screens_pairs_and_counts_combinations_is_refused(tmp_path: Path) -> None:
    screening = plan_for(ONLY_COUNTS | {"anchor_screening_share": 0.2})
    assert isinstance(screening.anchor, AnchorPlan)
    both = replace(screening, anchor=replace(screening.anchor, combinations=True))
    counts = counts_for(combining_plan())
    assert counts is not None
    report = signed_with(tmp_path, counts, made=certified_plan(both, counts))
    assert report.outcome is Outcome.REFUSED
    assert "plan/anchor/combinations" in str(report.refusals)


def test_the_winner_of_a_selection_is_held_to_its_own_noise(tmp_path: Path) -> None:
    path = tmp_path / "bundle.zip"
    path.write_bytes(packed(selection_statement(winner=0)))
    report = verify_bundle(path, public_keys=[SIGNER.public_key])
    assert report.outcome is Outcome.VERIFIED
    assert "counts" in {check.name for check in report.checks}


def changed(change: dict[str, Any]) -> bytes:
    return spelled(HEAD | change)


def without(member: str) -> dict[str, Any]:
    return {name: value for name, value in HEAD.items() if name != member}


def merging(groups: Any) -> list[Any]:
    """Other groups of the last column, whose ten codes are merged into three."""
    return [*HEAD["merged"][:3], groups]


def with_std(factor: float) -> list[dict[str, Any]]:
    first, *rest = HEAD["groups"]
    return [first | {"noise_std": first["noise_std"] * factor}, *rest]


def without_a_table() -> list[dict[str, Any]]:
    *rest, last = HEAD["groups"]
    return [*rest, last | {"tables": last["tables"][1:]}]


@pytest.mark.parametrize(
    ("counts", "why"),
    [
        (changed({"groups": with_std(0.5)}), "not that of the certified noise"),
        (changed({"groups": with_std(1.000001)}), "not that of the certified noise"),
        (changed({"groups": without_a_table()}), "every pair of columns once"),
        (changed({"groups": "none"}), "every pair of columns once"),
        (changed({"groups": [{"noise_std": 1, "tables": [[0]]}]}), "every pair of columns once"),
        (changed({"step": HEAD["step"] * 2}), "the step does not follow"),
        (changed({"cardinalities": [9, 9]}), "of other columns"),
        (changed({"schema": "understudy.counts/1"}), "does not begin with a line"),
        (changed({"schema": "understudy.counts/3"}), "does not begin with a line"),
        (spelled(without("merged")), "does not begin with a line"),
        (spelled(without("merged") | {"schema": "understudy.counts/1"}), "another version than the plan"),
        (changed({"merged": merging([0, 1, 2, 3, 3, 3, 3, 3, 3, 3])}), "not that of the certified noise"),
        (changed({"merged": merging([0, 1, 1, 1, 1, 1, 1, 1, 1, 1])}), "not that of the certified noise"),
        (changed({"merged": [None] * 4}), "not that of the certified noise"),
        (changed({"merged": [None, None, [0, 0], HEAD["merged"][3]]}), "merges classes of the target"),
        (changed({"merged": merging([0, 1, 3, 3, 3, 3, 3, 3, 3, 3])}), "which codes were merged"),
        (changed({"merged": merging([1, 2, 3, 3, 3, 3, 3, 3, 3, 3])}), "which codes were merged"),
        (changed({"merged": merging([-1, 0, 1, 1, 1, 1, 1, 1, 1, 1])}), "which codes were merged"),
        (changed({"merged": merging([0, 1, 2, 2, 2, 2, 2, 2, 2])}), "which codes were merged"),
        (changed({"merged": merging([0, 1, 2.0, 2, 2, 2, 2, 2, 2, 2])}), "which codes were merged"),
        (changed({"merged": merging([0, True, 2, 2, 2, 2, 2, 2, 2, 2])}), "which codes were merged"),
        (changed({"merged": merging(list(range(10)))}), "which codes were merged"),
        (changed({"merged": merging([])}), "which codes were merged"),
        (changed({"merged": merging("0122222222")}), "which codes were merged"),
        (changed({"merged": HEAD["merged"][:3]}), "which codes were merged"),
        (changed({"merged": None}), "which codes were merged"),
        (changed({"more": 1}), "does not begin with a line"),
        (spelled(HEAD, BODY[:-4]), "not as many cells"),
        (spelled(HEAD, BODY + b"\0"), "not as many cells"),
        (json.dumps(HEAD).encode() + b"\n" + BODY, "not written as the service writes it"),
        (LINE.replace(b'"step":', b'"step":NaN,"x":') + b"\n" + BODY, "does not begin with a line"),
        (b"", "does not begin with a line"),
        (b"\xff" * 100, "does not begin with a line"),
    ],
)
def test_counts_of_another_shape_or_noise_are_refused(tmp_path: Path, counts: bytes, why: str) -> None:
    assert why in refusal(signed_with(tmp_path, counts))


def test_counts_of_a_plan_that_counted_nothing_are_refused(tmp_path: Path) -> None:
    made = certified({"anchor": False, "steps": 20})
    assert "counted nothing" in refusal(signed_with(tmp_path, FILES["counts.bin"], made=made))


def test_a_large_number_takes_no_room_before_it_is_refused(tmp_path: Path) -> None:
    counts = changed({"merged": merging([0, 1, 2, 2, 2, 2, 2, 2, 2, 10**6])})
    tracemalloc.start()
    why = refusal(signed_with(tmp_path, counts))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "which codes were merged" in why
    assert peak < 2**25


def test_other_cells_are_found_by_their_digest(tmp_path: Path) -> None:
    path = tmp_path / "bundle.zip"
    path.write_bytes(zipped(FILES | {"counts.bin": spelled(HEAD, bytes(4) + BODY[4:])}))
    report = verify_bundle(path, public_keys=[SIGNER.public_key])
    assert [check.name for check in report.refusals] == ["files"]


@pytest.mark.parametrize("lacking", ["column_sensitivity", "table_sensitivity"])
def test_a_plan_with_the_sensitivity_of_one_round_alone_is_refused(tmp_path: Path, lacking: str) -> None:
    stated = replaced(MADE.certificate, ("plan", "anchor", lacking), 0.0)
    path = Bench(MADE, tmp_path).with_certificate(resigned(stated))
    report = verify_bundle(path, public_keys=[SIGNER.public_key])
    assert report.outcome is Outcome.REFUSED
    (plan,) = (check for check in report.refusals if check.name == "plan")
    assert "plan/anchor/table_sensitivity" in plan.detail


def signed_as_wide(folder: Path, groups: object) -> Report:
    """What verifying says of the bundle if its manifest says that the network gives logits of groups, signed by the service's key."""
    manifest = json.loads(FILES["manifest.json"]) | {"schema": "understudy.wide-bundle/1", "groups": groups}
    files = FILES | {"manifest.json": written(manifest)}
    del files["certificate.json"]
    stated = {name: value for name, value in MADE.certificate.items() if name not in SEAL}
    stated["artefacts"] = artefacts_of(files)
    path = folder / "bundle.zip"
    path.write_bytes(
        zipped(files | {"certificate.json": written(sign_certificate(stated, SIGNER).to_json())})
    )
    return verify_bundle(path, public_keys=[SIGNER.public_key])


def test_logits_are_of_the_groups_that_were_counted(tmp_path: Path) -> None:
    groups = [
        codes if merged is None else max(merged) + 1
        for merged, codes in zip(HEAD["merged"], HEAD["cardinalities"], strict=True)
    ]
    assert groups != HEAD["cardinalities"]
    assert signed_as_wide(tmp_path, groups).outcome is Outcome.VERIFIED
    assert "other groups" in refusal(signed_as_wide(tmp_path, HEAD["cardinalities"]))


@pytest.mark.parametrize(
    "change", ["more than codes", "none of a column", "of fewer columns", "no list", "of the target"]
)
def test_groups_that_no_network_can_have_are_refused(tmp_path: Path, change: str) -> None:
    cells: list[int] = HEAD["cardinalities"]
    target = json.loads(FILES["manifest.json"])["label_index"]
    groups = {
        "more than codes": [cells[0] + 1, *cells[1:]],
        "none of a column": [0, *cells[1:]],
        "of fewer columns": cells[1:],
        "no list": len(cells),
        "of the target": [codes - (place == target) for place, codes in enumerate(cells)],
    }[change]
    report = signed_as_wide(tmp_path, groups)
    assert {check.name for check in report.refusals} == {"manifest"}
