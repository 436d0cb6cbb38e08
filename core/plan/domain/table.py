"""The domain of a table: the values that its columns may contain, declared by the owner and public."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, Self

from core.canonical import canonical_digest
from core.plan.domain.columns.difference_reading import check_differences, difference_data
from core.plan.domain.columns.document import MAXIMUM_CODES, column_from_json, column_to_json
from core.plan.domain.columns.kinds import (
    Column,
    IgnoredColumn,
    Learnt,
    Modelled,
    OrderedColumn,
    Pattern,
    TimeColumn,
    UnitColumn,
    pattern_column,
)
from core.plan.domain.confirmation import require_confirmed
from core.plan.domain.reading import Node
from core.plan.domain.rules.kinds import AtMost, Kept, NullTogether, Rule, kept_rules
from core.plan.domain.rules.reading import require_computable, rules_from_json
from core.plan.near_names import nearest

SCHEMA: Final = "understudy.domain/1"
MOST_LEARNT: Final = 64
"""Releases of one training that learn its domain."""
_LONGEST_NAME: Final = 200
UTF8: Final = "utf-8"
UTF16: Final = "utf-16"
ENCODINGS: Final = (UTF8, "windows-1252", "iso-8859-15", UTF16)
"""Encodings of CSV files; UTF-16 begins with a byte order mark."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvFormat:
    """How the owner's CSV file is written: declared, never guessed from the rows.

    Attributes:
        delimiter: One ASCII character between fields.
        quote: The quotation mark, or None if no field is ever quoted.
        header: Whether the first line names the columns; without it fields follow the order of the domain.
        null_values: Texts that mean "missing", compared after stripping.
        strip_spaces: Whether blanks around a field are dropped.
        decimal_mark: The point or comma before the decimals of numbers.
        encoding: One of ``ENCODINGS``.
    """

    delimiter: str = ","
    quote: str | None = '"'
    header: bool = True
    null_values: tuple[str, ...] = ("",)
    strip_spaces: bool = False
    decimal_mark: str = "."
    encoding: str = UTF8

    @classmethod
    def from_node(cls, node: Node) -> Self:
        """Read the "csv" object of a domain document.

        Raises:
            DomainInvalid: a key is unknown or has a wrong value.
        """
        default = cls()
        delimiter = node.take_text("delimiter", default.delimiter)
        if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n\0 ':
            node.refuse("'delimiter' must be one ASCII character.", "bad-delimiter", key="delimiter")
        quote = node.take("quote", default.quote)
        if quote not in ('"', "'", None):
            node.refuse("'quote' must be '\"', \"'\" or null.", "bad-quote", key="quote")
        found = cls(
            delimiter=delimiter,
            quote=quote if isinstance(quote, str) else None,
            header=node.take_flag("header", default=default.header),
            null_values=node.take_texts("null_values", list(default.null_values)),
            strip_spaces=node.take_flag("strip_spaces", default=default.strip_spaces),
            decimal_mark=node.take_choice("decimal_mark", (".", ","), default=default.decimal_mark),
            encoding=node.take_choice("encoding", ENCODINGS, default=default.encoding),
        )
        node.finish()
        return found

    def to_json(self) -> dict[str, object]:
        """The complete object, defaults written out."""
        written: dict[str, object] = {
            "delimiter": self.delimiter,
            "quote": self.quote,
            "header": self.header,
            "null_values": list(self.null_values),
            "strip_spaces": self.strip_spaces,
        }
        # Omitted where they are the defaults: documents older than these keys keep their digest.
        if self.decimal_mark != ".":
            written["decimal_mark"] = self.decimal_mark
        if self.encoding != UTF8:
            written["encoding"] = self.encoding
        return written


