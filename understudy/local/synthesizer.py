"""A synthesizer with the interface of scikit-learn: parameters in the constructor, `fit`, `sample`.

    synthesizer = Synthesizer(epsilon=1.0, dataset="admissions", cap=(4.0, 1e-5))
    print(synthesizer.draft(frame))         # what accepting makes public, and why
    synthesizer.accept_draft()              # declares that it may be public
    synthesizer.fit(frame).sample(1000)     # rows in the frame's library

Planning, paying, training and certifying are those of `understudy.local.fit`.
"""

import inspect
from collections.abc import Iterator, Sequence
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, Self, cast, overload

import pyarrow as pa
from numpy.typing import NDArray

from core.data.intake.intake_report import MAX_REFUSED
from understudy.asking import Answer
from understudy.documents import Json
from understudy.drafts.frame_words import words_of
from understudy.drafts.tables import draft_frame
from understudy.errors import DraftNotAccepted, InputUnusable
from understudy.local.drafted import Changes, Draft, changes_of, combined
from understudy.local.fitted import Fitted
from understudy.local.generator import Where
from understudy.local.html_tables import html_table, text_table
from understudy.local.ledger.accounts import Account, answered, folder_of, pair_of_numbers, read_account
from understudy.local.ledger.file import ledger_path
from understudy.local.ledger.remaining import left_in_words, spent_in_words
from understudy.local.paths import AnyPath
from understudy.local.rows.dtypes import FrameDtypes, where_of_clocks
from understudy.local.rows.frames import arrow_of
from understudy.local.sampling.predicting import Predictor, predictor_from
from understudy.local.training.fitting import fit, progress_bar
from understudy.local.training.planning import Order, declaration_of, guarantee_of, read_declared
from understudy.local.training.quote import TrainingQuote, quote_of
from understudy.near_names import suggestion
from understudy.rules import RulesCheck
from understudy.table_files import DECLARED_SIZE
from understudy.tables import Form, in_form, require_form
from understudy.wording.quotes import errors_in_words

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from understudy.local.plots import Plot

DRAFT: Final = "draft"


