"""Numbers of a promise, rounded up: a sentence must not promise more than the number that it stands on."""

from decimal import ROUND_CEILING, Context, Decimal
from typing import Final

from service.dashboard.words import delta, epsilon

_UP: Final = Context(prec=28, rounding=ROUND_CEILING)
_TO_THREE: Final = Context(prec=3, rounding=ROUND_CEILING)
_TO_SIX: Final = Context(prec=6, rounding=ROUND_CEILING)
_LARGE: Final = 100_000


def epsilon_up(amount: float) -> str:
    """An epsilon to four digits after the point."""
    return epsilon(str(Decimal(str(amount)).quantize(Decimal("0.0001"), context=_UP)))


def delta_up(amount: float) -> str:
    """A delta to three digits."""
    return delta(str(_TO_THREE.create_decimal(str(amount))))


def factor_up(amount: float) -> str:
    """How many times as likely an epsilon lets an outcome become: to a tenth, of large ones six digits."""
    exact = Decimal(str(amount)).exp(_UP).next_plus(_UP)
    if exact < _LARGE:
        return f"{exact.quantize(Decimal('0.1'), context=_UP):f}".removesuffix(".0")
    return f"{_TO_SIX.plus(exact):.5e}"
