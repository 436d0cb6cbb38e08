"""How often the statistical tests of this folder may fail by chance: all together at most once in a million runs.

Every test draws on a share of one budget. A test that makes `n` two-sided comparisons gives each side `share / 2n`,
so by the union bound the test fails by chance with at most its share, however its comparisons hang together. Keys in
the tests are fixed, so there is no chance left in CI; the bound says what a pass is worth, and holds for fresh keys.
"""

import math
from dataclasses import dataclass, field

FALSE_ALARM = 1e-6
"""Of one run of all tests in this folder."""

SHARES = {
    "words": 2e-7,
    "normals": 1.5e-7,
    "tails": 5e-8,
    "gradient noise": 1e-7,
    "released noise": 1e-7,
    "independence": 1e-7,
    "sampling": 1e-7,
    "record choice": 5e-8,
    "discrete noise": 1e-7,
    "keys": 5e-8,
}


@dataclass
class Alarm:
    """Collects the comparisons of one test and says which failed.

    Args:
        share: probability that any comparison fails by chance.
        comparisons: how many there will be; more are refused.
    """

    share: float
    comparisons: int
    made: dict[str, float] = field(default_factory=dict)
    rung: list[str] = field(default_factory=list)

    @property
    def side(self) -> float:
        """Probability that one comparison fails by chance on one side."""
        return self.share / (2 * self.comparisons)

    def within(self, name: str, value: float, low: float, high: float) -> None:
        """Note a statistic with its bounds, each of which the law exceeds with probability `side` at most."""
        assert name not in self.made, f"{name} is compared twice"
        assert len(self.made) < self.comparisons, "the union bound counts every comparison"
        self.made[name] = float(value)
        if not low <= value <= high:
            self.rung.append(name)

    def below(self, name: str, value: float, high: float) -> None:
        """Note a one-sided statistic."""
        self.within(name, value, -math.inf, high)


def alarm(test: str, comparisons: int, *, cases: int = 1) -> Alarm:
    """The alarm of one test, or of one of several cases that divide a share of the budget."""
    return Alarm(SHARES[test] / cases, comparisons)
