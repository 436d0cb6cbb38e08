"""Labels of the pages: amounts, times, states and actions as people read them."""

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import ROUND_CEILING, Context, Decimal
from typing import Final

from core.synthesis.quote import CHOSEN_UNDER_NOISE, IMAGES, NO_ANCHOR
from service.wire import coarse

_MINUTE: Final = 60
_HOUR: Final = 3600
_SHORT_ID: Final = 8
_UP: Final = Context(prec=28, rounding=ROUND_CEILING)
_TO_THREE: Final = Context(prec=3, rounding=ROUND_CEILING)
_TO_SIX: Final = Context(prec=6, rounding=ROUND_CEILING)
_LARGE: Final = 100_000

DONE: Final[Mapping[str, str]] = {
    "signed-out": "You have signed out.",
    "frozen": "The dataset is frozen: nothing can be ordered, granted or started.",
    "unfrozen": "The dataset takes orders again.",
    "budget-set": "The cap is set.",
    "approved": "The request is approved, and the grant is made.",
    "denied": "The request is denied; the analyst can read why.",
    "filed": "Your request is filed. The owner of the dataset or an admin decides.",
    "withdrawn": "Your request is withdrawn.",
    "revoked": "The grant is revoked.",
    "member-added": "The analyst is a member now.",
    "member-removed": "The analyst is no longer a member.",
    "cancelled": "The job is cancelled, or stops at its next step.",
    "ordered": "The job is ordered, and its budget is reserved.",
    "report-ordered": "The owner report is ordered. It is here, for you alone, in a minute or more.",
    "report-deleted": "The owner report is deleted.",
    "named": "The principal has its new name.",
    "enrolment-cancelled": "The enrolment is cancelled. Keys that came of it are revoked.",
    "key-revoked": "The key is revoked, and its sessions have ended.",
    "code-sent": "A code is on its way to the address. Enter it here to confirm.",
    "address-confirmed": "The address is confirmed, and is told from now on.",
    "test-sent": "A test is on its way; in half a minute the list below says what became of it.",
    "resumed": "It is told again, from now on. What it missed is not told.",
    "endpoint-removed": "The endpoint is removed, and its address forgotten.",
    "deleted": "The dataset is deleted: nothing opens its rows any more.",
    "declared": "The dataset is declared. Now its rows can be uploaded.",
    "rows-accepted": "The rows are those of the dataset now.",
    "rows-discarded": "The rows are discarded. The dataset takes rows as before.",
}
"""What a page says at its top after a change, by the code in its address; nothing else of the address is shown."""

REPORT_STATES: Final[Mapping[str, str]] = {
    "queued": "Waits for a worker",
    "running": "Being made",
    "made": "Ready",
    "failed": "Could not be made",
}

STATES: Final[Mapping[str, tuple[str, str]]] = {
    "declared": ("waits for its rows", "wait"),
    "ready": ("ready", "good"),
    "deleted": ("deleted", "over"),
    "accepted": ("accepted", "good"),
    "queued": ("queued", "wait"),
    "running": ("running", "live"),
    "succeeded": ("succeeded", "good"),
    "failed": ("failed", "bad"),
    "cancelled": ("cancelled", "over"),
    "open": ("open", "wait"),
    "in-force": ("open", "good"),
    "approved": ("approved", "good"),
    "denied": ("denied", "bad"),
    "withdrawn": ("withdrawn", "over"),
    "expired": ("expired", "over"),
    "revoked": ("revoked", "over"),
    "replaced": ("replaced", "over"),
    "alive": ("alive", "good"),
    "unconfirmed": ("not confirmed", "wait"),
    "active": ("active", "good"),
    "paused": ("paused", "bad"),
    "waiting": ("waiting", "wait"),
    "delivered": ("delivered", "good"),
    "dropped": ("dropped", "over"),
    "well": ("well", "good"),
    "silent": ("silent", "bad"),
    "problem": ("problem", "bad"),
    "warning": ("warning", "wait"),
    "note": ("note", "over"),
}
"""Words and mood of every state."""

STAGES: Final[Mapping[str, str]] = {
    "measure": "Measuring the data under noise",
    "pretrain": "Learning from the noisy measurements",
    "train": "Training under noise",
    "export": "Packing the generator",
}

ENTRIES: Final[Mapping[str, str]] = {
    "RESERVED": "reserved for a job",
    "SPENT": "spent: the job began",
    "VOIDED": "given back: the job never began",
    "SETTLED": "settled: the job ended",
    "CAP_SET": "cap set",
    "GRANTED": "grant made",
    "GRANT_CLOSED": "grant closed",
    "FROZEN": "frozen",
    "UNFROZEN": "unfrozen",
}

