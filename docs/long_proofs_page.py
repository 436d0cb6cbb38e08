"""The page of the long proofs: which ran when, and how they ended."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from docs.tables import table

RESULTS: Final = Path(__file__).parents[1] / "benchmarks" / "results" / "long_proofs.json"
PARTS: Final[Mapping[str, str]] = {
    "test-long": "tests marked `long`",
    "mutants": "every seeded privacy bug is killed by its test ([kill matrix](kill-matrix.md))",
    "test-kernels": "the daily tests under the kernels of other processors",
    "laws": "the laws of noise and sampling, over hundreds of millions of numbers",
    "accounting": "the accountant against fine grids, and the verifier on every kind of plan",
    "audit": "attacks on the running code ([audits](audits.md))",
    "contracts-long": "schemathesis over every operation as everybody",
    "fuzz": "every parser of what strangers send",
    "drill": "the [fault drill](drill.md) over hundreds of rounds",
}
"""Make targets and what each proves, in the order in which `make check-long` runs them."""


def long_proofs_page() -> str:
    """The page, from the record of `make check-long`."""
    return render(json.loads(RESULTS.read_text()))


def render(record: Mapping[str, Any]) -> str:
    """The page.

    Args:
        record: `parts`, the latest run of each Make target; `whole`, the latest run of all of them, or None.
    """
    rows = [_row(name, proves, record["parts"].get(name)) for name, proves in PARTS.items()]
    header = ["`make`", "what it proves", "date", "commit", "processor", "result", "seconds"]
    return "\n".join([_HEAD, _whole(record["whole"]), "", *table(header, rows), ""])


def _whole(run: Mapping[str, Any] | None) -> str:
    if run is None:
        return "**Last whole run**: none is recorded yet."
    return (
        f"**Last whole run**: {run['date']}, commit {run['commit']}, {run['processor']}, {run['cores']} cores: "
        f"{'passed' if run['passed'] else 'failed'} in {run['seconds']} s"
        + (f", with {run['variables']}." if run["variables"] else ".")
    )


def _row(name: str, proves: str, run: Mapping[str, Any] | None) -> list[str]:
    if run is None:
        return [f"`{name}`", proves, "not recorded yet", "", "", "", ""]
    result = "passed" if run["passed"] else "failed"
    if run["tests"]:
        result += " (" + ", ".join(f"{count} {word}" for word, count in run["tests"].items()) + ")"
    if run["variables"]:
        result += f", with {run['variables']}"
    processor = f"{run['processor']}, {run['cores']} cores"
    return [f"`{name}`", proves, run["date"], run["commit"], processor, result, str(run["seconds"])]


_HEAD: Final = """# Long proofs

`make test` is what every change must pass; it takes minutes. `make check-long` runs what takes hours, weekly (`.ci/weekly`),
and writes its results into this page. `python -m tests.long_proofs PART` runs one part. A test of the daily suite that was too
long for it has a shorter form there and its whole form here, marked `long`.

Seconds are of the wall clock. A plus after a commit means that files differed from it. Parts that ran before this page existed are not in
it; the pages that they link to and the files in `benchmarks/results` say when they ran.
"""
