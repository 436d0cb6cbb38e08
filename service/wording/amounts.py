"""Amounts of the pages: epsilons, deltas, counts, shares, times and ids for human readers."""

from datetime import UTC, datetime
from decimal import ROUND_CEILING, Context, Decimal
from typing import Final

from service.wire import coarse

_MINUTE: Final = 60
_HOUR: Final = 3600
_SHORT_ID: Final = 8
_UP: Final = Context(prec=28, rounding=ROUND_CEILING)
_TO_THREE: Final = Context(prec=3, rounding=ROUND_CEILING)
_TO_SIX: Final = Context(prec=6, rounding=ROUND_CEILING)
_LARGE: Final = 100_000


def moment(at: datetime | str | None) -> str:
    """A time in UTC, rounded up to the minute, as the API rounds it."""
    if at is None:
        return "–"
    known = datetime.fromisoformat(at) if isinstance(at, str) else at
    return coarse(known).strftime("%Y-%m-%d %H:%M")


def day(at: datetime | None) -> str:
    """A date in UTC."""
    return "–" if at is None else at.astimezone(UTC).strftime("%Y-%m-%d")


def epsilon(amount: float | str | None) -> str:
    """An epsilon with at most four decimal places; more digits carry no information."""
    if amount is None:
        return "–"
    shown = f"{Decimal(str(amount)):.4f}".rstrip("0").rstrip(".")
    return shown or "0"


def delta(amount: float | str | None) -> str:
    """A delta to three significant digits."""
    if amount is None:
        return "–"
    value = float(amount)
    return "0" if not value else f"{value:.3g}".replace("e-0", "e-")


def exact(amount: float) -> str:
    """An amount with all its digits, for a field that sends it back."""
    return repr(amount).removesuffix(".0").replace("e-0", "e-")


def count(number: int) -> str:
    """An integer with its digits grouped in threes."""
    return f"{number:,}".replace(",", "\u202f")


def decimal(number: float, places: int = 1) -> str:
    """A number with its digits grouped in threes like `count`, and so many places after the point."""
    return f"{number:,.{places}f}".replace(",", "\u202f")


def short(identity: object) -> str:
    """The start of an id: enough to distinguish objects on one page."""
    return str(identity)[:_SHORT_ID]


def seconds(span: float | None) -> str:
    """A duration, rounded."""
    if span is None:
        return "not yet known"
    if span < _MINUTE:
        return f"{round(span)} s"
    if span < _HOUR:
        return f"{round(span / _MINUTE)} min"
    return f"{span / _HOUR:.1f}".removesuffix(".0") + " h"


def share(part: float) -> str:
    """A share in per cent, to two significant digits."""
    return f"{float(f'{100 * part:.2g}'):g}\u202f%"


# Figures of a privacy promise are rounded up: a sentence must not promise more than the exact number.


def epsilon_up(amount: float) -> str:
    """An epsilon rounded up to four decimal places."""
    return epsilon(str(Decimal(str(amount)).quantize(Decimal("0.0001"), context=_UP)))


def delta_up(amount: float) -> str:
    """A delta rounded up to three significant digits."""
    return delta(str(_TO_THREE.create_decimal(str(amount))))


def factor_up(amount: float) -> str:
    """The factor e^epsilon, rounded up to one decimal place, or to six significant digits if large."""
    exact = Decimal(str(amount)).exp(_UP).next_plus(_UP)
    if exact < _LARGE:
        return f"{exact.quantize(Decimal('0.1'), context=_UP):f}".removesuffix(".0")
    return f"{_TO_SIX.plus(exact):.5e}"
