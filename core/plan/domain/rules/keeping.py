"""Drawn rows made to keep the rules between columns. Needs numpy alone: the script of a bundle holds a copy.

Rows are held by column, each column a float64 array: a number as it is, a date in days, a time in seconds, a word as its
place in its list, NaN for a missing value. `Keeper.keep` works on the values, not on their codes, in five steps:

1. *Complete.* What a rule computes from other columns is computed: the value in a code book, the total of a sum or the
   column that the sum names. Columns that are missing together, and are so in part, follow one of them: all are missing where it is.
2. *Draw again.* Rows that break a rule other than an order are drawn again, at most `REDRAWS` times.
3. *Exchange.* Rows exchange values to keep an order (`core.plan.domain.rules.exchanging`). Rows that break a rule after that are drawn
   again, at most `REDRAWS` times.
4. *Mend.* In each remaining row, each broken rule changes its own columns, in the order of `KINDS`, at most `PASSES` times.
5. *Replace.* Columns that rules tie together, directly or through others, are taken from a row of the same batch that keeps
   those rules; without such a row, from the witness: a record that was found when the rules were declared.

All loops are bounded, so this ends. After step 5 no rule is broken: a rule reads one group of tied columns only, and
each group has values that kept every rule of the group together.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from core.plan.domain.rules.classes import Flags, Floats, Places, Values
from core.plan.domain.rules.exchanging import Order, exchange, exchanged_orders
from core.plan.domain.rules.mending import KINDS, AtMost, NullTogether, Rows, Rule

REDRAWS = 8
PASSES, DOCUMENTED_PASSES = 16, 8
# Of rows among which a witness is searched for: first few, then as many as fit into a bounded amount of work.
FEW_CANDIDATES, CANDIDATES, CANDIDATES_TIMES_RULES = 64, 1024, 20_000
# Of many rows drawn again fewer keep the rules: further draws would cost more than they save.
WORTHWHILE, MANY = 1 / 8, 64


class Keeper:
    """All rules of a table.

    Args:
        data: "values", what `Values` takes by the place of each tied column, as text; "rules", each with its "kind" and
            "columns"; "witness", a value or None for each tied column, or None while it is not known.
    """

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.values = {int(place): Values(column) for place, column in data["values"].items()}
        order = list(KINDS.values())
        self.declared = [KINDS[rule["kind"]](rule, self.values) for rule in data["rules"]]
        self.rules = sorted(self.declared, key=lambda rule: order.index(type(rule)))
        self._known_orders: dict[int | None, list[Order]] = {}
        self.witness = {
            int(place): np.nan if value is None else value for place, value in (data["witness"] or {}).items()
        }

    def broken(self, rows: Rows) -> Flags:
        """Mask of the rows that break a rule."""
        return _broken(self.rules, rows)

    def keep(
        self,
        columns: Sequence[Floats],
        redraw: Callable[[Places], Sequence[Floats]],
        rng: np.random.Generator,
        *,
        target: int | None = None,
    ) -> None:
        """Make rows keep every rule, by the steps of the module docstring.

        Args:
            columns: All columns of the rows; changed in place.
            redraw: Draws all columns of the rows at some places again.
            rng: The only source of chance, besides `redraw`.
            target: The column whose values stay in every row that is drawn again, or None without one.
        """
        rows = {place: columns[place] for place in self.values}
        self._complete(rows, np.arange(len(columns[0])))
        for rule in self.rules:
            if isinstance(rule, NullTogether):
                _on_broken(rule, rows, partial(rule.clear, rng=rng, target=target))
        if orders := self._orders(target):
            self._draw_again([rule for rule in self.rules if not isinstance(rule, AtMost)], columns, redraw)
            exchange(orders, columns, target, rng)
        self._draw_again(self.rules, columns, redraw)
        at = np.flatnonzero(self.broken(rows))
        for _ in _mend(self.rules, rows, at, rng):
            pass
        self._replace(rows, rng)

    def _orders(self, target: int | None) -> list[Order]:
        if target not in self._known_orders:
            self._known_orders[target] = exchanged_orders(self.rules, target)
        return self._known_orders[target]

    def _draw_again(
        self, rules: Sequence[Rule], columns: Sequence[Floats], redraw: Callable[[Places], Sequence[Floats]]
    ) -> None:
        """Draw rows that break one of some rules again, as long as enough of them come to keep these."""
        rows = {place: columns[place] for place in self.values}
        at = np.flatnonzero(_broken(rules, rows))
        for _ in range(REDRAWS):
            if not len(at):
                return
            for column, drawn in zip(columns, redraw(at), strict=True):
                column[at] = drawn
            self._complete(rows, at)
            left = at[_broken(rules, {place: values[at] for place, values in rows.items()})]
            worthwhile = len(at) <= MANY or len(left) <= (1 - WORTHWHILE) * len(at)
            at = left
            if not worthwhile:
                return

    def find_witness(self, rng: np.random.Generator) -> bool:
        """Search for a record that keeps every rule, and take it as the witness; whether the bounded search finds one."""
        for rules in self.groups():
            tied = {place for rule in rules for place in rule.columns}
            for candidates in (FEW_CANDIDATES, min(CANDIDATES, CANDIDATES_TIMES_RULES // len(rules))):
                rows = {}
                for place in sorted(tied):
                    rows[place] = self.values[place].draw(candidates, rng)
                    if self.values[place].nullable:
                        rows[place][rng.random(candidates) < 1 / 4] = np.nan
                kept = np.flatnonzero(~_broken(rules, rows))
                for left in _mend(rules, rows, np.flatnonzero(_broken(rules, rows)), rng):
                    if len(kept):
                        break
                    kept = np.setdiff1d(np.arange(candidates), left)
                if len(kept):
                    self.witness |= {place: float(own[kept[0]]) for place, own in rows.items()}
                    break
            else:
                return False
        return True

    def groups(self) -> Iterator[list[Rule]]:
        """Rules that are tied together by common columns, directly or through others."""
        left = list(self.rules)
        while left:
            group, seen = [left.pop(0)], -1
            while seen != len(group):
                seen = len(group)
                tied = {place for rule in group for place in rule.columns}
                group += [rule for rule in left if tied & set(rule.columns)]
                left = [rule for rule in left if not tied & set(rule.columns)]
            yield [rule for rule in self.rules if rule in group]

    def _complete(self, rows: Rows, at: Places) -> None:
        """Complete the rows at some places."""
        some = {place: values[at] for place, values in rows.items()}
        for rule in self.rules:
            _on_broken(rule, some, rule.complete)
        for place, values in some.items():
            rows[place][at] = values

    def _replace(self, rows: Rows, rng: np.random.Generator) -> None:
        for rules in self.groups():
            bad = _broken(rules, rows)
            if not bad.any():
                continue
            donors = np.flatnonzero(~bad)
            chosen = donors[rng.integers(len(donors), size=int(bad.sum()))] if len(donors) else None
            for place in {place for rule in rules for place in rule.columns}:
                rows[place][bad] = self.witness[place] if chosen is None else rows[place][chosen]


def _broken(rules: Sequence[Rule], rows: Rows) -> Flags:
    found = np.zeros(len(next(iter(rows.values()))), dtype=np.bool_)
    for rule in rules:
        found |= rule.broken(rows)
    return found


def _mend(rules: Sequence[Rule], rows: Rows, at: Places, rng: np.random.Generator) -> Iterator[Places]:
    """Mend the rows at some places; after each pass give the places of those that still break a rule."""
    for number in range(PASSES):
        if not len(at):
            return
        some = {place: rows[place][at] for rule in rules for place in rule.columns}
        # There and back, so that a change at either end of a chain of rules reaches the other end within two passes.
        for rule in rules if number % 2 == 0 else reversed(rules):
            mend = partial(rule.mend, batch=rows, rng=rng, first=number < DOCUMENTED_PASSES)
            _on_broken(rule, some, mend)
        for place, values in some.items():
            rows[place][at] = values
        at = at[_broken(rules, some)]
        yield at


def _on_broken(rule: Rule, rows: Rows, change: Callable[[Rows], None]) -> None:
    """Change a rule's columns in the rows that break it."""
    at = np.flatnonzero(rule.broken(rows))
    if len(at):
        part = {place: rows[place][at] for place in rule.columns}
        change(part)
        for place, values in part.items():
            rows[place][at] = values
