"""Verify a bundle: every check by name, in order, and its result."""

import json
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Final

from understudy.errors import VerificationFailed
from understudy.plain_text import one_line
from understudy.verifying import (
    accounting,
    contents,
    counts,
    federations,
    form,
    learning,
    local_form,
    owners,
    planned,
    private_models,
    records,
    renyi,
    reused,
    selections,
    signatures,
)
from understudy.verifying.bundle_file import Opened, open_bundle
from understudy.verifying.executed import executed_problems

SCHEMA: Final = "understudy.certificate/2"
JOINT_SCHEMA: Final = "understudy.federated-certificate/1"
MEMBER_SCHEMA: Final = "understudy.member-certificate/1"
_KINDS: Final = {JOINT_SCHEMA: "federated", MEMBER_SCHEMA: "member", local_form.SCHEMA: "local"}
"""Kinds of certificates of generators, by schema: over several owners' datasets, of one member of a federation, made without a service."""
_KINDS_OF_MODELS: Final = {
    private_models.SCHEMA: "model",
    private_models.FEDERATED_SCHEMA: "federated-model",
    private_models.AVERAGED_SCHEMA: "averaged-model",
    private_models.MEMBER_SCHEMA: "member-model",
    private_models.LOCAL_SCHEMA: "local-model",
}
"""Kinds of certificates of private models, by schema."""
_Sign = Callable[[Mapping[str, Any]], "Check"]
"""Checks the signature of a certificate."""


class Outcome(IntEnum):
    """Outcome of a verification, and exit status of ``understudy verify``."""

    VERIFIED = 0
    """Every check holds, and a key that the reader trusts signed the certificate."""
    REFUSED = 3
    """Some check fails."""
    SIGNER_UNKNOWN = 4
    """Every computable check holds, but no key that the reader trusts signed the certificate."""


