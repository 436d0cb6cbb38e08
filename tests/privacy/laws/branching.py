"""Every path of a sampler, with its exact probability: the sampler runs again and again on told answers.

A sampler asks a source of randomness questions with finitely many answers of known probability. `explore` runs it on
every sequence of answers, depth first, until the probability of a path is below a limit; nothing is random in it.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable
from decimal import Decimal, localcontext

DIGITS = 60
AGAIN = "again"
"""The outcome of a path that is back where it began."""


class Again(Exception):
    """The sampler rejected and begins anew, in the state in which it began."""


class Unlikely(Exception):
    """The path is too improbable to follow."""


class Path:
    """Answers told in order; where they end, the first answer of the next question is taken and the others are noted."""

    def __init__(self, told: list[int], limit: Decimal) -> None:
        self._told = told
        self._limit = limit
        self._asked = 0
        self.probability = Decimal(1)
        self.answers: list[int] = []
        self.counts: list[int] = []

    def ask(self, probabilities: list[Decimal]) -> int:
        """The index of the answer."""
        answer = self._told[self._asked] if self._asked < len(self._told) else 0
        self._asked += 1
        self.answers.append(answer)
        self.counts.append(len(probabilities))
        self.probability *= probabilities[answer]
        if self.probability < self._limit:
            raise Unlikely
        return answer


def explore(
    sampler: Callable[[Path], Hashable], *, limit: Decimal
) -> tuple[dict[Hashable, Decimal], Decimal]:
    """Probabilities of the outcomes of a sampler, `AGAIN` among them, and the probability of paths not followed.

    Args:
        sampler: asks a path and returns an outcome, or raises `Again`.
        limit: paths of less probability are not followed.
    """
    found: defaultdict[Hashable, Decimal] = defaultdict(Decimal)
    left = Decimal(0)
    told: list[int] | None = []
    with localcontext() as context:
        context.prec = DIGITS
        while told is not None:
            path = Path(told, limit)
            try:
                found[sampler(path)] += path.probability
            except Again:
                found[AGAIN] += path.probability
            except Unlikely:
                left += path.probability
            told = _next(path)
    return dict(found), left


def accepted(found: dict[Hashable, Decimal]) -> dict[Hashable, Decimal]:
    """The law of the outcomes once it begins anew as often as it takes: each over the probability of ending."""
    with localcontext() as context:
        context.prec = DIGITS
        ends = 1 - found.get(AGAIN, Decimal(0))
        return {outcome: p / ends for outcome, p in found.items() if outcome != AGAIN}


def _next(path: Path) -> list[int] | None:
    answers, counts = path.answers, path.counts
    while answers:
        if answers[-1] + 1 < counts[len(answers) - 1]:
            return [*answers[:-1], answers[-1] + 1]
        answers = answers[:-1]
    return None
