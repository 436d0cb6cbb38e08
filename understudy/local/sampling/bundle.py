"""Sampling without a server: the service's engine on a bundle file, if it is installed.

Needs the extra ``offline``. This code cannot reach private rows: a bundle holds the generator and nothing else.
"""

from contextlib import closing
from pathlib import Path

from core.artifacts.asking.answer import OpenedCounts
from core.artifacts.asking.hidden_rows import hidden_where
from core.artifacts.errors import InvalidCondition
from core.artifacts.sampling.conditions import bins_fixed
from core.artifacts.sampling.samples import ImageSamples, Samples, TableSamples, open_samples
from core.artifacts.sampling.value_conditions import requested_conditions
from core.errors import UnderstudyError as EngineError
from understudy.documents import Json
from understudy.errors import InputUnusable
from understudy.http.exchange import Seen
from understudy.sample_conditions import FIX, bin_note
from understudy.whole_files import whole_file


def open_bundle_samples(bundle: Path, *, threads: int) -> Samples:
    """Open a bundle for sampling.

    Raises:
        InputUnusable: this version cannot read the file as a bundle.
    """
    try:
        return open_samples(bundle, threads=threads)
    except EngineError as error:
        raise InputUnusable(f"{bundle}: {error}") from error


def usual_format(samples: Samples) -> str:
    """Return the default format of a bundle's output."""
    return next(iter(samples.MEDIA_TYPES))


def bin_notes(samples: Samples, where: Json) -> list[str]:
    """Describe the bins that a condition fixes if it names one number or time of several.

    Raises:
        InputUnusable: no row can satisfy the condition.
    """
    if isinstance(samples, ImageSamples):
        return []
    assert isinstance(samples, TableSamples), "samples are rows or images"
    try:
        domain = samples.sampler.domain
        found = bins_fixed(domain, requested_conditions(where, domain).fixed)
    except EngineError as error:
        raise _unusable(error) from error
    return [bin_note(name, where[name], text) for name, text in found.items()]


def _unusable(error: EngineError) -> InputUnusable:
    return InputUnusable(f"{error} {FIX if isinstance(error, InvalidCondition) else error.remedy}")


def hidden_in_bundle(bundle: Path, where: Json) -> str | None:
    """Describe how the noise of a bundle's counts hides the rows that satisfy a condition; None if it does not, or without counts."""
    try:
        with bundle.open("rb") as file:
            return hidden_where(OpenedCounts.open(file), where)
    except EngineError:
        return None


def sample_to_file(
    samples: Samples,
    target: Path,
    *,
    rows: int,
    file_format: str,
    where: Json,
    spreadsheet_safe: bool = False,
    seen: Seen,
) -> None:
    """Write synthetic rows or images to a file, completely or not at all; `seen` is called with the number of bytes of each piece.

    Raises:
        InputUnusable: the bundle's output cannot be written in this format, in this amount, or under this condition.
    """
    try:
        pieces = samples.write(rows, file_format, where, spreadsheet_safe=spreadsheet_safe)
    except EngineError as error:
        raise _unusable(error) from error
    with closing(pieces), whole_file(target) as file:
        for piece in pieces:
            file.write(piece)
            seen(len(piece))
