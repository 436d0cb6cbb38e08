"""The grammar of questions and its parser.

    question   count [by COLUMN ...] | [count of] COLUMN [by COLUMN ...] | mean of COLUMN [by ...] | share of CONDITION [by ...]
               each followed by [where CONDITION and CONDITION ...]; further columns follow another `by` or a comma
    condition  COLUMN = VALUE | COLUMN in (VALUE, VALUE ...) | COLUMN between VALUE and VALUE

A name or value in single or double quotes may contain spaces or punctuation, or be a keyword; a quote
inside is doubled.
"""

import re
from dataclasses import dataclass
from typing import Final, Literal

from core.artifacts.asking.errors import QuestionInvalid

LONGEST: Final = 2000
"""Maximum number of characters of a question."""
_TOKEN: Final = re.compile(r"""\s*(?:"((?:[^"]|"")*)"|'((?:[^']|'')*)'|([=(),])|([^\s=(),"']+))""")
_WORDS: Final = frozenset({"by", "where", "and", "in", "between"})

Measure = Literal["count", "mean", "share"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A restriction of one column.

    Attributes:
        values: the values, or the two ends of a range, as written.
    """

    column: str
    values: tuple[str, ...]
    is_range: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A parsed question, with names that are not yet checked against a domain.

    Attributes:
        subject: the column of a mean; None otherwise.
        share: the condition of a share; None otherwise.
        columns: the columns; each combination of their values is a row of the answer.
        conditions: the conditions, which together restrict the counted records.
    """

    measure: Measure
    subject: str | None
    share: Condition | None
    columns: tuple[str, ...]
    conditions: tuple[Condition, ...]


def read_question(text: str) -> Question:
    """Parse a question.

    Raises:
        QuestionInvalid: it does not follow the grammar.
    """
    return _Reader(_tokens(text)).question()


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    at: int
    is_quoted: bool = False

    def says(self, word: str) -> bool:
        return not self.is_quoted and self.text.lower() == word


def _tokens(text: str) -> list[_Token]:
    if len(text) > LONGEST:
        raise QuestionInvalid(f"A question has at most {LONGEST} characters.")
    found, at = [], 0
    end = len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None:
            raise QuestionInvalid(f"The quote at character {at + 1} is not closed.")
        double, single, sign, bare = match.groups()
        begins = match.end() - len(match[0].lstrip()) + 1
        if double is not None:
            found.append(_Token(double.replace('""', '"'), begins, is_quoted=True))
        elif single is not None:
            found.append(_Token(single.replace("''", "'"), begins, is_quoted=True))
        else:
            found.append(_Token(sign or bare, begins))
        at = match.end()
    return found


class _Reader:
    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens
        self._next = 0

    def question(self) -> Question:
        measure: Measure = "count"
        subject = share = None
        columns: list[str] = []
        if self._sees("count") and not self._sees("=", 1):
            self._next += 1
            if self._takes("of"):
                columns.append(self._name("the column that is counted"))
        elif self._sees("mean") and self._sees("of", 1):
            self._next += 2
            measure, subject = "mean", self._name("the column of the mean")
        elif self._sees("share") and self._sees("of", 1):
            self._next += 2
            measure, share = "share", self._condition()
        else:
            columns.append(self._name("a column"))
        while self._takes("by"):
            columns.append(self._name("a column after 'by'"))
            while self._takes(","):
                columns.append(self._name("a column after ','"))
        conditions: list[Condition] = []
        if self._takes("where"):
            conditions.append(self._condition())
            while self._takes("and"):
                conditions.append(self._condition())
        if self._next < len(self._tokens):
            raise self._stuck("'by', 'where', 'and' or the end")
        return Question(
            measure=measure,
            subject=subject,
            share=share,
            columns=tuple(columns),
            conditions=tuple(conditions),
        )

    def _condition(self) -> Condition:
        column = self._name("the column of a condition")
        if self._takes("="):
            return Condition(column=column, values=(self._value(),), is_range=False)
        if self._takes("between"):
            low = self._value()
            self._require("and")
            return Condition(column=column, values=(low, self._value()), is_range=True)
        if self._takes("in"):
            self._require("(")
            values = [self._value()]
            while self._takes(","):
                values.append(self._value())
            self._require(")")
            return Condition(column=column, values=tuple(values), is_range=False)
        raise self._stuck("'=', 'in' or 'between' and a value of the column")

    def _sees(self, word: str, ahead: int = 0) -> bool:
        place = self._next + ahead
        return place < len(self._tokens) and self._tokens[place].says(word)

    def _takes(self, word: str) -> bool:
        seen = self._sees(word)
        self._next += seen
        return seen

    def _require(self, word: str) -> None:
        if not self._takes(word):
            raise self._stuck(f"'{word}'")

    def _name(self, what: str) -> str:
        if any(map(self._sees, _WORDS)):
            raise self._stuck(f"{what} (in quotes if it is a keyword)")
        return self._text(what)

    def _value(self) -> str:
        return self._text("a value")

    def _text(self, what: str) -> str:
        if self._next == len(self._tokens) or any(map(self._sees, "=(),")):
            raise self._stuck(what)
        self._next += 1
        return self._tokens[self._next - 1].text

    def _stuck(self, expected: str) -> QuestionInvalid:
        if self._next == len(self._tokens):
            return QuestionInvalid(f"The question ends where {expected} is expected.")
        return QuestionInvalid(f"At character {self._tokens[self._next].at}, {expected} is expected.")
