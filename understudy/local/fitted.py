"""The result of a training on this machine: a generator, and what its owner alone may know of the rows."""

from dataclasses import dataclass
from typing import NoReturn

from understudy.documents import Json
from understudy.errors import InputUnusable
from understudy.local.generator import Generator


@dataclass(frozen=True, kw_only=True, repr=False)
class Fitted(Generator):
    """A trained generator. Drawing from it, saving it and sharing the bundle cost no more budget.

    Attributes:
        bundle: the generator with its certificate, as a service's bundle; the only part to pass on.
        certificate: what was spent, by which mechanism; unsigned.
        rows_refused: rows that the declared rules refused. For the owner only: not differentially private.
        refusals: why, with counts. For the owner only.
        expected_error: what a quote expects of the errors of columns, pairs and triples, as shares; None where it is not known in advance.
    """

    rows_refused: int
    refusals: Json
    expected_error: Json | None = None

    def __getstate__(self) -> NoReturn:
        """Refuse to be pickled: the pickle would hold the refused rows' report, which is private.

        Raises:
            InputUnusable: always.
        """
        raise InputUnusable(
            "save() writes the bundle, which may be passed on; this object also holds what its owner alone may know"
        )
