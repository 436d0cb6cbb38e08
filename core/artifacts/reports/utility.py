"""A utility report (in tables and API: charged report): noisy errors of a release, as a signed, self-explanatory document.

A worker's child returns the noisy terms and the public references. The publishing process assembles the
document, adds the ledger's links and signs it. All it says about the dataset is post-processing of the terms
(`models.reports.utility`).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Self, cast
from uuid import UUID, uuid5

from core.artifacts import statements
from core.artifacts.errors import ExecutionDiffers, InvalidCertificate
from core.artifacts.owners_ledgers import Place
from core.artifacts.reports import utility_text as say
from core.artifacts.reports.utility_form import SCHEMA, UtilityReportForm
from core.artifacts.signing.contexts import CHARGED_REPORT
from core.artifacts.signing.signed import SignedDocument, Signer
from core.dp import mechanism as mechanisms
from core.dp.charge import charge_of
from core.errors import UnderstudyError
from core.ledger.hash_chain import Head
from core.plan.utility_reports.plan import DEVIATIONS_95, ReportPlan
from core.values import read

Json = Mapping[str, Any]
_REPORTS: Final = UUID("0d7a4b34-9a3e-4a0b-8f0e-6a1f6f0f2c11")


def report_id_of(job_id: UUID) -> UUID:
    """The report id of a job, derived from the job, so a resumed job signs the same report."""
    return uuid5(_REPORTS, job_id.hex)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """The released noisy terms and their references; every list in the order of the plan's terms.

    Attributes:
        noisy: The noisy shares by kind.
        references: For columns and pairs the error by chance; for the score the classifier's accuracy on
            synthetic rows and the share of their most frequent class.
    """

    noisy: Mapping[str, Sequence[float]]
    references: Mapping[str, Sequence[float]]

    @classmethod
    def of_terms(cls, plan: ReportPlan, terms: Json, references: Json) -> Self:
        """Read a child's result: terms in records, divided here by twice the declared size.

        Raises:
            ExecutionDiffers: the terms are not the plan's, or one is not a finite number.
        """
        try:
            shares = {
                kind: [_share(kind, float(term), plan.declared_size) for term in terms[kind]]
                for kind in terms
            }
            given = {kind: [float(value) for value in references[kind]] for kind in references}
        except (KeyError, TypeError, ValueError):
            raise ExecutionDiffers from None
        counts = plan.terms
        expected = {kind: 2 if kind == "score" else count for kind, count in counts.items()}
        numbers = [value for values in (*shares.values(), *given.values()) for value in values]
        if (
            {kind: len(values) for kind, values in shares.items()} != counts
            or {kind: len(given.get(kind, ())) for kind in counts} != expected
            or not all(map(math.isfinite, numbers))
        ):
            raise ExecutionDiffers
        return cls(noisy=shares, references=given)

    def results(self, plan: ReportPlan) -> dict[str, Any]:
        """The results section of a report: a function of the noisy shares and public facts only."""
        stds = plan.share_stds
        names = plan.columns
        couples = [[one, other] for index, one in enumerate(names) for other in names[index + 1 :]]
        columns = [
            {"name": name} | row
            for name, row in zip(names, self._errors("columns", stds["columns"]), strict=True)
        ]
        pairs = (
            [
                {"names": couple} | row
                for couple, row in zip(couples, self._errors("pairs", stds["pairs"]), strict=True)
            ]
            if couples
            else []
        )
        return {
            "columns": columns,
            "pairs": pairs,
            "mean_of_columns": self._mean("columns", stds["columns"]),
            "mean_of_pairs": self._mean("pairs", stds["pairs"]) if couples else None,
            "score": None if plan.target is None else self._score(plan.target, stds["score"]),
        }

    def _errors(self, kind: str, std: float) -> list[dict[str, Any]]:
        chances = self.references[kind]
        return [
            measured(noisy, std) | {"by_chance": chance}
            for noisy, chance in zip(self.noisy[kind], chances, strict=True)
        ]

    def _mean(self, kind: str, std: float) -> dict[str, Any]:
        noisy, chances = self.noisy[kind], self.references[kind]
        count = len(noisy)
        mean = math.fsum(noisy) / count
        return measured(mean, std / math.sqrt(count)) | {"by_chance": math.fsum(chances) / count}

    def _score(self, target: str, std: float) -> dict[str, Any]:
        on_synthetic, most_frequent = self.references["score"]
        public = {"target": target, "on_synthetic": on_synthetic, "most_frequent": most_frequent}
        return public | measured(self.noisy["score"][0], std)


def measured(noisy: float, std: float) -> dict[str, float]:
    """A noisy share, with an estimate and an interval of the true share, which is between 0 and 1."""
    reach = DEVIATIONS_95 * std
    return {
        "noisy": noisy,
        "noise_std": std,
        "estimate": _within(noisy),
        "low": _within(noisy - reach),
        "high": _within(noisy + reach),
    }


def make_utility_report(
    *,
    plan: ReportPlan,
    measurement: Measurement,
    job_id: UUID,
    dataset_id: UUID,
    population_id: UUID,
    issued_at: datetime,
    reserved: Head,
    spent: Head,
    noise_grid: float,
    software: Json,
) -> dict[str, Any]:
    """Return the unsigned report as a JSON object.

    Args:
        issued_at: The time of the order, time-zone aware.
        noise_grid: The public grid of terms and noise, in records.
    """
    unit, stds = plan.privacy_unit.column, plan.noise_stds
    return {
        "schema": SCHEMA,
        "report_id": str(report_id_of(job_id)),
        "job_id": str(job_id),
        "dataset_id": str(dataset_id),
        "population_id": str(population_id),
        "issued_at": issued_at.isoformat(),
        "dp_flavor": "Approximate DP",
        "privacy_unit": {
            "column": unit,
            "description": statements.UNIT_OF_RECORD if unit is None else statements.UNIT_OF_COLUMN,
        },
        "privacy_parameters_description": say.PROMISE,
        "release_id": str(plan.release_id),
        "adjacency": plan.adjacency.value,
        "declared_size": plan.declared_size,
        "privacy_parameters": plan.guarantee.to_json(),
        "epsilon": plan.epsilons.to_json(),
        "charge": charge_of(plan.mechanism, delta=plan.guarantee.delta).to_json(),
        "mechanisms": [
            {"name": kind, "kind": "gaussian", "times": terms, "sensitivity": 1, "noise_std": stds[kind]}
            for kind, terms in plan.terms.items()
        ],
        "mechanism": mechanisms.to_json(plan.mechanism),
        "plan": plan.to_json(),
        "plan_digest": plan.digest(),
        "releases_heard": 1,
        "results": measurement.results(plan),
        "reading": list(say.READING),
        "public_side": say.PUBLIC_SIDE,
        "composition": {"within": say.WITHIN, "across": say.ACROSS},
        "ledger": Place(reserved=reserved, spent=spent).to_json(),
        "randomness": {
            "cipher": statements.CIPHER,
            "key": statements.KEY,
            "addressing": statements.ADDRESSING,
        },
        "noise_grid": noise_grid,
        "software": dict(software),
        "unprotected_quantities": list(say.UNPROTECTED),
        "not_covered": list(say.NOT_COVERED),
    }


def signed_utility_report(report: Json, signer: Signer) -> SignedDocument:
    """Sign a report.

    Raises:
        InvalidCertificate: it does not have the published form.
    """
    signed = signer.sign(report, context=CHARGED_REPORT)
    _form_of(signed.to_json())
    return signed


def _share(kind: str, term: float, declared_size: int) -> float:
    """A term as a share: a distance over twice the declared size; a score is 1/2 if right and wrong answers balance."""
    return term / (2 * declared_size) + (0.5 if kind == "score" else 0.0)


def _within(share: float) -> float:
    return min(1.0, max(0.0, share))


def _form_of(report: Json) -> UtilityReportForm:
    try:
        return cast("UtilityReportForm", read(UtilityReportForm, report))
    except (ValueError, UnderstudyError):
        raise InvalidCertificate("the report is not of the published form") from None
