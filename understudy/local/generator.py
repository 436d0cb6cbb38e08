"""A generator with its certificate: drawing, questions, plots, saving and sharing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from core.artifacts.asking.answer import OpenedCounts
from core.artifacts.asking.errors import NoCounts
from core.artifacts.asking.hidden import REMEDY as NOISE_REMEDY
from core.artifacts.asking.hidden_rows import hidden_in
from core.artifacts.asking.release_notes import learnt_words, noise_notes
from core.artifacts.bundle import unpack
from core.artifacts.errors import BundleInvalid
from core.artifacts.private_models.bundle import holds_model
from core.artifacts.sampling.samples import ImageSamples, Samples, TableSamples, open_samples
from core.artifacts.sampling.value_conditions import read_conditions
from core.plan.domain.table import TableDomain
from understudy.asking import Answer
from understudy.documents import Json
from understudy.errors import Conflict, HiddenByNoise, InputUnusable, library_missing
from understudy.local.html_tables import html_table, text_table
from understudy.local.ledger.accounts import answered
from understudy.local.paths import AnyPath, write_bundle
from understudy.local.sampling.asking import answered_from, checked_rules
from understudy.local.sampling.predicting import Predictor, predictor_from
from understudy.local.warned import warn
from understudy.rules import RulesCheck
from understudy.tables import Form, drawn, require_form

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from understudy.local.plots import Plot, Plots

Where = Mapping[str, Any]
"""Conditions by column, see `Generator.sample`."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Generator:
    """A generator of synthetic rows or images. Drawing from it, asking it and sharing the bundle cost no budget.

    Attributes:
        bundle: the generator with its certificate; it may be shared.
        certificate: the budget spent and the mechanism.
    """

    bundle: bytes
    certificate: Json

    @cached_property
    def _samples(self) -> Samples:
        return open_samples(self.bundle)

    @overload
    def sample(self, rows: int, *, form: Literal["pandas"], where: Where | None = None) -> "pd.DataFrame": ...
    @overload
    def sample(self, rows: int, *, form: Literal["polars"], where: Where | None = None) -> "pl.DataFrame": ...
    @overload
    def sample(self, rows: int, *, form: Literal["arrow"], where: Where | None = None) -> "pa.Table": ...
    @overload
    def sample(
        self, rows: int, *, form: Literal["numpy"], where: Where | None = None
    ) -> dict[str, NDArray[Any]]: ...
    @overload
    def sample(self, rows: int, *, form: Form | None = None, where: Where | None = None) -> Any: ...  # noqa: ANN401 - rows or images
    def sample(self, rows: int, *, form: Form | None = None, where: Where | None = None) -> Any:
        """Draw synthetic rows or images.

        Args:
            rows: number of rows or images.
            form: "pandas" or "polars" for a DataFrame, "arrow" for an Arrow table; "numpy" for the arrays of images. None for pandas, or for numpy if
                images are generated.
            where: conditions by column: a value, a set of values, or a pair (low, high) with both ends included and None for an open end. For images
                only a value of the label.

        Warns:
            HiddenByNoise: the noise of the counts hides the rows that satisfy the condition, so they are drawn from noise.

        Returns:
            A DataFrame; an Arrow table; or arrays by name: `images` uint8 (rows, height, width, channels), `labels` their indices in the declared
                list, `label_names` that list.

        Raises:
            InvalidInput: there is no such column or value.
            Conflict: too few rows satisfy the condition, or the generator has no such form.
            NotInstalled: pandas is requested and not installed.
            InputUnusable: the form is unknown, or the number of rows is no whole number of at least one.
        """
        rows = _whole(rows)
        if rows < 1:
            raise InputUnusable("ask for at least one row")
        form = form or ("numpy" if self.of_images else "pandas")
        file_format = require_form(form)
        if (form == "numpy") != self.of_images:
            raise _no_such_form(form, of_images=self.of_images)
        with answered():
            if self.of_images:
                return drawn(b"".join(self._samples.write(rows, file_format, where or {})), form=form)
            wanted = read_conditions({} if where is None else where, self._declared)
            if self._counts is not None and (hidden := hidden_in(self._counts, wanted)) is not None:
                warn(f"{hidden} {NOISE_REMEDY}", HiddenByNoise)
            samples = self._samples
            assert isinstance(samples, TableSamples), "not of images"
            return drawn(b"".join(samples.write(rows, file_format, wanted)), form=form)

    def __repr__(self) -> str:
        """The guarantee, the privacy unit and the output."""
        return text_table(type(self).__name__, self._facts())

    def _repr_html_(self) -> str:
        return html_table((type(self).__name__, ""), self._facts())

    def _facts(self) -> list[tuple[str, ...]]:
        stated = self.certificate
        promised = stated.get("privacy_parameters") or stated["guarantee"]
        facts: list[tuple[str, ...]] = [
            ("guarantee", f"epsilon {promised['epsilon']:g}, delta {promised['delta']:g}"),
            ("protects", stated["privacy_unit"]["description"]),
            ("synthesizer", stated["plan"].get("synthesizer", "the best of several")),
            ("declared size", str(stated["declared_size"])),
        ]
        if self.of_images:
            return facts
        hidden = [("hidden by noise", " ".join(self.noise_notes))] if self.noise_notes else []
        return [*facts, ("columns", str(len(self._declared.modelled))), *hidden]

    @cached_property
    def _counts(self) -> OpenedCounts | None:
        """The noisy counts; None if the bundle has none."""
        try:
            return OpenedCounts.open(self.bundle)
        except NoCounts:
            return None

    @cached_property
    def noise_notes(self) -> tuple[str, ...]:
        """Notes on what the noise of the counts hides: the smallest class of the target, most words of a column. Public, like the counts."""
        if self._counts is None:
            return ()
        return noise_notes(self._counts.domain, self._counts.estimates, learnt=learnt_words(self.certificate))

    @cached_property
    def domain(self) -> Json:
        """The domain document of the output, with all learnt parts."""
        return unpack(self.bundle).domain

    @cached_property
    def _declared(self) -> TableDomain:
        return TableDomain.from_json(self.domain)

    def ask(self, question: str) -> Answer:
        """Answer a question from the noisy counts, with 95 % intervals. It costs nothing; see `understudy.ask`."""
        return Answer.from_json(answered_from(self.bundle, question))

    @cached_property
    def predictor(self) -> Predictor:
        """A linear classifier of the target, from the noisy counts. It costs nothing; see `understudy.predictor`."""
        return predictor_from(self.bundle)

    def check_rules(self) -> RulesCheck:
        """Compare the declared rules with the noisy counts. It costs nothing; see `understudy.check_rules`."""
        return RulesCheck.from_json(checked_rules(self.bundle))

    @property
    def of_images(self) -> bool:
        """Whether the generator makes images."""
        return isinstance(self._samples, ImageSamples)

    def report(
        self,
        frame: object,
        target_file: AnyPath,
        *,
        target: str | None = None,
        labels: object | None = None,
        units: object | None = None,
    ) -> Path:
        """Compare the generator with the rows or images, for the owner alone: NOT differentially private, do not share it.

        Args:
            frame: the training rows or images.
            target_file: the HTML file; only this user can read it.
            target: for tables, the column to predict from the others; default: the domain's target, else the last column among those with the fewest
                declared values.
            labels: labels of images if declared, as in `understudy.local.fit`.
            units: privacy units of images, if declared.

        Raises:
            InvalidInput: there is no such modelled column.
            InputUnusable: rows or images are unusable, or an argument is for the other kind.
        """
        from understudy.local.reporting import write_report

        file = Path(target_file)
        write_report(self.bundle, frame, file, target=target, labels=labels, units=units)
        return file

    def plot_marginals(
        self, columns: Sequence[str] | str | None = None, *, real: object | None = None
    ) -> "Plot":
        """Plot the share of each bin or word of synthetic rows, with one panel per column.

        Args:
            columns: names of columns, or one name; None for the first 24.
            real: the training rows, to show beside: NOT differentially private, for the owner alone.

        Returns:
            A figure of matplotlib; a notebook displays it, `savefig("marginals.png")` writes it.

        Raises:
            InputUnusable: there is no such modelled column, or the frame is unusable.
            InvalidInput: the generator makes images.
            NotInstalled: matplotlib is not installed.
        """
        return self._plots(real).marginals([columns] if isinstance(columns, str) else columns)

    def plot_pair(self, first: str, second: str, *, real: object | None = None) -> "Plot":
        """Plot the joint shares of two columns of synthetic rows as a heat map; for `real` and errors see `plot_marginals`."""
        return self._plots(real).pair(first, second)

    def plot_associations(
        self, columns: Sequence[str] | None = None, *, real: object | None = None
    ) -> "Plot":
        """Plot Cramér's V of every two columns of synthetic rows as a heat map; for errors see `plot_marginals`.

        Args:
            columns: names of 2 to 40 columns; None for the first 40.
            real: see `plot_marginals`.
        """
        return self._plots(real).associations(columns)

    def _plots(self, real: object | None) -> "Plots":
        try:
            from understudy.local.plots import plots_of
        except ModuleNotFoundError as error:
            raise library_missing("plotting", error.name) from None
        return plots_of(self.bundle, real)

    def save(self, target: AnyPath) -> Path:
        """Write the bundle to a file, for `understudy sample --bundle` and `understudy verify`.

        Raises:
            InputUnusable: the target folder does not exist.
        """
        return write_bundle(self.bundle, target)


