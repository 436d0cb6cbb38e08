"""Rules between columns. They are declared and public like the rest of the domain, so keeping them costs no privacy.

docs/domain.md describes the kinds and their keys. `core.plan.domain.rules.values` represents the values of rules;
`core.plan.domain.rules.keeping` repairs drawn rows that break rules.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Final, NoReturn, Protocol, cast

import numpy as np

from core.plan.domain.columns.kinds import Modelled, NumericColumn
from core.plan.domain.errors import DomainInvalid
from core.plan.domain.reading import plain_number
from core.plan.domain.rules.classes import Classes, Values
from core.plan.domain.rules.keeping import Keeper
from core.plan.domain.rules.values import (
    Number,
    ValueSet,
    Vocabulary,
    column_values,
    set_to_json,
    value_to_json,
)

MAXIMUM_CELLS: Final = 2**22
"""Maximum number of cells in the combinations of all rules of a table, a byte each."""

DURATION_UNITS: Final = ("second", "minute", "hour", "day", "year")
"""Days and years are those of the calendar; of the others both ends are times."""

Columns = Mapping[str, Modelled]


class Rule(Protocol):
    """A declared rule. Frozen; two equal rules are the same rule."""

    @property
    def kind(self) -> str:
        """Its name in the document."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that it ties together."""

    def to_json(self, columns: Columns) -> dict[str, object]:
        """The complete entry, with defaults; ``rule_from_json`` reads it back."""

    def data(self, columns: Columns) -> dict[str, Any]:
        """The entry in the form that `core.plan.domain.rules.keeping` takes, without kind and columns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Combinations:
    """Combinations of values that do not occur, or the only ones that do.

    Attributes:
        kind: "impossible" or "possible".
        columns: At least two.
        combinations: Values of each column.
    """

    kind: str
    columns: tuple[str, ...]
    combinations: tuple[tuple[ValueSet, ...], ...]

    def to_json(self, columns: Columns) -> dict[str, object]:
        """See `Rule`."""
        listed = [
            [set_to_json(test, columns[name]) for name, test in zip(self.columns, combination, strict=True)]
            for combination in self.combinations
        ]
        return {"kind": self.kind, "columns": list(self.columns), "combinations": listed}

    def data(self, columns: Columns) -> dict[str, Any]:
        """See `Rule`."""
        tied = [Vocabulary(columns[name]).values for name in self.columns]
        return {
            "combinations": [
                [test.data(own.lower, own.upper) for own, test in zip(tied, combination, strict=True)]
                for combination in self.combinations
            ]
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class AtMost:
    """The first column is at most the second, where both are numbers or times. A date and a time are compared by day.

    Attributes:
        columns: The smaller one, then the larger one.
    """

    kind: ClassVar[str] = "at_most"

    columns: tuple[str, ...]

    def to_json(self, columns: Columns) -> dict[str, object]:  # noqa: ARG002 - of the protocol
        """See `Rule`."""
        return {"kind": self.kind, "columns": list(self.columns)}

    def data(self, columns: Columns) -> dict[str, Any]:
        """See `Rule`. Dates are held in days and times in seconds, so a rule says which is which where it has both."""
        first, second = (columns[name].kind for name in self.columns)
        if first != second:
            return {"is_date": [first == "date", second == "date"]}
        return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sum:
    """One column is the sum of others, where all of them are numbers.

    Attributes:
        columns: The parts, then the total.
        tolerance: Maximum difference between the total and the sum.
        computed: The column that drawn rows have computed from the others; None if that was not declared, then it is the total.
    """

    kind: ClassVar[str] = "sum"

    columns: tuple[str, ...]
    tolerance: float
    computed: str | None = None

    @property
    def computes(self) -> str:
        """The computed column."""
        return self.columns[-1] if self.computed is None else self.computed

    def to_json(self, columns: Columns) -> dict[str, object]:  # noqa: ARG002 - of the protocol
        """See `Rule`."""
        *parts, total = self.columns
        found: dict[str, object] = {"kind": self.kind, "parts": parts, "total": total}
        # Omitted if it was not declared: older documents keep their digest.
        if self.computed is not None:
            found["computed"] = self.computed
        return found | {"tolerance": plain_number(self.tolerance)}

    def data(self, columns: Columns) -> dict[str, Any]:
        """See `Rule`. The tolerance includes rounding, because sums of decimals are not exact in double precision."""
        tied = [cast("NumericColumn", columns[name]) for name in self.columns]
        largest = math.fsum(max(abs(column.lower), abs(column.upper)) for column in tied)
        rounding = 0.0 if all(column.integer for column in tied) else largest * 2.0**-50
        computed = {} if self.computed is None else {"computed": self.columns.index(self.computed)}
        return {"tolerance": self.tolerance + rounding} | computed


@dataclass(frozen=True, slots=True, kw_only=True)
class Duration:
    """A whole number is the time from one date or time to another, where none is missing.

    Attributes:
        columns: The first time, the second, and the number.
        unit: One of `DURATION_UNITS`.
    """

    kind: ClassVar[str] = "duration"

    columns: tuple[str, ...]
    unit: str

    def to_json(self, columns: Columns) -> dict[str, object]:  # noqa: ARG002 - of the protocol
        """See `Rule`."""
        return {"kind": self.kind, "columns": list(self.columns), "unit": self.unit}

    def data(self, columns: Columns) -> dict[str, Any]:
        """See `Rule`. Dates are numbers of days and times of seconds."""
        return {"unit": self.unit, "is_date": [columns[name].kind == "date" for name in self.columns[:2]]}


@dataclass(frozen=True, slots=True, kw_only=True)
class NullTogether:
    """All columns are missing, or none is.

    Attributes:
        columns: At least two, all with null as a category.
    """

    kind: ClassVar[str] = "null_together"

    columns: tuple[str, ...]

    def to_json(self, columns: Columns) -> dict[str, object]:  # noqa: ARG002 - of the protocol
        """See `Rule`."""
        return {"kind": self.kind, "columns": list(self.columns)}

    def data(self, columns: Columns) -> dict[str, Any]:  # noqa: ARG002 - of the protocol
        """See `Rule`."""
        return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactlyOne:
    """One column is set, and no other is.

    Attributes:
        columns: At least two.
        set: The value of each column that counts as set.
    """

    kind: ClassVar[str] = "exactly_one"

    columns: tuple[str, ...]
    set: tuple[float, ...]

    def to_json(self, columns: Columns) -> dict[str, object]:
        """See `Rule`."""
        chosen = [
            value_to_json(value, columns[name]) for name, value in zip(self.columns, self.set, strict=True)
        ]
        return {"kind": self.kind, "columns": list(self.columns), "set": chosen}

    def data(self, columns: Columns) -> dict[str, Any]:
        """See `Rule`."""
        pairs = zip(self.columns, self.set, strict=True)
        unset = [Vocabulary(columns[name]).other_than(value) for name, value in pairs]
        return {"set": list(self.set), "unset": unset}


@dataclass(frozen=True, slots=True, kw_only=True)
class Determines:
    """A functional dependency by a public code book: a listed value of the first column determines the value of the second.

    Attributes:
        columns: The one that determines, then the determined one.
        pairs: Values of the first column, with the value of the second; unlisted values are unconstrained.
    """

    kind: ClassVar[str] = "determines"

    columns: tuple[str, ...]
    pairs: tuple[tuple[ValueSet, Number], ...]

    def to_json(self, columns: Columns) -> dict[str, object]:
        """See `Rule`."""
        key, determined = (columns[name] for name in self.columns)
        pairs = [[set_to_json(test, key), value_to_json(value, determined)] for test, value in self.pairs]
        return {"kind": self.kind, "columns": list(self.columns), "pairs": pairs}

    def data(self, columns: Columns) -> dict[str, Any]:
        """See `Rule`."""
        key = Vocabulary(columns[self.columns[0]]).values
        return {"pairs": [[test.data(key.lower, key.upper), value] for test, value in self.pairs]}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Kept:
    """The rules of a table, prepared for application to rows.

    Attributes:
        data: The JSON that `core.plan.domain.rules.keeping.Keeper` takes.
        keeper: Made from `data`.
    """

    data: dict[str, Any]
    keeper: Keeper


@lru_cache(maxsize=16)
def kept_rules(modelled: tuple[Modelled, ...], rules: tuple[Rule, ...]) -> Kept:
    """Prepare the rules, at least one, and find a record that keeps all of them.

    Raises:
        DomainInvalid: a rule is too large, or no record was found that keeps the rules.
    """
    columns = {column.name: column for column in modelled}
    places = {name: place for place, name in enumerate(columns)}
    tied = sorted({places[name] for rule in rules for name in rule.columns})
    data: dict[str, Any] = {
        "values": {str(place): column_values(modelled[place]) for place in tied},
        "rules": [
            {"kind": rule.kind, "columns": [places[name] for name in rule.columns], **rule.data(columns)}
            for rule in rules
        ],
        "witness": None,
    }
    _require_small(data)
    keeper = Keeper(data)
    if not _has_witness(keeper):
        _refuse_unsatisfiable(data)
    witness = {str(place): None if math.isnan(value) else value for place, value in keeper.witness.items()}
    return Kept(data=data | {"witness": witness}, keeper=keeper)


def _has_witness(keeper: Keeper) -> bool:
    # A fixed public seed: whether a domain is accepted must not depend on chance.
    return keeper.find_witness(np.random.Generator(np.random.PCG64(0)))


def _refuse_unsatisfiable(data: dict[str, Any]) -> NoReturn:
    """Say which rule cannot be kept, or that they cannot be kept together."""
    for number, rule in enumerate(data["rules"]):
        if not _has_witness(Keeper(data | {"rules": [rule]})):
            raise DomainInvalid(
                "No record was found that keeps this rule.",
                pointer=f"/rules/{number}",
                problem="rule-unsatisfiable",
                remedy="Widen the bounds of its columns, or change the rule.",
            )
    raise DomainInvalid(
        "Each rule can be kept, but no record was found that keeps all of them.",
        pointer="/rules",
        problem="rules-unsatisfiable",
        remedy="Leave out rules until the domain is accepted; the last one left out contradicts the others.",
    )


def _require_small(data: dict[str, Any]) -> None:
    """Bound the memory of the rules' combinations."""
    values = {int(place): Values(column) for place, column in data["values"].items()}
    cells = 0
    for number, rule in enumerate(data["rules"]):
        if "combinations" not in rule:
            continue
        tests = zip(*rule["combinations"], strict=True)
        cells += math.prod(
            Classes(values[place], own).count for place, own in zip(rule["columns"], tests, strict=True)
        )
        if cells > MAXIMUM_CELLS:
            raise DomainInvalid(
                f"The combinations of the rules distinguish more than {MAXIMUM_CELLS} cases.",
                pointer=f"/rules/{number}",
                problem="rule-too-large",
                remedy="Name fewer columns or values in one rule, or ranges instead of values.",
            )