NO_EXPECTATION: Final[Mapping[str, str]] = {
    IMAGES: "Not known in advance for images.",
    NO_ANCHOR: "Not known in advance: nothing is counted where a critic alone trains.",
    CHOSEN_UNDER_NOISE: "Not known in advance: a graphical model chooses under noise which columns it counts together.",
}

REFUSALS: Final[Mapping[str, str]] = {
    "budget-refused": "It would break the cap.",
    "grant-refused": "It would be more than your grant has left.",
    "budget-not-set": "No cap has been set yet.",
    "population-frozen": "The dataset is frozen.",
    "no-grant": "You hold no open grant on this dataset; ask for one first.",
    "grant-ambiguous": "You hold several grants; say which one pays.",
    "grant-closed": "That grant is over.",
}

ROLES: Final[Mapping[str, str]] = {
    "owner": "declares and uploads datasets, decides on requests",
    "analyst": "orders generators within a grant, downloads synthetic data",
    "admin": "sets caps, creates people, watches the system; sees no private fact",
    "auditor": "reads budgets, ledgers and the audit log; changes nothing",
}

ACTIONS: Final[Mapping[str, str]] = {
    "dataset.declare": "declared it",
    "dataset.rows": "stored its rows",
    "dataset.delete": "deleted it",
    "dossier.export": "exported the dossier",
    "budget.set": "set the cap",
    "budget.freeze": "froze it",
    "budget.unfreeze": "unfroze it",
    "ledger.accept": "accepted the head of the ledger",
    "member.add": "added a member",
    "member.remove": "removed a member",
    "budget-request.file": "asked for budget",
    "budget-request.approve": "approved a request",
    "budget-request.deny": "denied a request",
    "budget-request.withdraw": "withdrew a request",
    "grant.revoke": "revoked a grant",
    "job.order": "ordered a job",
    "job.cancel": "cancelled a job",
    "job.failure-note": "read the account of a failure",
    "upload.open": "began an upload",
    "upload.abort": "ended an upload",
    "sealed-report.order": "ordered an owner report",
    "sealed-report.read": "read an owner report",
    "sealed-report.delete": "deleted an owner report",
}
"""Actions of the audit log. A refused one is logged under the name of its operation."""


def moment(at: datetime | str | None) -> str:
    """A time in UTC, rounded up to the minute, as the API rounds it."""
    if at is None:
        return "–"
    known = datetime.fromisoformat(at) if isinstance(at, str) else at
    return coarse(known).strftime("%Y-%m-%d %H:%M")


def day(at: datetime | None) -> str:
    """The day of a time."""
    return "–" if at is None else at.astimezone(UTC).strftime("%Y-%m-%d")


def epsilon(amount: float | str | None) -> str:
    """An epsilon with at most four digits after the point; a larger number of digits says no more."""
    if amount is None:
        return "–"
    shown = f"{Decimal(str(amount)):.4f}".rstrip("0").rstrip(".")
    return shown or "0"


def delta(amount: float | str | None) -> str:
    """A delta, which is small."""
    if amount is None:
        return "–"
    value = float(amount)
    return "0" if not value else f"{value:.3g}".replace("e-0", "e-")


def count(number: int) -> str:
    """A whole number in groups of three."""
    return f"{number:,}".replace(",", "\u202f")


def short(identity: object) -> str:
    """The beginning of an id: enough to tell things on one page apart."""
    return str(identity)[:_SHORT_ID]


def seconds(span: float | None) -> str:
    """A span of time, roughly."""
    if span is None:
        return "not known yet"
    if span < _MINUTE:
        return f"{round(span)} s"
    if span < _HOUR:
        return f"{round(span / _MINUTE)} min"
    return f"{span / _HOUR:.1f} h"


def share(part: float) -> str:
    """A share in per cent, to two digits."""
    return f"{float(f'{100 * part:.2g}'):g}\u202f%"


def expected_error_missing(code: str) -> str:
    """Why a quote expects no error of counts."""
    return NO_EXPECTATION[code]


def refusal(code: str) -> str:
    """Why an order would be refused."""
    return REFUSALS.get(code, f"It would be refused ({code}).")


def action(name: str) -> str:
    """What an entry of the audit log says was done, or tried."""
    return ACTIONS.get(name, f"tried to {name.replace('_', ' ')}")


# A sentence must not promise more than the number that it states, so the figures of a promise are rounded up.


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
