"""A parser for the part of PromQL that our dashboard and alerts use; whatever it does not know is an error.

    expression = term (operator ["on" "(" labels ")"] term)*
    term       = number | "(" expression ")" | function "(" arguments ")" | aggregation [by] "(" arguments ")" [by]
               | selector ["[" duration "]"]
    selector   = name ["{" label ("=" | "!=" | "=~" | "!~") string ("," ...)* "}"]

`metrics` gives what an expression selects, with each metric's labels and whether a range was taken.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

TOKENS: Final = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d+)?(?![\w.]))|(?P<name>[a-zA-Z_:][\w:]*)|(?P<string>\"[^\"]*\")"
    r"|(?P<range>\[\d+[smhd]\])|(?P<sign>=~|!~|==|!=|>=|<=|[-+*/(){},=<>]))"
)
RANGED: Final = frozenset({"rate", "increase", "delta"})
PLAIN: Final = {"histogram_quantile": 2, "clamp_min": 2, "time": 0}
AGGREGATIONS: Final = frozenset({"sum", "max", "min", "topk"})
OPERATORS: Final = frozenset({"+", "-", "*", "/", "==", "!=", ">", "<", ">=", "<=", "and"})
MATCHERS: Final = frozenset({"=", "!=", "=~", "!~"})


class NotPromql(ValueError):
    """The expression is not in the part of the language that is known here."""


@dataclass(frozen=True)
class Selected:
    """One selector of an expression.

    Attributes:
        name: of the metric.
        labels: matched, or grouped by.
        function: that takes its range, or None for an instant.
    """

    name: str
    labels: frozenset[str]
    function: str | None


@dataclass
class Parser:
    """Reads one expression.

    Attributes:
        text: the expression.
    """

    text: str
    found: list[Selected] = field(default_factory=list)
    grouped: set[str] = field(default_factory=set)

    def parse(self) -> "Parser":
        self._tokens = list(self._tokenise())
        self._at = 0
        self._expression(None)
        if self._at != len(self._tokens):
            raise NotPromql(self.text)
        return self

    def _tokenise(self) -> Iterator[tuple[str, str]]:
        place = 0
        while self.text[place:].strip():
            token = TOKENS.match(self.text, place)
            if token is None or token.lastgroup is None:
                raise NotPromql(self.text[place:])
            yield token.lastgroup, token[token.lastgroup]
            place = token.end()

    def _peek(self) -> tuple[str, str]:
        return self._tokens[self._at] if self._at < len(self._tokens) else ("end", "")

    def _take(self, *wanted: str) -> str:
        kind, text = self._peek()
        if text not in wanted and kind not in wanted:
            raise NotPromql(f"{text or 'the end'} where {wanted} should be, in {self.text}")
        self._at += 1
        return text

    def _expression(self, function: str | None) -> None:
        self._term(function)
        while self._peek()[1] in OPERATORS:
            self._take("sign", "and")
            self._labelled("on")
            self._term(function)

    def _term(self, function: str | None) -> None:
        kind, text = self._peek()
        if kind == "number":
            self._take("number")
        elif text == "(":
            self._take("(")
            self._expression(function)
            self._take(")")
        else:
            self._called_or_selected(self._take("name"), function)

    def _called_or_selected(self, name: str, function: str | None) -> None:
        if name in AGGREGATIONS:
            self._labelled("by")
            arguments = self._arguments(None)
            self._labelled("by")
            if arguments != (2 if name == "topk" else 1):
                raise NotPromql(f"{name} of {arguments} arguments in {self.text}")
        elif name in RANGED or name in PLAIN:
            arguments = self._arguments(name if name in RANGED else None)
            if arguments != PLAIN.get(name, 1):
                raise NotPromql(f"{name} of {arguments} arguments in {self.text}")
        else:
            self._selector(name, function)

    def _arguments(self, function: str | None) -> int:
        self._take("(")
        count = 0
        while self._peek()[1] != ")":
            if count:
                self._take(",")
            self._expression(function)
            count += 1
        self._take(")")
        return count

    def _labelled(self, word: str) -> None:
        if self._peek()[1] != word:
            return
        self._take(word)
        self._take("(")
        self.grouped.add(self._take("name"))
        while self._peek()[1] == ",":
            self._take(",")
            self.grouped.add(self._take("name"))
        self._take(")")

    def _selector(self, name: str, function: str | None) -> None:
        labels: set[str] = set()
        if self._peek()[1] == "{":
            self._take("{")
            while not labels or self._peek()[1] == ",":
                if labels:
                    self._take(",")
                labels.add(self._take("name"))
                self._take(*MATCHERS)
                re.compile(self._take("string").strip('"'))
            self._take("}")
        ranged = self._peek()[0] == "range"
        if ranged != (function is not None):
            raise NotPromql(f"{name} wants {'no ' if ranged else 'a '}range in {self.text}")
        if ranged:
            self._take("range")
        self.found.append(Selected(name, frozenset(labels), function))
