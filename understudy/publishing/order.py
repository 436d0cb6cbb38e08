"""An order to publish, its result, and the screen that shows progress."""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from pathlib import Path
from typing import Any, Protocol

from understudy.client.handles import Job
from understudy.documents import Json
from understudy.http.exchange import Seen
from understudy.near_names import suggestion
from understudy.results.budgets import Statement
from understudy.results.datasets import Dataset
from understudy.sample_formats import IMAGE_FORMATS, formats_of, sheet_images
from understudy.table_files import TableFiles

SHEET = "contact-sheet.png"
"""Name of the contact sheet of synthetic images."""
MICRO, FEMTO = Decimal("1e-6"), Decimal("1e-15")
SMALLEST_DELTA = Decimal("1e-12")
REPORT_SHARE, REPORT_DELTA_SHARE = Decimal("0.1"), Decimal("0.15")
"""Parts of an order's epsilon and delta that `publish` leaves for one utility report, where it sets the cap itself.

More of delta, so that a report at the service's default, a sixteenth of the cap's delta, fits too.
"""


class Screen(Protocol):
    """Shows progress to a person."""

    def say(self, line: str) -> None:
        """Show one line."""

    def transfer(self, title: str, total: int | None) -> AbstractContextManager[Seen]:
        """Show a transfer of bytes while the context lasts; call the value with the bytes of each piece."""

    def training(self) -> AbstractContextManager[Callable[[Job], None]]:
        """Show a job while the context lasts; call the value with each new state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A table to publish, and the guarantee for it.

    Attributes:
        name: name of the dataset; the same name is the same population and shares one budget.
        options: its options; public rules decide the others.
        selection: candidates to choose among instead of synthesizer and options, in the form of an order; `epsilon` is
            then the winner's training alone.
        model: whether to train a classifier instead of a generator; `options` are then its options.
        reuse: whether counts of earlier releases of the dataset are taken over.
        device: kind of device to train on: auto, cpu or gpu.
        sample_rows: number of synthetic rows to draw; None for as many as the release describes.
        budget: epsilon and delta of the population's cap; None keeps the present one, or sets the smallest that
            admits this job where there is none.
        budget_reason: why a cap that exists is raised.
        purpose: what a budget request says it is for; None for a plain sentence.
        max_refused: the largest share of rows that the domain may refuse; None for the service's.
        utility_report: epsilon of a utility report to order after the release; None to offer one.
    """

    table: TableFiles
    name: str
    epsilon: float
    delta: float
    synthesizer: str = "idpgan"
    options: Json = field(default_factory=dict)
    selection: Json | None = None
    model: bool = False
    reuse: bool = True
    device: str = "auto"
    sample_rows: int | None
    out: Path
    budget: tuple[float, float] | None = None
    budget_reason: str | None = None
    purpose: str | None = None
    max_refused: float | None = None
    utility_report: float | None = None

    @property
    def terms(self) -> dict[str, Any]:
        """The arguments of a quote and an order."""
        terms: dict[str, Any] = {"epsilon": self.epsilon, "delta": self.delta}
        if not self.reuse:
            terms |= {"reuse": False}
        if self.device != "auto":
            terms |= {"device": self.device}
        if self.selection is not None:
            return terms | {"selection": self.selection}
        if self.model:
            return terms | {"model": self.options}
        return terms | {"synthesizer": self.synthesizer, "options": self.options}

    @property
    def product(self) -> str:
        """Name of the published thing, for a sentence."""
        return "one private classifier" if self.model else "one generator and rows drawn from it"

    @property
    def declaration(self) -> str:
        """Digest of the declaration: an interrupted upload is resumed only under the same one."""
        text = json.dumps([self.name, self.table.declared_size, self.table.domain], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """The result of an order.

    Attributes:
        job: the job, succeeded.
        statement: the ledger after it.
        rows: how many synthetic rows or images were drawn; 0 of a model.
        files: the files written, in the order of their importance.
    """

    dataset: Dataset
    job: Job
    release_id: str
    certificate: Json
    statement: Statement
    rows: int
    files: tuple[Path, ...]

    @property
    def sheet(self) -> Path | None:
        """The contact sheet, where images were published."""
        return next((file for file in self.files if file.name == SHEET), None)


def smallest_budget(epsilon: float, delta: float) -> tuple[float, float]:
    """Return the smallest cap that admits one job: its epsilon, and twice its delta.

    The filter that adds up epsilons and deltas owns half of the cap's delta; the other half belongs to the
    filters that later jobs may rest on. Charges are rounded up to millionths and to 1e-15, so the cap is too.
    """
    return float(_rounded_up(epsilon, MICRO)), float(2 * _rounded_up(delta, FEMTO))


def report_part(order: Order, epsilon: float, delta: float) -> tuple[float, float]:
    """Return the epsilon and delta of the utility report that is offered after an order: a tenth of its epsilon, unless the order names another.

    Both are rounded down, so that they fit into what `budget_with_report` leaves.
    """
    own = order.utility_report
    part = REPORT_SHARE * Decimal(repr(epsilon)) if own is None else Decimal(repr(own))
    of_delta = REPORT_DELTA_SHARE * Decimal(repr(delta))
    rounded = max(of_delta.quantize(FEMTO, rounding=ROUND_FLOOR), SMALLEST_DELTA)
    return float(max(part.quantize(MICRO, rounding=ROUND_FLOOR), MICRO)), float(rounded)


def budget_with_report(order: Order, amounts: tuple[float, float]) -> tuple[float, float]:
    """Return the smallest cap that admits an order and one utility report after it, given the smallest that admits the order alone.

    A model's order leaves nothing for a report, because no rows are drawn from a model.
    """
    if order.model:
        return amounts
    epsilon, delta = report_part(order, amounts[0], amounts[1] / 2)
    whole = Decimal(repr(amounts[0])) + Decimal(repr(epsilon))
    return float(whole), float(Decimal(repr(amounts[1])) + 2 * Decimal(repr(delta)))


def _rounded_up(amount: float, unit: Decimal) -> Decimal:
    """Round the decimal that a person wrote up to a multiple of a unit."""
    return Decimal(repr(amount)).quantize(unit, rounding=ROUND_CEILING)


def counts_several_records(order: Order) -> bool:
    """Return whether several records of a privacy unit count, so that a release describes more records than units."""
    return any(
        column.get("kind") == "unit" and column.get("records") is not None
        for column in order.table.domain.get("columns", ())
    )


def sample_files(order: Order, rows: int) -> dict[str, int]:
    """Return the files of synthetic records to draw, with how many of them: of images there is a contact sheet, too."""
    if order.model:
        return {}
    domain = order.table.domain
    usual = formats_of(domain)[0]
    sheet = {SHEET: sheet_images(domain)} if usual in IMAGE_FORMATS else {}
    return {f"synthetic.{usual}": rows} | sheet


def second_budgets(dataset: Dataset, others: Sequence[Dataset]) -> Iterator[str]:
    """Warn, in lines, that people of a new dataset may have a budget under another name already, by public facts alone.

    Rows are not compared: a digest of them would be kept where nothing but sealed rows is.

    Args:
        dataset: the first dataset of its name.
        others: all others of the same owner, newest first.
    """
    if near := suggestion(dataset.name, [other.name for other in others]):
        yield f"This is the first dataset named {dataset.name!r}{near} Under a new name the same people get a second budget."
    facts = (dataset.document.get("domain"), dataset.declared_size)
    for other in others:
        if (other.document.get("domain"), other.declared_size) == facts:
            yield (
                f"Dataset {other.name!r} has the same domain and declared size. If these are the same people, stop now and publish as"
                f" --name {other.name}: each name has a budget of its own, and what both promise the same people adds up."
            )
            return
