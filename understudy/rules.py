"""Check declared rules between columns against the noisy counts of a bundle file or of a service's release.

    for rule in understudy.check_rules("bundle.zip").contradicted:
        print(rule.pointer, rule.columns, rule.contradictions)

Checking costs no privacy: docs/domain.md, "Rules between columns".
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from understudy.documents import Json, named
from understudy.plain_text import one_line


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradiction:
    """Two columns whose counts contradict a rule.

    Attributes:
        columns: names of the two columns.
        estimate: records whose values of the two columns the rule forbids; others may break it unseen.
        low: lower end of the 95 % interval.
        high: upper end of it.
    """

    columns: tuple[str, str]
    estimate: float
    low: float
    high: float
    standard_error: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedRule:
    """The evidence of the counts on one rule.

    Attributes:
        pointer: JSON pointer to the rule in the domain document.
        columns: names of all columns that it ties together.
        finding: "contradicted", "not-contradicted", or "not-checked": the counts do not cover it.
        contradictions: one for each two columns that contradict the rule.
    """

    pointer: str
    kind: str
    columns: tuple[str, ...]
    finding: str
    contradictions: tuple[Contradiction, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RulesCheck:
    """The evidence of the counts on all rules.

    Attributes:
        rules: in the order of the domain document; empty where none is declared.
        counted: what a count counts.
        remedy: what to do; None where no rule is contradicted.
    """

    rules: tuple[CheckedRule, ...]
    counted: str
    remedy: str | None
    document: Json

    @classmethod
    def from_json(cls, document: Json) -> Self:
        """Read the answer's document."""
        stated = named(document, "rules", "counted", "remedy")
        return cls(**stated | {"rules": tuple(map(_rule, stated["rules"]))}, document=document)

    @property
    def contradicted(self) -> tuple[CheckedRule, ...]:
        """The rules that the counts contradict."""
        return tuple(rule for rule in self.rules if rule.contradictions)

    def __str__(self) -> str:
        """The check as `print` shows it."""
        return "\n".join(self.lines())

    def lines(self) -> Iterator[str]:
        """Yield the check as lines of text."""
        if not self.rules:
            yield "The domain has no rules between columns."
            return
        for rule in self.rules:
            tied = ", ".join(map(one_line, rule.columns))
            yield f"{one_line(rule.pointer)}  {one_line(rule.kind)} of {tied}: {_FINDINGS.get(rule.finding, one_line(rule.finding))}"
            for found in rule.contradictions:
                pair = " and ".join(map(one_line, found.columns))
                yield f"    {pair}: about {found.estimate:,.0f} break it ({found.low:,.0f} to {found.high:,.0f})"
        yield ""
        if self.remedy is None:
            yield "The noisy counts contradict no rule."
        else:
            code = self.document.get("code")
            yield one_line(self.remedy) + (f" ({one_line(code)})" if isinstance(code, str) else "")
            yield f"95 % intervals; counted are {one_line(self.counted)}. More may break a rule unseen."


_FINDINGS = {
    "contradicted": "contradicted by the counts",
    "not-contradicted": "not contradicted",
    "not-checked": "not checked, the counts say nothing of it",
}


def _rule(document: Json) -> CheckedRule:
    stated = named(document, "pointer", "kind", "columns", "finding", "contradictions")
    stated["columns"] = tuple(stated["columns"])
    stated["contradictions"] = tuple(map(_contradiction, stated["contradictions"]))
    return CheckedRule(**stated)


def _contradiction(document: Json) -> Contradiction:
    stated = named(document, "columns", "estimate", "low", "high", "standard_error")
    return Contradiction(**stated | {"columns": tuple(stated["columns"])})
