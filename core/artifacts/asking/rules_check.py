"""The declared rules between columns that the noisy counts of a release contradict. Post-processing, free of privacy cost.

If all records satisfy a rule, the cells that it forbids are empty, and their estimated sum is Gaussian noise
around zero with known variance. The estimate is the best linear unbiased one from all released tables
(`core.artifacts.asking.estimates`): tables of the pair itself, tables of three columns summed over the third, and the
margins shared with others, each weighted by inverse variance. The most precise table alone would also be
unbiased, but noisier. A question about the same cells gets the same number. Only released numbers and the
public domain are read.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import Any, Final, Literal

from core.artifacts.asking.codes import counted_by
from core.artifacts.asking.estimates import CONFIDENCE, DEVIATIONS, Estimates
from core.plan.domain.forbidden import Pair, forbidden_by_rule, whole_groups
from core.plan.domain.rules.classes import Flags
from core.plan.domain.rules.kinds import Rule
from core.plan.domain.table import TableDomain

CODE: Final = "rule-contradicted"
"""The stable code of the finding that a rule is contradicted."""
SIGNIFICANT: Final = 4.0
"""Smallest number of standard errors above zero at which records on forbidden cells are reported."""
FALSE_ALARM: Final = 1e-3
"""Upper bound on the probability that noise alone contradicts any rule of a release, by Bonferroni over all
checks."""
REMEDY: Final = (
    "Either the rule or the rows are wrong, or intake changed values, for example clamped them to bounds. Correct the rule, the "
    "rows or the bounds, and declare a new version of the dataset with this one as its parent."
)

_NAMED: Final = 20
"""Number of columns that a note lists."""

Finding = Literal["contradicted", "not-contradicted", "not-checked"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradiction:
    """Two columns whose counts show that records break a rule.

    Attributes:
        estimate: records on the forbidden cells, in the unit of `RulesCheck.counted`; other violations may remain
            undetected.
        low: lower end of the 95 % interval.
        high: its upper end.
    """

    columns: tuple[str, str]
    estimate: float
    low: float
    high: float
    standard_error: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedRule:
    """One rule, compared with the counts.

    Attributes:
        pointer: JSON pointer to the rule in the domain document.
        columns: all columns of the rule.
        finding: "not-checked" if the rule forbids no cell, or no whole group of cells, of two jointly counted
            columns.
        contradictions: one for each pair of columns that contradicts the rule.
    """

    pointer: str
    kind: str
    columns: tuple[str, ...]
    finding: Finding
    contradictions: tuple[Contradiction, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        found = [asdict(one) | {"columns": list(one.columns)} for one in self.contradictions]
        return asdict(self) | {"columns": list(self.columns), "contradictions": found}


@dataclass(frozen=True, slots=True, kw_only=True)
class RulesCheck:
    """All rules, compared with the counts.

    Attributes:
        rules: in the order of the domain document.
        counted: the unit of the counts, in words.
    """

    rules: tuple[CheckedRule, ...]
    counted: str

    @property
    def code(self) -> str | None:
        """The stable code of the finding; None if no rule is contradicted."""
        return None if self.remedy is None else CODE

    @property
    def remedy(self) -> str | None:
        """The remedy; None if no rule is contradicted."""
        return REMEDY if any(rule.contradictions for rule in self.rules) else None

    @property
    def notes(self) -> tuple[str, ...]:
        """The contradicted rules in words, then the remedy; empty if no rule is contradicted."""
        notes = [
            f"`{CODE}`: the counts contradict the rule {rule.pointer} of domain.json ({rule.kind} of {_listed(rule.columns)}). About "
            f"{found.estimate:,.0f} break it in {_listed(found.columns)} (95 % interval {found.low:,.0f} to {found.high:,.0f}; "
            f"counted are {self.counted})."
            for rule in self.rules
            for found in rule.contradictions
        ]
        return (*notes, f"{REMEDY} Rows drawn from the generator keep every rule.") if notes else ()

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "schema": "understudy.rules-check/1",
            "rules": [rule.to_json() for rule in self.rules],
            "counted": self.counted,
            "confidence": CONFIDENCE,
            "code": self.code,
            "remedy": self.remedy,
        }


def _listed(names: Sequence[str]) -> str:
    """Names of columns on one line, shortened if there are many."""
    few = ", ".join(" ".join(name.split()) for name in names[:_NAMED])
    return few if len(names) <= _NAMED else f"{few} and {len(names) - _NAMED} more"


def check_rules(domain: TableDomain, estimates: Estimates) -> RulesCheck:
    """Check the declared rules against released counts."""
    names = [column.name for column in domain.modelled]
    counted = [
        {pair: cells for pair, cells in _counted(by_pair, estimates) if cells.any()}
        for by_pair in forbidden_by_rule(domain)
    ]
    deviations = significant(sum(map(len, counted)))
    return RulesCheck(
        rules=tuple(
            _checked(number, rule, by_pair, names, estimates, deviations)
            for number, (rule, by_pair) in enumerate(zip(domain.rules, counted, strict=True))
        ),
        counted=counted_by(domain),
    )


def significant(checks: int) -> float:
    """Return the number of standard errors at which records on forbidden cells are reported, for so many checked pairs of columns over all rules."""
    return max(SIGNIFICANT, NormalDist().inv_cdf(1.0 - FALSE_ALARM / max(checks, 1)))


def _counted(by_pair: Mapping[Pair, Flags], estimates: Estimates) -> Iterator[tuple[Pair, Flags]]:
    """Yield the groups of codes that a rule forbids, for each jointly counted pair of columns."""
    for pair, cells in by_pair.items():
        if estimates.are_counted(pair):
            groups = estimates.groups(pair)
            yield pair, whole_groups(cells, groups[pair[0]], groups[pair[1]])


def _checked(
    number: int,
    rule: Rule,
    counted: Mapping[Pair, Flags],
    names: Sequence[str],
    estimates: Estimates,
    deviations: float,
) -> CheckedRule:
    found = tuple(
        Contradiction(
            columns=(names[first], names[second]),
            estimate=estimate,
            low=estimate - DEVIATIONS * error,
            high=estimate + DEVIATIONS * error,
            standard_error=error,
        )
        for (first, second), cells in counted.items()
        for estimate, error in [_records(estimates, (first, second), cells)]
        if estimate > deviations * error
    )
    return CheckedRule(
        pointer=f"/rules/{number}",
        kind=rule.kind,
        columns=rule.columns,
        finding="contradicted" if found else "not-contradicted" if counted else "not-checked",
        contradictions=found,
    )


def _records(estimates: Estimates, pair: Pair, cells: Flags) -> tuple[float, float]:
    """Estimated number of records on some cells of two columns, and its standard error."""
    estimate = float(estimates.table(pair)[cells].sum())
    return estimate, math.sqrt(estimates.variance(pair, cells))