def _no_such_form(form: str, *, of_images: bool) -> Conflict:
    forms = "Images come as numpy" if of_images else "Rows come as pandas, polars or arrow"
    return Conflict(
        409,
        {
            "code": "format-not-for-release",
            "detail": f"{forms}, and not as {form}.",
            "remedy": "Ask for one of these forms, or for none.",
        },
    )


def _whole(rows: object) -> int:
    """A number of rows from Python or numpy."""
    if isinstance(rows, int | np.integer) and not isinstance(rows, bool):
        return int(rows)
    raise InputUnusable(
        f"the number of rows is a whole number, such as sample(1000), and no {type(rows).__name__}"
    )


def generator_of(bundle: AnyPath | bytes) -> Generator:
    """Open a bundle for drawing; see `understudy.offline.generator`."""
    if not isinstance(bundle, bytes):
        file = Path(bundle)
        if not file.is_file():
            message = f"there is no file {file}"
            raise InputUnusable(message)
        bundle = file.read_bytes()
    with answered():
        try:
            return Generator(bundle=bundle, certificate=unpack(bundle).certificate)
        except BundleInvalid:
            if not holds_model(bundle):
                raise
    message = "the bundle holds a private classifier: open it with understudy.classifier(...)"
    raise InputUnusable(message)
