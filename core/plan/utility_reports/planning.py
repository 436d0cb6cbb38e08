"""Planning and quoting utility reports: their cost and the width of their intervals. Data-free."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from core.dp.accountant import epsilons
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.calibration import gaussian_noise_multiplier
from core.dp.charge import Charge
from core.dp.filters import Cap
from core.dp.guarantee import PrivacyGuarantee
from core.dp.mechanism import Gaussian
from core.plan.domain.images import ImageDomain
from core.plan.domain.table import TableDomain
from core.plan.errors import InvalidReport
from core.plan.quote import Quote, effect_of
from core.plan.utility_reports.columns import declared_target, drawn, measurable, predictable
from core.plan.utility_reports.plan import DEVIATIONS_95, LARGEST_SIZE, MOST_COLUMNS, PAIR_BINS, ReportPlan
from core.values import Value


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportSpec(Value):
    """The measurements to make, and the release to make them of.

    Args:
        manifest_sha256: Digest of the release's manifest, as stated in its certificate.
        target: The column to predict; None takes the domain's target, and omits the score if there is none.
        columns: The columns to measure; None for all.
    """

    release_id: UUID
    manifest_sha256: str
    target: str | None
    columns: tuple[str, ...] | None


def make_report_plan(
    *,
    report: ReportSpec,
    guarantee: PrivacyGuarantee,
    declared_size: int,
    domain: TableDomain | ImageDomain,
    adjacency: Adjacency,
    privacy_unit: PrivacyUnit,
) -> ReportPlan:
    """Return the plan of a utility report, with the least noise that satisfies `guarantee`.

    Raises:
        InvalidReport: a column cannot be measured, or there are too many; the target cannot be predicted; the
            declared size is too large.
    """
    target = declared_target(domain) if report.target is None else report.target
    columns = _measured(report.columns, measurable(domain))
    if target is not None and target not in predictable(domain):
        raise InvalidReport(
            "the target must be a modelled column with others to predict it from, or the label of images",
            remedy="name a column that the release generates, 'label' for images with labels, or none",
        )
    if not 1 <= declared_size <= LARGEST_SIZE:
        raise InvalidReport("the declared size is out of the range in which counts are exact")
    noise_multiplier = gaussian_noise_multiplier(guarantee)
    return ReportPlan(
        guarantee=guarantee,
        adjacency=adjacency,
        privacy_unit=PrivacyUnit(column=privacy_unit.column),  # a report weighs units, whatever is declared
        declared_size=declared_size,
        release_id=report.release_id,
        manifest_sha256=report.manifest_sha256,
        columns=columns,
        target=target,
        synthetic_rows=drawn(domain),
        noise_multiplier=noise_multiplier,
        epsilons=epsilons(Gaussian(noise_multiplier=noise_multiplier), delta=guarantee.delta),
    )


def _measured(wanted: tuple[str, ...] | None, names: Sequence[str]) -> tuple[str, ...]:
    """The measured columns in the order of the domain."""
    chosen = set(names if wanted is None else wanted)
    if not chosen <= set(names) or not chosen:
        raise InvalidReport(
            "the release does not generate one of the columns to be measured",
            remedy="name columns of the domain that are neither ignored nor the privacy unit; of images 'label', 'brightness' or 'detail'",
        )
    if len(chosen) > MOST_COLUMNS:
        raise InvalidReport(
            f"a report measures at most {MOST_COLUMNS} columns", remedy="name those that matter to you"
        )
    return tuple(name for name in names if name in chosen)


@dataclass(frozen=True, slots=True, kw_only=True)
class Precision(Value):
    """How precisely one kind of number is measured, in shares between 0 and 1."""

    terms: int
    noise_std: float
    half_width_95: float


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotedReport(Value):
    """The release and the measured columns; `parts` has the precision of each kind of number, known before measuring."""

    release_id: UUID
    columns: tuple[str, ...]
    target: str | None
    pair_bins: int
    synthetic_rows: int
    parts: Mapping[str, Precision]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportQuote(Quote):
    """The quote of a utility report."""

    report: QuotedReport


def make_report_quote(
    plan: ReportPlan, cap: Cap | None, charges: Sequence[Charge], *, thresholds: bool = False
) -> ReportQuote:
    """Return the quote; `cap` and `charges` as in `effect_of`."""
    return ReportQuote(
        **effect_of(plan, cap, charges, thresholds=thresholds),
        report=QuotedReport(
            release_id=plan.release_id,
            columns=plan.columns,
            target=plan.target,
            pair_bins=PAIR_BINS,
            synthetic_rows=plan.synthetic_rows,
            parts=precision_of(plan),
        ),
    )


def precision_of(plan: ReportPlan) -> Mapping[str, Precision]:
    """The precision of each kind of number."""
    counts = plan.terms
    return {
        kind: Precision(terms=counts[kind], noise_std=std, half_width_95=min(1.0, DEVIATIONS_95 * std))
        for kind, std in plan.share_stds.items()
    }