@dataclass(frozen=True, kw_only=True)
class TableDomain:
    """The declared domain: everything the service knows about a table without reading its rows.

    Attributes:
        columns: All columns in file order, the ignored ones and the privacy unit's included.
        target: Name of the modelled column that is predicted from the others, or None.
        privacy_unit: Name of the column that identifies the unit of a record, or None: each record is its own unit.
        rules: Constraints that every record of the modelled columns satisfies.
    """

    columns: tuple[Column, ...]
    target: str | None
    privacy_unit: str | None
    csv: CsvFormat = field(default_factory=CsvFormat)
    rules: tuple[Rule, ...] = ()

    @classmethod
    def from_json(cls, document: object) -> Self:
        """Read and check a domain document (a parsed JSON object).

        Raises:
            DomainUnconfirmed: it is a draft that still contains marks.
            DomainInvalid: it breaks a rule; the error points at the place.
        """
        require_confirmed(document)
        node = Node(document, "")
        node.take_choice("schema", (SCHEMA,))
        entries = node.take_list("columns")
        columns = tuple(column_from_json(entry, f"/columns/{index}") for index, entry in enumerate(entries))
        _check_names(node, columns)
        domain = cls(
            columns=columns,
            target=_take_name(node, "target"),
            privacy_unit=_take_name(node, "privacy_unit"),
            csv=CsvFormat.from_node(Node(node.take("csv", {}), "/csv")),
        )
        modelled = {column.name: column for column in domain.modelled}
        rules = rules_from_json(node.take_list("rules", ()), modelled)
        node.finish()
        domain._check(node)
        require_computable(rules, modelled, domain.target)
        domain._check_learnt(node, rules)
        domain = replace(domain, rules=rules)
        domain.kept  # noqa: B018 - rules that cannot be kept are refused here, not when rows are drawn
        return domain

    def to_json(self) -> dict[str, object]:
        """The complete document, defaults written out; ``from_json`` gives an equal domain back."""
        document: dict[str, object] = {
            "schema": SCHEMA,
            "target": self.target,
            "privacy_unit": self.privacy_unit,
            "csv": self.csv.to_json(),
            "columns": [column_to_json(column) for column in self.columns],
        }
        # Omitted if empty: documents older than rules keep their digest.
        if self.rules:
            columns = {column.name: column for column in self.modelled}
            document["rules"] = [rule.to_json(columns) for rule in self.rules]
        return document

    def digest(self) -> str:
        """SHA-256 of the canonical document, hexadecimal."""
        return canonical_digest(self.to_json())

    @cached_property
    def modelled(self) -> tuple[Modelled, ...]:
        """The columns that are modelled, in file order."""
        return tuple(column for column in self.columns if not isinstance(column, (IgnoredColumn, UnitColumn)))

    @cached_property
    def patterns(self) -> tuple[tuple[TimeColumn, Pattern], ...]:
        """Each date or time column with each of its modelled patterns, in order. Usually empty."""
        return tuple(
            (column, pattern)
            for column in self.modelled
            if isinstance(column, TimeColumn)
            for pattern in column.patterns
        )

    @cached_property
    def coded_columns(self) -> tuple[Modelled, ...]:
        """The modelled columns as they are coded: a column with a difference as its distance from another one."""
        return tuple(
            column if column.difference is None else column.difference.coded for column in self.modelled
        )

    @cached_property
    def differences(self) -> tuple[dict[str, Any], ...]:
        """The columns that are made of another one and a distance, as `core.plan.domain.columns.differences` reads them. Usually empty."""
        return difference_data(self.modelled)

    @cached_property
    def coded(self) -> tuple[Modelled, ...]:
        """The columns that are coded: one for each modelled one, then one for each pattern of a date or time."""
        return (*self.coded_columns, *(pattern_column(column, pattern) for column, pattern in self.patterns))

    @property
    def records_per_unit(self) -> int | None:
        """Maximum number of records of a unit that count, each fully. None if all count, with total weight one."""
        return next((column.records for column in self.columns if isinstance(column, UnitColumn)), None)

    @cached_property
    def cardinalities(self) -> tuple[int, ...]:
        """Number of codes of each coded column."""
        return tuple(column.cardinality for column in self.coded)

    @cached_property
    def ordered(self) -> tuple[bool, ...]:
        """Whether the codes of each coded column have an order in which neighbours are alike: ordinals, bins of numbers, times."""
        return tuple(isinstance(column, OrderedColumn) or column.kind == "ordinal" for column in self.coded)

    @cached_property
    def learnt(self) -> tuple[tuple[int | None, Learnt], ...]:
        """The properties that training learns from the rows: index of the modelled column and property, in order. Usually empty.

        The index is None for the number of records of a unit that count, which comes last.
        """
        found: list[tuple[int | None, Learnt]] = [
            (place, what) for place, column in enumerate(self.modelled) for what in column.learn
        ]
        if any(isinstance(column, UnitColumn) and column.learns_records for column in self.columns):
            found.append((None, "records"))
        return tuple(found)

    @property
    def cells(self) -> int:
        """Width of a one-hot row: the sum of the cardinalities."""
        return sum(self.cardinalities)

    @cached_property
    def target_index(self) -> int | None:
        """Position of the target among the modelled columns."""
        names = [column.name for column in self.modelled]
        return None if self.target is None else names.index(self.target)

    def derived_from(self, place: int) -> tuple[int, ...]:
        """Places of the codes that are derived from a column: its own, those of its patterns and of distances from it.

        As features they would leak the column to whoever predicts it.

        Args:
            place: of the column, or of a pattern of it, among the codes.
        """
        columns = [column.name for column in self.modelled]
        owners = [*columns, *(column.name for column, _ in self.patterns)]
        own = columns.index(owners[place])
        return (
            own,
            *(one["place"] for one in self.differences if one["start"] == own),
            *(index for index in range(len(columns), len(owners)) if owners[index] == owners[place]),
        )

    @cached_property
    def kept(self) -> Kept | None:
        """The rules, prepared for application to drawn rows; None if there are none.

        A rule may change a column from which another one has a difference. So the order of both, which rows have before, is kept too.
        """
        if not self.rules:
            return None
        declared = {rule.columns for rule in self.rules if isinstance(rule, AtMost)}
        orders = [
            (column.difference.start, column.name)
            for column in self.modelled
            if column.difference is not None and column.difference.coded.lower >= 0
        ]
        implied = (AtMost(columns=order) for order in orders if order not in declared)
        return kept_rules(self.modelled, (*self.rules, *implied))

    def _check(self, node: Node) -> None:
        check_differences(node, self.columns, self.target)
        names = {column.name for column in self.columns}
        for column, pattern in self.patterns:
            if f"{column.name}.{pattern}" in names:
                node.refuse(
                    f"A column has the name of the pattern '{column.name}.{pattern}'.", "duplicate-name", key="columns",
                    remedy="Rename the column, or leave out the pattern.",
                )  # fmt: skip
        if not self.modelled:
            node.refuse("No column would be modelled.", "no-modelled-column", key="columns")
        if self.cells > MAXIMUM_CODES:
            node.refuse(
                f"The columns have {self.cells} codes together; at most {MAXIMUM_CODES} are possible.",
                "too-many-codes",
                key="columns",
                remedy="Declare fewer bins or categories, or ignore the column with the most codes.",
            )
        names = {column.name for column in self.modelled}
        if self.target is not None and self.target not in names:
            near = nearest(self.target, names)
            node.refuse(
                "'target' must name a modelled column.", "unknown-target", key="target",
                remedy=(f"Did you mean '{near}'? " if near else "") + "Name a column that is neither ignored nor the privacy unit, or write null.",
            )  # fmt: skip
        units = [column.name for column in self.columns if isinstance(column, UnitColumn)]
        if units != ([] if self.privacy_unit is None else [self.privacy_unit]):
            node.refuse(
                "'privacy_unit' must name the one column of kind 'unit', and be null where there is none.",
                "privacy-unit-mismatch",
                key="privacy_unit",
                remedy="Give the column that identifies a person the kind 'unit' and name it here.",
            )

    def _check_learnt(self, node: Node, rules: tuple[Rule, ...]) -> None:
        if len(self.learnt) > MOST_LEARNT:
            node.refuse(
                f"At most {MOST_LEARNT} bounds, bins and lists of categories can be learnt together.", "too-much-to-learn",
                key="columns", remedy="Declare those that are no secret.",
            )  # fmt: skip
        names = {self.modelled[place].name for place, _what in self.learnt if place is not None}
        for index, rule in enumerate(rules):
            if isinstance(rule, NullTogether):
                continue  # it names no value
            if (learnt := next((name for name in rule.columns if name in names), None)) is not None:
                node.refuse(
                    f"A rule speaks of declared values, and its column '{learnt}' is learnt.", "rule-of-learnt-column",
                    key=f"rules/{index}", remedy="Declare the column's bounds, bins or categories, or leave out the rule.",
                )  # fmt: skip


def _take_name(node: Node, key: str) -> str | None:
    name = node.take(key, None)
    if name is not None and not isinstance(name, str):
        node.refuse(f"'{key}' must name a column or be null.", "not-text", key=key)
    return name


def _check_names(node: Node, columns: tuple[Column, ...]) -> None:
    if not columns:
        node.refuse("'columns' is empty.", "no-columns", key="columns")
    seen: set[str] = set()
    for index, column in enumerate(columns):
        place = f"columns/{index}/name"
        if column.name in seen:
            node.refuse("Two columns have this name.", "duplicate-name", key=place, remedy="Rename one.")
        if len(column.name) > _LONGEST_NAME or not column.name.isprintable():
            node.refuse("A name has at most 200 printable characters.", "bad-name", key=place)
        seen.add(column.name)
