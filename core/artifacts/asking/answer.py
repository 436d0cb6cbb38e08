"""Answers from the noisy counts of a release: counts, means and shares with 95 % intervals. Post-processing, free.

The noise is Gaussian with known variance, so the interval of a count is exact: the estimate plus and minus
1.96 standard errors. A mean or a share is a ratio of two jointly Gaussian sums N / D. Its interval contains
every t with N - t D within 1.96 standard deviations of zero (Fieller 1954), which is exact
too. If D itself is within noise of zero, the interval is the whole range. Results are clipped to their range:
counts at zero, shares at zero and one, means at the smallest and largest value. The true value lies in that
range, so clipping loses no coverage. An interval outside its range would be clipped to a misleadingly certain point, so every
interval extends at least one standard error into its range.

Questions about two or three columns that were not counted together are answered under an assumption
(`core.artifacts.asking.assumed`), and the answer says so. With two such columns the interval is the range that the counts of each column
alone allow; means, and answers over three columns, have no interval.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import BinaryIO, Final, Self

import numpy as np

from core.artifacts.asking import codes, rows_of
from core.artifacts.asking.assumed import MOST_CELLS, assumed_table, assumption_in_words, path_between
from core.artifacts.asking.errors import AnswerTooLong, NoCounts, NotCounted, QuestionInvalid
from core.artifacts.asking.estimates import ColumnPrecision, Estimates, Weights, column_precisions
from core.artifacts.asking.limits import Limits, LimitsOfRows, limits_of_share
from core.artifacts.asking.predictor import LinearPredictor
from core.artifacts.asking.question import Condition, Question, read_question
from core.artifacts.asking.result import Answer, Basis, Row
from core.artifacts.asking.rules_check import RulesCheck, check_rules
from core.artifacts.asking.zeros import Zeros
from core.artifacts.bundle import unpack_counts
from core.artifacts.counts import MOST_COLUMNS, Groups, ReleasedCounts
from core.artifacts.errors import BundleInvalid
from core.plan.domain.columns.kinds import Modelled, NumericColumn
from core.plan.domain.images import SCHEMA as IMAGES
from core.plan.domain.table import TableDomain
from core.plan.near_names import nearest

MOST_ROWS: Final = 10_000
_NAMED: Final = 20
"""Maximum number of columns listed in an error."""
_OF_ZEROS: Final = (
    "Combinations that the declared rules or the calendar exclude are 0: they are not counted and have no noise. "
    "`understudy check-rules` compares the rules with the counts."
)


@dataclass(frozen=True)
class OpenedCounts:
    """The counts of a release, opened for questions."""

    domain: TableDomain
    estimates: Estimates

    @classmethod
    def open(cls, source: bytes | BinaryIO) -> Self:
        """Open the counts in a bundle. The generator is not read.

        Raises:
            BundleInvalid: the bundle is damaged.
            NoCounts: it has no counts.
        """
        document, content, plan_measured = unpack_counts(source)
        if document.get("schema") == IMAGES:
            raise NoCounts("The release is of images, which have no counts.")
        if content is None:
            raise NoCounts(
                "The counts would take more than 64 MiB, or the release was made before bundles held counts."
                if plan_measured
                else "The plan of this release measured no counts: its generator was trained without an anchor."
            )
        domain, counts = TableDomain.from_json(document), ReleasedCounts.from_bytes(content)
        if counts.cardinalities != domain.cardinalities:
            raise BundleInvalid("counts.bin in the bundle does not have the columns of its domain.")
        return cls(domain, Estimates(counts))

    def answer(self, text: str) -> Answer:
        """Answer a question (`core.artifacts.asking.question`).

        Raises:
            QuestionInvalid: the question cannot be parsed, or names an undeclared column or value.
            NotCounted: its columns were not counted together, and no assumption gives an answer.
            AnswerTooLong: the answer has too many rows.
        """
        return _Asked(self, read_question(text)).answer()

    @cached_property
    def precision(self) -> tuple[ColumnPrecision, ...]:
        """Return the precision of the counts of every column."""
        return column_precisions(self.domain, self.estimates)

    @cached_property
    def predictor(self) -> LinearPredictor:
        """Return the linear predictor of the target.

        Raises:
            NotCounted: there is no target, there are too many groups, or no column was counted with the target.
        """
        return LinearPredictor.of(self.domain, self.estimates, self.zeros)

    @cached_property
    def zeros(self) -> Zeros:
        """Return the combinations that the declared rules exclude."""
        return Zeros.of(self.domain, self.estimates, self.rules_check)

    @cached_property
    def rules_check(self) -> RulesCheck:
        """Check the declared rules against the counts."""
        return check_rules(self.domain, self.estimates)


class _Asked:
    """One question resolved against the domain.

    Every sum runs over products of one vector per column, the weights of its codes.
    """

    def __init__(self, opened: OpenedCounts, question: Question) -> None:
        self._domain, self._estimates, self._question = opened.domain, opened.estimates, question
        self._zeros = opened.zeros
        self._notes: list[str] = []
        self._rows = [self._place(name) for name in question.columns]
        if len(set(self._rows)) < len(self._rows):
            raise QuestionInvalid("A column is listed twice.", remedy="Name each column once.")
        self._kept: dict[int, codes.Floats] = {}
        for condition in question.conditions:
            self._restrict(self._kept, *self._selected(condition))
        self._columns = list(self._rows)
        self._columns += [place for place in self._kept if place not in self._columns]
        self._groups: dict[int, Groups] = {}
        self._basis: Basis = "counted"

    def answer(self) -> Answer:
        """The answer."""
        question = self._question
        if question.measure == "mean":
            assert question.subject is not None, "a mean is of a column"
            rows, drawn = self._mean(question.subject)
        elif question.measure == "share":
            rows, drawn = self._share()
        else:
            rows, drawn = self._count()
        self._notes += self._notes_of_zeros
        return Answer(
            measure=question.measure,
            basis=self._basis,
            columns=tuple(self._column(place).name for place in self._rows),
            rows=rows,
            counted=codes.counted_by(self._domain),
            drawn_rows=drawn,
            notes=(*self._notes, *rows_of.comparison(drawn)),
        )

    def _count(self) -> tuple[tuple[Row, ...], int | None]:
        self._settle()
        self._require_answerable()
        estimates = self._sums(self._kept)
        empty = self._are_empty(self._kept)
        if self._basis == "assumed":
            return rows_of.exact(self._within(estimates, self._limits(self._kept)), empty, 0.0), None
        error = math.sqrt(self._covariance(self._kept, self._kept))
        rows = tuple(map(rows_of.counted, self._labels(), estimates, itertools.repeat(error)))
        rows = rows_of.exact(rows, empty, 0.0)
        largest, total = max(estimates, default=0.0), self._total()
        return rows, rows_of.drawn(largest * (total - largest), error) if total > largest else None

    def _share(self) -> tuple[tuple[Row, ...], int | None]:
        condition = self._question.share
        assert condition is not None, "a share is of a condition"
        place, codes_of = self._selected(condition)
        self._beside(place)
        self._settle()
        held = dict(self._kept)
        self._restrict(held, place, self._merged(place, codes_of))
        self._require_answerable()
        rest = self._kept | {place: self._kept.get(place, np.ones(len(held[place]))) - held[place]}
        if self._basis == "assumed":
            parts, rests = self._limits(held), self._limits(rest)
            found = [limits_of_share(*both) for both in zip(parts, rests, strict=True)]
            rows = self._within(self._assumed_ratios(held, self._kept), found)
            return self._known_shares(rows, held, rest), None
        rows, wholes = self._ratios(held, self._kept, low=0.0, high=1.0)
        rows = self._known_shares(rows, held, rest)
        best = int(np.argmax(wholes))
        error, share = rows[best].standard_error, rows[best].estimate
        if not error or share is None:
            return rows, None
        return rows, rows_of.drawn(share * (1 - share) * self._total() / wholes[best], error)

    def _known_shares(self, rows: tuple[Row, ...], part: Weights, rest: Weights) -> tuple[Row, ...]:
        """Rows of shares, exact if the declared rules determine them."""
        none, full = self._are_empty(part), self._are_empty(rest)
        rows = rows_of.exact(rows_of.exact(rows, none & ~full, 0.0), full & ~none, 1.0)
        return rows_of.of_nothing(rows, none & full, low=0.0, high=1.0)

    def _mean(self, name: str) -> tuple[tuple[Row, ...], int | None]:
        place = self._place(name)
        column = self._column(place)
        if not isinstance(column, NumericColumn):
            raise QuestionInvalid(f"'{name}' is not numeric, so it has no mean.", column=name)
        numbers, count, half = codes.numbers_of(column)
        self._beside(place)
        if not (count & (self._kept.get(place, np.ones(len(count))) > 0)).any():
            raise QuestionInvalid(f"None of the selected values of '{name}' is a number.", column=name)
        self._settle()
        numbers, half = self._middles(place, numbers, count, half)
        held = dict(self._kept)
        self._restrict(held, place, self._merged(place, count))
        if half:
            merged = len(numbers) < self._domain.cardinalities[place]
            self._notes += rows_of.of_bins(name, half, merged=merged)
        kept = numbers[held[place] > 0]
        low, high = float(kept.min()), float(kept.max())
        weighted = held | {place: held[place] * numbers}
        self._require_answerable()
        if self._basis == "assumed":
            rows = self._within(
                self._assumed_ratios(weighted, held), self._limits_of_mean(place, numbers, held)
            )
            return rows_of.of_nothing(rows, self._are_empty(held), low=low, high=high), None
        rows, wholes = self._ratios(weighted, held, low=low, high=high)
        rows = rows_of.of_nothing(rows, self._are_empty(held), low=low, high=high)
        best = int(np.argmax(wholes))
        error, mean = rows[best].standard_error, rows[best].estimate
        if not error or mean is None:
            return rows, None
        squares = self._sums(held | {place: held[place] * numbers**2})[best] / wholes[best]
        spread = max(squares - mean**2, 0.0)
        return rows, rows_of.drawn(spread * self._total() / wholes[best], error)

    def _ratios(
        self, above: Weights, below: Weights, *, low: float, high: float
    ) -> tuple[tuple[Row, ...], list[float]]:
        """Ratios of two sums in every row, and the denominators."""
        parts, wholes = self._sums(above), self._sums(below)
        variances = (
            self._covariance(above, above),
            self._covariance(above, below),
            self._covariance(below, below),
        )
        rows = tuple(
            rows_of.ratio(values, part, whole, variances, low=low, high=high)
            for values, part, whole in zip(self._labels(), parts, wholes, strict=True)
        )
        return rows, wholes

    def _assumed_ratios(self, above: Weights, below: Weights) -> list[float | None]:
        sums = zip(self._sums(above), self._sums(below), strict=True)
        return [part / whole if whole > 0 else None for part, whole in sums]

    def _within(self, estimates: Sequence[float | None], found: Sequence[Limits]) -> tuple[Row, ...]:
        """Rows of an assumed answer, each clipped to its limits."""
        rows = []
        for values, estimate, (low, high) in zip(self._labels(), estimates, found, strict=True):
            shown = None if estimate is None else min(max(estimate, low), high)
            rows.append(
                Row(values=values, estimate=shown, low=low, high=high, standard_error=None, unbiased=None)
            )
        return tuple(rows)

    def _limits(self, weights: Weights) -> list[Limits]:
        """The limits of the number of records in every row, under any dependence."""
        limits = LimitsOfRows(self._estimates, self._columns, self._zeros)
        return limits.records(self._events(weights))

    def _limits_of_mean(self, place: int, numbers: codes.Floats, held: Weights) -> list[Limits]:
        """The limits of the mean of a column in every row, under any dependence."""
        tails = 2 * (int((held[place] > 0).sum()) - 1)
        limits = LimitsOfRows(self._estimates, self._columns, self._zeros, further=tails)
        return limits.mean(place, numbers, held[place], limits.records(self._events(held)))

    def _events(self, weights: Weights) -> list[list[codes.Floats]]:
        """Groups of each row by column, or the groups that all rows are restricted to."""
        events = []
        for place in self._columns:
            kept = weights.get(place, self._codes(place))
            events.append([kept] if place not in self._rows else list(np.diag(kept)[kept > 0]))
        return events

    @cached_property
    def _table(self) -> codes.Floats:
        if self._basis == "assumed":
            target = self._domain.target_index
            return assumed_table(self._estimates, self._columns, target=target, zeros=self._zeros)
        return self._estimates.table(self._columns)

    def _are_empty(self, weights: Weights) -> codes.Mask:
        """(rows,) whether a row contains only combinations that are known to be empty."""
        shape = [len(self._codes(place)) for place in self._columns]
        empty = self._zeros.of_columns(self._columns)
        possible = np.ones(shape) if empty is None else np.broadcast_to(~empty, shape).astype(np.float64)
        found: codes.Mask = np.array(self._sums_of(possible, weights)) == 0
        return found

    @property
    def _notes_of_zeros(self) -> list[str]:
        """Notes on the asked columns' combinations that the declared rules exclude."""
        empty = self._zeros.of_columns(self._columns) if len(self._columns) > 1 else None
        return [_OF_ZEROS] if empty is not None else []

    def _sums(self, weights: Weights) -> list[float]:
        """A weighted sum in every row of the answer."""
        return self._sums_of(self._table, weights)

    def _sums_of(self, table: codes.Floats, weights: Weights) -> list[float]:
        for axis in range(len(self._columns) - 1, -1, -1):
            place = self._columns[axis]
            if axis >= len(self._rows):
                factor = weights.get(place, np.ones(table.shape[axis]))
                table = np.tensordot(table, factor, axes=([axis], [0]))
            elif place in self._kept:
                table = np.take(table, np.flatnonzero(self._kept[place]), axis=axis)
                factor = weights[place][self._kept[place] > 0]
                table = np.moveaxis(np.moveaxis(table, axis, -1) * factor, -1, axis)
        return [float(value) for value in np.ravel(table)]

    def _covariance(self, left: Weights, right: Weights) -> float:
        """Covariance of two sums in one row; equal in all rows, because a row has one code of each of its columns."""
        first = {
            place: np.eye(1, len(self._codes(place)), int(np.flatnonzero(self._codes(place))[0]))[0]
            for place in self._rows
        }
        a = {**left, **first}
        return self._estimates.covariance(self._columns, a, a if left is right else {**right, **first})

    def _settle(self) -> None:
        """Convert from codes to the groups of the joint counts, once all columns are known."""
        self._groups = self._estimates.groups(self._columns)
        self._kept = {
            place: self._merged(place, kept > 0).astype(float) for place, kept in self._kept.items()
        }

    def _merged(self, place: int, mask: codes.Mask) -> codes.Mask:
        """The groups that a selection of codes touches. A partially selected group is counted in full, with a note."""
        groups = self._groups[place]
        touched = np.bincount(groups, weights=mask) > 0
        if (touched[groups] & ~mask).any():
            column = self._column(place)
            labels = codes.labels_of(column)
            whole = [codes.name_of_group(labels, groups, group) for group in np.flatnonzero(touched).tolist()]
            self._notes.append(
                f"Joint counts of '{column.name}' are of groups of values, so the answer covers whole groups: "
                f"{'; '.join(whole[:_NAMED])}{' and others' if len(whole) > _NAMED else ''}."
            )
        return touched

    def _middles(
        self, place: int, numbers: codes.Floats, count: codes.Mask, half: float
    ) -> tuple[codes.Floats, float]:
        """The value of each group in a mean, weighted by the counts of its codes, and the largest possible error."""
        groups = self._groups[place]
        if int(groups.max()) + 1 == len(groups):
            return numbers, half
        weights = np.maximum(self._estimates.table((place,)), 1.0) * count
        sums = np.bincount(groups, weights=weights)
        middles = np.bincount(groups, weights=weights * numbers) / np.maximum(sums, 1e-9)
        asked = count & (self._codes(place)[groups] > 0)
        off = float(np.abs(numbers - middles[groups])[asked].max(initial=0.0))
        return middles, half + off

    def _total(self) -> float:
        return float(self._estimates.table(()))

    def _labels(self) -> Sequence[tuple[str, ...]]:
        shown = []
        for place in self._rows:
            labels, groups = codes.labels_of(self._column(place)), self._groups[place]
            kept = np.flatnonzero(self._codes(place)).tolist()
            shown.append([codes.name_of_group(labels, groups, group) for group in kept])
        return list(itertools.product(*shown))

    def _codes(self, place: int) -> codes.Floats:
        return self._kept.get(place, np.ones(int(self._groups[place].max()) + 1))

    def _beside(self, place: int) -> None:
        """Add a column to sum over."""
        if place in self._rows:
            raise QuestionInvalid(
                "The measured column cannot also be a column of the answer.", remedy="Leave out one."
            )
        if place not in self._columns:
            self._columns.append(place)

    def _restrict(self, kept: dict[int, codes.Floats], place: int, mask: codes.Mask) -> None:
        kept[place] = kept.get(place, np.ones(len(mask))) * mask
        if kept is self._kept and not kept[place].any():
            raise QuestionInvalid(
                f"No value of '{self._column(place).name}' meets all conditions.",
                remedy="Leave out one of the conditions.",
            )

    def _selected(self, condition: Condition) -> tuple[int, codes.Mask]:
        place = self._place(condition.column)
        found = codes.selected(self._column(place), condition)
        self._notes += [found.note] if found.note else []
        return place, found.codes

    def _column(self, place: int) -> Modelled:
        return self._domain.coded[place]

    def _place(self, name: str) -> int:
        names = [column.name for column in self._domain.coded]
        if name not in names:
            few = names[:_NAMED]
            more = f" and {len(names) - len(few)} more" if len(names) > len(few) else ""
            near = nearest(name, names)
            raise QuestionInvalid(
                f"A column of the question is not modelled. The modelled columns are {', '.join(few)}{more}.",
                remedy=f"Did you mean '{near}'? {QuestionInvalid.default_remedy}" if near else "",
                columns=few,
            )
        return names.index(name)

    def _require_answerable(self) -> None:
        """Decide whether the columns were counted together; refuse a question without an answer under any assumption."""
        names = [self._column(place).name for place in self._columns]
        rows = math.prod(int(self._codes(place).sum()) for place in self._rows)
        if rows > MOST_ROWS:
            raise AnswerTooLong(most=MOST_ROWS)
        if len(names) <= MOST_COLUMNS and self._estimates.are_counted(self._columns):
            return
        cells = math.prod(int(self._groups[place].max()) + 1 for place in self._columns)
        each = all(self._estimates.are_counted((place,)) for place in self._columns)
        if len(names) <= MOST_COLUMNS and cells <= MOST_CELLS and each:
            self._basis = "assumed"
            self._notes.insert(0, self._assumption())
            return
        target = self._domain.target_index
        pairs = self._counted_pairs()
        three = self._estimates.are_counted_with(target)
        possible = f"{pairs}, and any three of which '{self._domain.target}' is one" if three else pairs
        if self._estimates.are_counted(range(len(self._domain.coded))):
            possible = "any one, two or three columns"
        raise NotCounted(
            f"The columns {', '.join(names)} were not counted together.",
            remedy=f"Counted together were {possible}. For more than three columns draw rows with `understudy sample`.",
            columns=names,
        )

    def _assumption(self) -> str:
        target = self._domain.target_index
        path = (
            path_between(self._estimates, *self._columns, target=target) if len(self._columns) == 2 else ()  # noqa: PLR2004
        )
        names = [self._column(place).name for place in self._columns]
        between = [self._column(place).name for place in path[1:-1]]
        return assumption_in_words(names, between)

    def _counted_pairs(self) -> str:
        """Describe which columns were counted together."""
        target, columns = self._domain.target_index, range(len(self._domain.coded))
        counted = self._estimates.are_counted
        if all(counted(pair) for pair in itertools.combinations(columns, 2)):
            return "any one or two columns"
        if target is not None and all(counted((target, place)) for place in columns if place != target):
            return f"any one column, any with '{self._domain.target}', and pairs that were chosen for their dependence"
        return "any one column, and pairs that were chosen for their dependence"
