"""Every leaf of a certificate and every file of a bundle, changed in every way: refused, with the reason."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.core.artifacts.certified import SIGNER, certified
from tests.understudy.verifying.tampering import (
    SEAL,
    Bench,
    Place,
    added,
    leaves,
    other_of_a_kind,
    other_values,
    removed,
    replaced,
    resigned,
)
from understudy.errors import NotABundle
from understudy.verifying.planned import canonical_digest
from understudy.verifying.verification import Outcome, Report, verify_bundle, verify_opened

ATTESTED = {
    ("release_id",), ("job_id",), ("dataset_id",), ("population_id",), ("issued_at",),
    ("ledger", "reserved", "sequence"), ("ledger", "reserved", "hash"),
    ("software", "version"), ("software", "source_sha256"), ("software", "python"),
    ("software", "distributions", 0, "name"), ("software", "distributions", 0, "version"),
    ("software", "distributions", 0, "files_sha256"),
}  # fmt: skip
"""What only the signature vouches for: facts that nobody outside the service can compute. The spend's link is told in
two places, so that it cannot be changed in one."""
FREE_OPTIONS = {
    "schedule_decay", "schedule_period", "schedule_end", "schedule_blocks", "acts_interval", "acts_smoothing",
    "acts_noise_multiplier", "acts_lowest_edge", "acts_edge_ratio", "acts_bins", "weight_clusters", "cluster_radius",
    "cluster_min_blocks", "grouping", "row_blocks", "gp_weight", "critic_width", "critic_layers", "critic_steps",
    "critic_learning_rate", "generator_width", "generator_blocks", "latent_dimension", "generator_learning_rate",
    "generator_batch_size", "pretraining_steps", "anchor_weight", "anchor_diagonal_weight", "ema_decay",
    "anchor_screening_share", "clipping_norm", "anchor_share", "critic_asks",
}  # fmt: skip
"""Options without a part in the accounting of some plan, or in any: a change of the plan's digest tells of them."""


def check(bench: Bench, certificate: dict[str, Any]) -> Report | NotABundle:
    try:
        return verify_opened(bench.saying(certificate), public_keys=[SIGNER.public_key])
    except NotABundle as refused:
        return refused


def is_refused(found: Report | NotABundle) -> bool:
    return isinstance(found, NotABundle) or found.outcome is Outcome.REFUSED


def body_leaves(bench: Bench) -> list[tuple[Place, Any]]:
    return [(place, value) for place, value in leaves(bench.certificate) if place[0] not in SEAL]


def test_the_untouched_bundle_is_verified(bench: Bench) -> None:
    for certificate in (bench.certificate, resigned(bench.certificate)):
        found = verify_bundle(bench.with_certificate(certificate), public_keys=[SIGNER.public_key])
        assert found.outcome is Outcome.VERIFIED, found.refusals
        assert all(check.holds for check in found.checks)
        assert found == check(bench, certificate)


def test_every_leaf_of_the_signed_certificate_is_covered_by_the_signature(bench: Bench) -> None:
    """No change of any leaf passes; and the signature itself refuses each that keeps the form."""
    by_signature = set()
    for place, value in leaves(bench.certificate):
        for other in [other_of_a_kind(value)[0], None if value is not None else 1]:
            found = check(bench, replaced(bench.certificate, place, other))
            if isinstance(found, NotABundle):
                continue
            names = {check.name: check.holds for check in found.checks}
            if place == ("key_id",) and names["form"]:
                assert found.outcome is Outcome.SIGNER_UNKNOWN
                continue
            assert found.outcome is Outcome.REFUSED, (place, other)
            assert names["form"] is False or names["signature"] is False, (place, other)
            if names["form"]:
                by_signature.add(place)
    assert by_signature >= ATTESTED


def test_a_member_taken_away_or_added_anywhere_is_refused_even_if_signed_again(bench: Bench) -> None:
    changes: tuple[Callable[[dict[str, Any], Place], dict[str, Any]], ...] = (removed, added)
    for place, _value in body_leaves(bench):
        for change in changes:
            changed = change(bench.certificate, place)
            assert is_refused(check(bench, resigned(changed))), (place, change.__name__)


def test_every_leaf_that_can_be_computed_is_refused_although_the_holder_of_the_key_signed_it(
    bench: Bench,
) -> None:
    """What passes is exactly what `ATTESTED` lists."""
    passed = set()
    for place, value in body_leaves(bench):
        others = other_of_a_kind(value)
        for other in others if bench.quick else [*other_values(value), *others]:
            if not is_refused(check(bench, resigned(replaced(bench.certificate, place, other)))):
                passed.add(place)
    assert passed == ATTESTED


def test_numbers_of_the_plan_are_refused_although_everything_else_is_made_to_fit(bench: Bench) -> None:
    """A forger with the key who also keeps the plan's digest and the certificate's copies of its members in step."""
    copies = {
        "guarantee": "privacy_parameters",
        "epsilons": "epsilon",
        "declared_size": "declared_size",
        "mechanism": "mechanism",
    }
    passed = set()
    for place, value in leaves(bench.certificate["plan"]):
        for other in other_of_a_kind(value):
            changed = replaced(bench.certificate, ("plan", *place), other)
            if place[0] in copies:
                changed[copies[str(place[0])]] = changed["plan"][place[0]]
            changed["plan_digest"] = canonical_digest(changed["plan"])
            if not is_refused(check(bench, resigned(changed))):
                passed.add(place)
    assert {place[0] for place in passed} <= {"options"}, passed
    assert {place[1] for place in passed} <= FREE_OPTIONS


def test_ordered_noise_is_verified_and_belongs_to_its_sentence(tmp_path: Path) -> None:
    ordered = {"profile": "idpgan", "first_noise_multiplier": 9.0, "steps": 30, "adam_beta1": 0.0}
    bench = Bench(certified(ordered), tmp_path)
    others = certified({}).certificate["justification"]
    assert check(bench, bench.certificate).outcome is Outcome.VERIFIED  # type: ignore[union-attr]
    for place, other in ((("justification",), others), (("plan", "options", "first_noise_multiplier"), 8.0)):
        changed = replaced(bench.certificate, place, other)
        changed["plan_digest"] = canonical_digest(changed["plan"])
        assert is_refused(check(bench, resigned(changed))), place


def refusal(path: Path) -> str:
    """Why a bundle file is refused."""
    try:
        report = verify_bundle(path, public_keys=[SIGNER.public_key])
    except NotABundle as refused:
        return str(refused)
    assert report.outcome is Outcome.REFUSED
    return " ".join(check.detail for check in report.refusals)


@pytest.mark.parametrize("name", sorted(certified().certificate["artefacts"]))
def test_a_changed_file_is_refused_and_named(bench: Bench, name: str) -> None:
    content = bench.content(name) if name in bench.names else b"not of this bundle"
    for changed in (content + b" ", content[:-1], b"", content[::-1]):
        assert name in refusal(bench.with_files({name: changed}))


def test_files_of_another_bundle_do_not_fit(bench: Bench) -> None:
    other = certified({"critic": False}, unit="patient").certificate
    found = check(bench, other)
    assert isinstance(found, Report)
    assert {check.name for check in found.refusals} >= {"files", "domain"}