_WORDS: Final = {True: "holds", False: "REFUSED", None: "open"}
_VERDICTS: Final = {
    Outcome.VERIFIED: "VERIFIED: the bundle is what its certificate states.",
    Outcome.REFUSED: "REFUSED: do not rely on this bundle.",
    Outcome.SIGNER_UNKNOWN: (
        "NOT VERIFIED: what can be computed holds, but no key that you trust has signed it. Take the service's keys from "
        "the service itself, never from whoever handed you the bundle."
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check.

    Attributes:
        name: name of the check; stable.
        holds: whether it holds; None if undecided.
    """

    name: str
    holds: bool | None
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Result of a verification.

    Attributes:
        outcome: result of all checks together.
        certificate: the certificate of the bundle.
    """

    outcome: Outcome
    checks: tuple[Check, ...]
    certificate: Mapping[str, Any]

    def lines(self) -> list[str]:
        """The report as lines. Text from the bundle cannot start a line of its own."""
        stated = self.certificate
        who = [
            f"{name.replace('_', ' ')}: {stated.get(name)}"
            for name in ("release_id", "dataset_id", "issued_at")
        ]
        made = [f"{_WORDS[check.holds]:>8}  {check.name:<11} {check.detail}" for check in self.checks]
        return [*map(one_line, (*who, *made)), _VERDICTS[self.outcome]]

    @property
    def refusals(self) -> tuple[Check, ...]:
        """The failed checks."""
        return tuple(check for check in self.checks if check.holds is False)


def verify_bundle(path: Path, *, public_keys: Iterable[bytes] = (), allow_unsigned: bool = False) -> Report:
    """Verify a bundle file offline; numpy, scipy and cryptography (the extra `audit`) must be installed.

    Args:
        public_keys: 32-byte keys that the reader trusts, from another source.
        allow_unsigned: accept an unsigned local certificate if every computable check holds.

    Raises:
        NotABundle: the file is no bundle.
    """
    return verify_opened(open_bundle(path), public_keys=public_keys, allow_unsigned=allow_unsigned)


def verify_opened(
    opened: Opened, *, public_keys: Iterable[bytes] = (), allow_unsigned: bool = False
) -> Report:
    """Verify an opened bundle; see `verify_bundle`."""
    schema, keys = str(opened.certificate.get("schema")), list(public_keys)

    def signature(certificate: Mapping[str, Any]) -> Check:
        if schema in {local_form.SCHEMA, private_models.LOCAL_SCHEMA}:
            return _unsigned(allow=allow_unsigned)
        return _signature(certificate, keys)

    if schema == selections.SCHEMA:
        checks = [*_selection_checks(opened, signature)]
    elif schema in _KINDS_OF_MODELS:
        checks = [*_model_checks(opened, kind=_KINDS_OF_MODELS[schema], signature=signature)]
    else:
        checks = [*_checks(opened, kind=_KINDS.get(schema, "certificate"), signature=signature)]
    return Report(outcome=outcome_of(checks), checks=tuple(checks), certificate=opened.certificate)


def keep_if_verified(waiting: Path, target: Path, *, public_keys: Collection[bytes]) -> None:
    """Move a downloaded bundle to its target if every check holds, and delete it otherwise; an existing target then stays.

    Raises:
        VerificationFailed: a check fails, or none of the keys signed the certificate.
        NotABundle: the file is no bundle.
    """
    try:
        report = verify_bundle(waiting, public_keys=public_keys)
        if report.outcome is not Outcome.VERIFIED:
            lacking = "; ".join(check.detail for check in report.checks if not check.holds)
            message = f"the bundle is not verified: {one_line(lacking)}"
            raise VerificationFailed(message)
        waiting.replace(target)
    finally:
        waiting.unlink(missing_ok=True)


def outcome_of(checks: list[Check]) -> Outcome:
    """The outcome of all checks together."""
    if any(check.holds is False for check in checks):
        return Outcome.REFUSED
    return Outcome.VERIFIED if all(check.holds for check in checks) else Outcome.SIGNER_UNKNOWN


def _decided(name: str, problems: Iterator[str], good: str | Callable[[], str]) -> Check:
    """One check. The success text is built only if there are no problems, because it may not be computable otherwise."""
    if found := list(problems):
        return Check(name=name, holds=False, detail=contents.listed(found))
    return Check(name=name, holds=True, detail=good if isinstance(good, str) else good())


def _first_checks(
    opened: Opened, *, kind: str, signature: _Sign, of_model: bool = False
) -> Generator[Check, None, bool]:
    """Check form, signature, files, manifest and domain; for the kind see `form.problems`. Return whether later checks can read on."""
    certificate = opened.certificate
    problems = form.problems(certificate, kind=kind)
    yield (whole := _decided("form", problems, f"every member of {certificate.get('schema')}"))
    if not whole.holds:
        # No later check can read a certificate of another form, so its signature does not matter.
        return False
    yield signature(certificate)
    yield _decided("files", contents.artefact_problems(opened), "every other file is the one listed")
    of_kind = private_models if of_model else contents
    good = f"describes the {'model' if of_model else 'generator'}"
    yield (described := _decided("manifest", of_kind.manifest_problems(opened), good))
    if not described.holds:
        return False
    yield _decided("domain", of_kind.domain_problems(opened), "the declared domain is the one stated")
    return True


def _checks(opened: Opened, *, kind: str, signature: _Sign) -> Iterator[Check]:
    """Check a certificate of one training of a generator."""
    if not (yield from _first_checks(opened, kind=kind, signature=signature)):
        return
    yield from _look(opened)
    certificate = opened.certificate
    plan = certificate["plan"]
    problems = planned.plan_problems(plan, records.described(opened.manifest))
    yield (
        planned_well := _decided(
            "plan",
            problems,
            lambda: (
                f"follows from its options and the declared columns; split of the budget: {planned.split_text(plan)}"
            ),
        )
    )
    if not planned_well.holds:
        return
    yield _decided("statements", _statement_problems(certificate), "every member says what the plan says")
    yield _decided("steps", executed_problems(certificate["executed"], plan), _steps(plan))
    yield _ledger(certificate)
    if kind == "federated":
        yield _owners(certificate, owners.joint_problems(certificate, tuple(planned.parts_of(plan))))
    if kind == "member":
        federation = plan["federation"]
        good = (
            f"member {federation['member']} of {len(federation['members'])}; its own ledger was charged its own counts with the whole noise, "
            "whatever the board and the other members did"
        )
        yield _decided("federation", federations.counts_problems(certificate), good)
    yield from _counts(opened, plan)
    yield from _figures(certificate)


def _owners(certificate: Mapping[str, Any], problems: Iterator[str]) -> Check:
    """Whether every ledger in the plan was charged the whole cost."""
    places = (
        f"{problem} (owner {one['dataset_id']})"
        for one in certificate["ledgers"]
        for problem in _ledger_problems(one["ledger"])
    )
    good = f"each of {len(certificate['ledgers'])} ledgers was charged the whole mechanism, recomputed"
    return _decided("owners", chain(places, problems), good)


def _selection_checks(opened: Opened, signature: _Sign) -> Iterator[Check]:
    if not (yield from _first_checks(opened, kind="selection", signature=signature)):
        return
    yield from _look(opened)
    certificate = opened.certificate
    good = "every candidate's follows from its options and the declared columns"
    yield (planned_well := _decided("plan", selections.plan_problems(opened), good))
    if not planned_well.holds:
        return
    good = "every member says what the plan and the winner say"
    yield (stated := _decided("statements", selections.statement_problems(certificate), good))
    if not stated.holds:
        return
    final = certificate["plan"]["finals"][certificate["executed"]["winner"]]
    count = len(certificate["plan"]["candidates"])
    yield _decided(
        "steps",
        selections.steps_problems(certificate),
        lambda: (
            f"{count} candidates and the winner ran as planned, once; split of the winner's budget: {planned.split_text(final)}"
        ),
    )
    yield _ledger(certificate)
    yield from _counts(opened, final)
    yield _epsilon(certificate, selections.recompute(certificate))
    yield _decided("charge", selections.charge_problems(certificate), "what the selection costs, rounded up")


def _model_checks(opened: Opened, *, kind: str, signature: _Sign) -> Iterator[Check]:
    """Check a certificate of a private model."""
    if not (yield from _first_checks(opened, kind=kind, signature=signature, of_model=True)):
        return
    certificate = opened.certificate
    plan = certificate["plan"]
    federated, member = kind in {"federated-model", "averaged-model"}, kind == "member-model"
    problems = private_models.plan_problems(
        plan, federated=federated, averaged=member or kind == "averaged-model", member=member
    )
    yield (planned_well := _decided("plan", problems, "follows from its options and the declared size"))
    if not planned_well.holds:
        return
    problems = private_models.statement_problems(certificate)
    yield _decided("statements", problems, "every member says what the plan says")
    yield _decided("steps", private_models.steps_problems(certificate), _steps(plan))
    good = "not measured" if certificate["accuracy"] is None else "follows from the noisy count"
    yield _decided("accuracy", private_models.accuracy_problems(certificate), good)
    if (check := certificate.get("model_check")) is not None:
        yield _decided("answers", private_models.check_problems(check), private_models.check_words(check))
    yield _ledger(certificate)
    if federated:
        yield _owners(certificate, private_models.owners_problems(certificate))
    if member:
        federation = plan.get("federation", {})
        good = (
            f"member {federation.get('member')} of {len(federation.get('members', ()))}; its own ledger was charged its own steps, "
            "whatever the board and the other members did"
        )
        yield _decided("federation", federations.problems(certificate), good)
    yield _epsilon(certificate, private_models.recompute(certificate))
    yield _decided(
        "charge", private_models.charge_problems(certificate), "what the mechanism costs, rounded up"
    )


def _look(opened: Opened) -> Iterator[Check]:
    """The generator check's findings, if the certificate has them."""
    checked = opened.certificate.get("generator_check")
    if checked is not None:
        yield _decided("generator", contents.generator_problems(opened), contents.generator_text(checked))


def _counts(opened: Opened, plan: Mapping[str, Any]) -> Iterator[Check]:
    """Whether noisy counts, if the bundle has any, have the shape and noise of the plan."""
    if opened.counts is not None:
        good = "every table is of the declared columns, with the certified noise"
        yield _decided("counts", counts.count_problems(opened, plan), good)


def _signature(certificate: Mapping[str, Any], public_keys: list[bytes]) -> Check:
    key_id = certificate["key_id"]
    by_id = {signatures.fingerprint(key): key for key in public_keys}
    if key_id not in by_id:
        known = f"you trust {', '.join(by_id)}" if by_id else "you named no key that you trust"
        return Check(name="signature", holds=None, detail=f"made by key {key_id}; {known}")
    if signatures.verifies(certificate, by_id[key_id]):
        return Check(name="signature", holds=True, detail=f"by key {key_id}, which you trust")
    detail = "the certificate was changed after it was signed, or signed with another key"
    return Check(name="signature", holds=False, detail=detail)


def _unsigned(*, allow: bool) -> Check:
    detail = (
        "made without a service and not signed: it carries no more authority than the person who hands it on"
    )
    return Check(name="signature", holds=True if allow else None, detail=detail)


def _steps(plan: Mapping[str, Any]) -> str:
    return f"{plan['steps']} steps and every measurement ran as planned, once"


def _statement_problems(certificate: Mapping[str, Any]) -> Iterator[str]:
    plan, unit = certificate["plan"], certificate["privacy_unit"]
    described = "one record" if unit["column"] is None else "all records"
    derived: dict[str, object] = {
        "privacy_parameters": plan["guarantee"],
        "adjacency": plan["adjacency"],
        "declared_size": plan["declared_size"],
        "epsilon": plan["epsilons"],
        "mechanism": plan["mechanism"],
        "mechanisms": planned.mechanism_rows(plan),
        "noise_grid": planned.noise_grid(plan),
        "plan_digest": planned.canonical_digest(plan),
    }
    yield from (name for name, value in derived.items() if not planned.same(certificate[name], value))
    said = certificate["preprocessing"]
    says = (learning.says_what_is_learnt, learning.says_how_many_count, learning.says_which_names_count)
    if not all(one(said, plan) for one in says):
        yield "preprocessing"
    if not planned.says_how_noise_is_set(certificate["justification"], plan):
        yield "justification"
    if not reused.says_what_is_reused(certificate["privacy_parameters_description"], plan):
        yield "privacy_parameters_description"
    stated = {name: value for name, value in unit.items() if name != "description"}
    if stated != plan["privacy_unit"] or not unit["description"].startswith(described):
        yield "privacy_unit"


def _ledger(certificate: Mapping[str, Any]) -> Check:
    problems = _ledger_problems(certificate["ledger"])
    return _decided("ledger", problems, "reserved, then spent; not recomputable here")


def _ledger_problems(ledger: Mapping[str, Any]) -> Iterator[str]:
    if not ledger["reserved"]["sequence"] < ledger["spent"]["sequence"]:
        yield "ledger: spent before it was reserved"
    if ledger["reserved"]["hash"] == ledger["spent"]["hash"]:
        yield "ledger: two links of one hash"
    if ledger["head"] != ledger["spent"]:
        yield "ledger/head is not the spend, which was the last link when the first row was opened"


def _figures(certificate: Mapping[str, Any]) -> Iterator[Check]:
    parts = tuple(planned.parts_of(certificate["plan"]))
    taken = learning.threshold_delta(certificate["plan"])
    yield _epsilon(
        certificate, accounting.recompute(parts, certificate["privacy_parameters"]["delta"] - taken)
    )
    charge = accounting.charge_problems(certificate, None if taken else partial(renyi.divergence, parts))
    yield _decided("charge", charge, "what the mechanism costs, rounded up")


def _epsilon(certificate: Mapping[str, Any], found: accounting.Recomputed) -> Check:
    pld, guarantee = found.pld, certificate["privacy_parameters"]
    enclosed = (
        "not computed" if pld is None else f"between {pld.low:.6g} and {pld.high:.6g} by PRV composition"
    )
    return _decided(
        "epsilon",
        accounting.epsilon_problems(certificate, found),
        f"{enclosed} at delta {guarantee['delta']:g}; stated {certificate['epsilon']['reported']:.6g}, "
        f"promised {guarantee['epsilon']:g}{reused.beside(certificate['plan'])}",
    )


def report_json(report: Report) -> str:
    """A report as JSON, for programs."""
    return json.dumps(
        {
            "outcome": report.outcome.name.lower().replace("_", "-"),
            "exit_status": int(report.outcome),
            "checks": [
                {"name": check.name, "holds": check.holds, "detail": check.detail} for check in report.checks
            ],
            "certificate": report.certificate,
        },
        indent=2,
    )