class Synthesizer:
    """Trains a generator of synthetic rows on this machine and draws from it.

    Args:
        epsilon: epsilon of one training (docs/choosing-epsilon.md).
        delta: delta of one training: far below one over the number of people.
        dataset: name of the people in the rows. One name has one budget, kept in a file; the same people must always have the
            same name.
        cap: epsilon and delta that bound everything ever released about the dataset; set once, at the first training. A cap with the training's
            epsilon and twice its delta suffices for one training.
        domain: the declared domain, as a document or a file; or "draft", to draft it from the rows and accept it.
        declared_size: the public number of people or rows; default: the domain's.
        synthesizer: "idpgan"; or "aim" or "mst", which need the extra `graphical`.
        options: options that replace the public rules.
        max_refused: the largest share of rows that the domain may refuse.
        ledgers: folder of the ledgers, text or a path; default: one folder for all programs of this user.
        progress: whether a terminal or a notebook shows a progress bar.

    Attributes:
        fitted_: the trained generator (`understudy.local.Fitted`).
        account_: the state of the dataset's ledger after the training, and what remains for another one like it.

    Example:
        >>> domain = {
        ...     "schema": "understudy.domain/1",
        ...     "columns": [{"name": "ward", "kind": "categorical", "categories": ["a", "b"]}],
        ...     "declared_size": 5000,
        ... }
        >>> synthesizer = Synthesizer(epsilon=1.0, dataset="wards", cap=(4.0, 1e-5), domain=domain)
        >>> synthesizer.quote().fits  # print(synthesizer.quote()) shows measurements, precision and price
        True
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        delta: float = 1e-6,
        dataset: str | None = None,
        cap: tuple[float, float] | None = None,
        domain: Json | AnyPath = DRAFT,
        declared_size: int | None = None,
        synthesizer: str = "idpgan",
        options: Json | None = None,
        max_refused: float = MAX_REFUSED,
        ledgers: AnyPath | None = None,
        progress: bool = True,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.dataset = dataset
        self.cap = cap
        self.domain = domain
        self.declared_size = declared_size
        self.synthesizer = synthesizer
        self.options = options
        self.max_refused = max_refused
        self.ledgers = ledgers
        self.progress = progress

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002 - scikit-learn's signature
        """Return the constructor's parameters, without fitted state."""
        return {name: getattr(self, name) for name in _parameters()}

    def set_params(self, **params: Any) -> Self:  # noqa: ANN401 - of any type
        """Change parameters of the constructor.

        Raises:
            InputUnusable: there is no such parameter.
        """
        for name, value in params.items():
            if name not in _parameters():
                message = f"there is no parameter {name!r}{suggestion(name, _parameters())}"
                raise InputUnusable(message)
            setattr(self, name, value)
        return self

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401 - scikit-learn has no types
        """The tags that scikit-learn's tools ask for. Only scikit-learn calls this method, so it may import it."""
        tags = import_module("sklearn.utils")
        return tags.Tags(
            estimator_type=None,
            target_tags=tags.TargetTags(required=False),
            input_tags=tags.InputTags(string=True, categorical=True, allow_nan=True),
            non_deterministic=True,
        )

    def draft(self, frame: object, *, privacy_unit: str | None = None) -> Draft:
        """Draft the domain from rows, on this machine. Nothing is charged and nothing is released.

        A new draft withdraws the earlier acceptance.

        Args:
            frame: a DataFrame of pandas or polars, or an Arrow table.
            privacy_unit: the column that says whose row it is, "none" if each row is another person's; else the draft proposes one.

        Raises:
            InputUnusable: the input is no frame or has no rows, or epsilon, delta or the cap is no number.
            InvalidInput: epsilon or delta is out of range.
        """
        self._require_guarantee()
        self.draft_ = Draft(draft_frame(arrow_of(frame), words_of(frame), privacy_unit=privacy_unit))
        # The earlier acceptance was of another draft, perhaps of other rows.
        self.__dict__.pop("domain_", None)
        self._changes: Changes = {}
        return self.draft_

    def accept_draft(self, /, **changes: object) -> Self:
        """Declare that the draft's values may be public, with changes.

        Changes of earlier calls stay until there is a new draft; a repeated change replaces the earlier one.

        Args:
            changes: `target`, `privacy_unit`, `declared_size`, `rules` and `null_values`; and for each column to change, its keys in the domain:
                `age={"lower": 0, "upper": 110}`, `note="ignored"`; `discharged="none"` drops a difference. A column with one of these five names, or
                named `columns`, is changed under `columns`: `columns={"target": "ignored"}`; any other column may be changed there too.

        Raises:
            InputUnusable: there is no draft, the privacy unit is undecided, or a change is impossible; the message says what to do.
            InvalidInput: the changed domain breaks a rule.
        """
        if (drafted := getattr(self, "draft_", None)) is None:
            message = "there is no draft to accept: call draft(frame) first, and read it"
            raise InputUnusable(message)
        # A column hidden by an earlier call must not return because a later call omits it.
        together = combined(getattr(self, "_changes", {}), changes_of(changes))
        accepted = drafted.accepted(together, sized=self.declared_size is not None)
        with answered():
            read_declared(declaration_of(accepted, self.declared_size)[0])
        self._changes = together
        self.domain_: Json = accepted
        return self

    def quote(self) -> TrainingQuote:
        """Return what `fit` would measure, the expected error of its counts, and the price; no row is read, nothing is charged.

        The quote is for the given domain, or for the accepted draft, and for the current parameters.

        Returns:
            The quote: `print` it, or let a notebook show it.

        Warns:
            LargeExpectedError: the expected error is so large that counts of the rows would be of little use.

        Raises:
            DraftNotAccepted: the domain is drafted, and no draft was accepted.
            InvalidInput: the domain, the guarantee or an option breaks a rule, or a requirement of the synthesizer is not installed.
            InputUnusable: there is no declared size.
        """
        if self.domain == DRAFT and not hasattr(self, "domain_"):
            message = "there is no domain to quote for: give domain=, or call draft(frame), read it and call accept_draft()"
            raise DraftNotAccepted(message)
        return quote_of(
            self._order(self.domain_ if self.domain == DRAFT else self.domain),
            guarantee_of((self.epsilon, self.delta)),
            dataset=self.dataset,
            cap=self.cap,
            ledgers=self.ledgers,
        )

    def fit(self, frame: object, y: None = None, *, labels: object = None, units: object = None) -> Self:
        """Train on private rows (or images) and charge the dataset's ledger.

        Args:
            frame: a DataFrame of pandas or polars, an Arrow table, or an array of images.
            y: None, for scikit-learn's Pipeline: the target is a column of the frame.
            labels: labels of images, see `understudy.local.fit`.
            units: privacy units of images, see `understudy.local.fit`.

        Raises:
            DraftNotAccepted: the domain is drafted, and no draft was accepted; nothing was charged.
            BudgetRefused: the ledger does not admit the training; nothing was spent.
            Conflict: no cap is set, or another one.
            InvalidInput: the domain, the guarantee or an option breaks a rule.
            InputUnusable: the rows are unusable, or the dataset has no name.
        """
        if y is not None:
            raise InputUnusable(
                "fit takes no y: the target is a column of the frame, accept_draft(target=...)"
            )
        if self.dataset is None:
            message = (
                "name the dataset: Synthesizer(dataset='admissions'). One name has one budget, and the same "
                "people must always have the same name"
            )
            raise InputUnusable(message)
        self._require_guarantee()
        domain = self._domain(frame)
        # Read before the payment: the file may change during training.
        charge_at = self._order(domain).charge_at
        with progress_bar(wanted=self.progress) as watch:
            self.fitted_ = fit(
                frame,
                domain,
                (self.epsilon, self.delta),
                dataset=self.dataset,
                labels=labels,
                units=units,
                declared_size=self.declared_size,
                synthesizer=self.synthesizer,
                options=self.options,
                max_refused=self.max_refused,
                cap=self.cap,
                ledgers=self.ledgers,
                watch=watch,
            )
        # A fitted generator is shown with the parameters of its training, even if parameters change later.
        self._fitted_with = self.get_params() | {"domain": domain}
        self._kinds = FrameDtypes.of(frame, _modelled(self.fitted_.domain))
        # The remaining budget is stated for a training like this one: at its delta, for its domain.
        self.account_: Account = read_account(
            self.dataset, ledgers=self.ledgers, delta=self.delta, charge_at=charge_at
        )
        return self

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
    def sample(self, rows: int, *, form: None = None, where: Where | None = None) -> Any: ...  # noqa: ANN401 - the frame's own kind
    def sample(self, rows: int, *, form: Form | None = None, where: Where | None = None) -> Any:
        """Draw synthetic rows; it costs nothing.

        Args:
            form: "pandas", "polars" or "arrow"; None for the library of the fitted frame.
            where: conditions by column: a value, a set of values, or a pair (low, high), with None for an open end.

        Returns:
            A frame in the types of the fitted frame, if these hold every declared value; for images arrays by name.

        Raises:
            InputUnusable: the synthesizer is not fitted, or fewer than one row is requested.
            InvalidInput: there is no such column or value.
            Conflict: too few rows satisfy the condition.
        """
        fitted, kinds = self._trained(), self._kinds
        if fitted.of_images or form == "numpy":
            return fitted.sample(rows, form=form, where=where)
        chosen: Form = form or kinds.library or "pandas"
        require_form(chosen)
        asked = where_of_clocks(kinds.named(where), kinds.zones())
        table = fitted.sample(rows, form="arrow", where=cast("Where", asked))
        drawn = in_form(kinds.given_back(table), form=chosen)
        return kinds.in_own(drawn) if chosen == kinds.library else drawn

    def ask(self, question: str) -> Answer:
        """Answer a question from the noisy counts, with 95 % intervals; see `understudy.ask`."""
        return self._trained().ask(question)

    def predictor(self) -> Predictor:
        """Make a linear classifier of the target from the noisy counts; see `understudy.predictor`.

        Its classes have the fitted frame's type: whole numbers for words such as "0" and "1".
        """
        fitted = self._trained()
        return predictor_from(fitted.bundle, kind=self._kinds.kind_of(fitted.domain.get("target")))

    def check_rules(self) -> RulesCheck:
        """Compare the declared rules with the noisy counts; see `understudy.check_rules`."""
        return self._trained().check_rules()

    def plot_marginals(
        self, columns: Sequence[str] | str | None = None, *, real: object | None = None
    ) -> "Plot":
        """Plot the columns of synthetic rows, beside the owner's `real` rows if given; see `Fitted.plot_marginals`."""
        return self._trained().plot_marginals(columns, real=real)

    def plot_pair(self, first: str, second: str, *, real: object | None = None) -> "Plot":
        """Plot two columns of synthetic rows as a heat map; see `Fitted.plot_pair`."""
        return self._trained().plot_pair(first, second, real=real)

    def plot_associations(
        self, columns: Sequence[str] | None = None, *, real: object | None = None
    ) -> "Plot":
        """Plot the associations of columns of synthetic rows; see `Fitted.plot_associations`."""
        return self._trained().plot_associations(columns, real=real)

    def report(
        self,
        frame: object,
        target_file: AnyPath,
        *,
        target: str | None = None,
        labels: object = None,
        units: object = None,
    ) -> Path:
        """Compare the generator with the rows or images, for the owner alone; see `Fitted.report`.

        Args:
            frame: the fitted rows or images.
            target: for tables, the column to predict from the others.
            labels: for images, those passed to `fit`, which are not stored.
            units: for images, those passed to `fit`, which are not stored.
        """
        return self._trained().report(frame, target_file, target=target, labels=labels, units=units)

    def save(self, target: AnyPath) -> Path:
        """Write the bundle: generator, counts and certificate, which may be shared."""
        return self._trained().save(target)

    @property
    def certificate(self) -> Json:
        """The budget spent and the mechanism; unsigned."""
        return self._trained().certificate

    def __repr__(self) -> str:
        """The guarantee, the columns, the budget spent and the budget left."""
        return text_table("Synthesizer", self._facts())

    def _repr_html_(self) -> str:
        return html_table(("Synthesizer", ""), self._facts())

    def _facts(self) -> list[tuple[str, ...]]:
        fitted: Fitted | None = getattr(self, "fitted_", None)
        return [
            *(self._facts_of_next() if fitted is None else self._facts_of(fitted)),
            ("state", self._state()),
        ]

    def _facts_of_next(self) -> list[tuple[str, ...]]:
        """The parameters of an unfitted synthesizer."""
        domain = getattr(self, "domain_", None if isinstance(self.domain, str | PathLike) else self.domain)
        size = self.declared_size or (domain or {}).get(DECLARED_SIZE)
        return [
            ("dataset", str(self.dataset)),
            ("guarantee", f"epsilon {_shown(self.epsilon)}, delta {_shown(self.delta)}"),
            *_facts_of_table(domain, size),
        ]

    def _facts_of(self, fitted: Fitted) -> list[tuple[str, ...]]:
        """The certificate and the ledger of a fitted generator, and the parameters changed since."""
        given, promised = self._fitted_with, fitted.certificate["privacy_parameters"]
        domain = fitted.domain if isinstance(given["domain"], str | PathLike) else given["domain"]
        facts: list[tuple[str, ...]] = [
            ("dataset", str(given["dataset"])),
            ("guarantee", f"epsilon {_shown(promised['epsilon'])}, delta {_shown(promised['delta'])}"),
            *_facts_of_table(domain, fitted.certificate["declared_size"]),
        ]
        if fitted.expected_error is not None:
            facts.append(("expected error of counts, about", errors_in_words(fitted.expected_error)))
        if fitted.noise_notes:
            facts.append(("hidden by noise", " ".join(fitted.noise_notes)))
        if (account := self.account_).cap is not None:
            trainings = len(account.jobs)
            facts.append(
                ("spent", spent_in_words(account.composed_epsilon, account.cap, account.spent, trainings))
            )
            left = left_in_words(account.remaining_epsilon, account.remaining_delta)
            facts.append(("left for one more training", left))
            facts.append(("ledger", str(account.path)))
        changed = [
            f"{name} {_shown(value)}"
            for name, value in self.get_params().items()
            if name != "domain" and value != given[name]
        ]
        next_domain = self.domain if self.domain != DRAFT else getattr(self, "domain_", given["domain"])
        changed += ["another domain"] if next_domain != given["domain"] else []
        return [*facts, ("changed for the next fit", ", ".join(changed))] if changed else facts

    def _state(self) -> str:
        waits = self.domain == DRAFT and hasattr(self, "draft_") and not hasattr(self, "domain_")
        if hasattr(self, "fitted_"):
            return "fitted; a newer draft is not accepted" if waits else "fitted"
        return "draft not accepted" if waits else "not fitted"

    def _require_guarantee(self) -> None:
        """Refuse a wrong guarantee, cap or name before a draft is read."""
        with answered():
            guarantee_of((self.epsilon, self.delta))
        if self.cap is not None:
            pair_of_numbers(self.cap, "cap")
        if self.dataset is not None:
            ledger_path(folder_of(self.ledgers), self.dataset)

    def _trained(self) -> Fitted:
        fitted: Fitted | None = getattr(self, "fitted_", None)
        if fitted is None:
            message = "nothing is fitted yet: call fit(frame) first"
            raise InputUnusable(message)
        return fitted

    def _order(self, domain: Json | AnyPath) -> Order:
        return Order.read(
            domain, declared_size=self.declared_size, synthesizer=self.synthesizer, options=self.options
        )

    def _domain(self, frame: object) -> Json | AnyPath:
        if self.domain != DRAFT:
            return self.domain
        if not hasattr(self, "domain_"):
            if not hasattr(self, "draft_"):
                self.draft(frame)
            message = (
                "the domain was drafted from these rows, and a domain is public. Read synthesizer.draft_, then call "
                "accept_draft(), with changes where a value would reveal something about a person, and fit again. Nothing was charged"
            )
            raise DraftNotAccepted(message)
        return self.domain_


def _shown(given: object) -> str:
    """A number in few digits; other values unchanged, so that a wrong parameter is visible."""
    return f"{given:g}" if isinstance(given, int | float) and not isinstance(given, bool) else repr(given)


def _parameters() -> list[str]:
    return [name for name in inspect.signature(Synthesizer.__init__).parameters if name != "self"]


def _facts_of_table(domain: Json | None, size: object) -> Iterator[tuple[str, str]]:
    if domain is None or "columns" not in domain:
        return
    yield "columns", f"{len(_modelled(domain))} of {len(domain['columns'])} modelled"
    yield "declared size", str(size)
    yield "privacy unit", str(domain.get("privacy_unit") or "each row")
    yield "target", str(domain.get("target") or "none")


def _modelled(domain: Json) -> list[Json]:
    """The modelled columns of a table's domain; none for images."""
    return [column for column in domain.get("columns", ()) if column["kind"] not in {"ignored", "unit"}]
