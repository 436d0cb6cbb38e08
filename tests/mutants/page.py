"""The page docs/kill-matrix.md, from the catalogue and the results of the last runs."""

import json
from typing import Any

from docs.tables import table
from tests.mutants.catalogue import CHAPTERS, MUTANTS
from tests.mutants.mutant import ROOT

RESULTS = ROOT / "benchmarks" / "results" / "mutants.json"

_HEAD = """# The kill matrix

Every row is a privacy bug, put on purpose into a copy of the source, and the test that notices it: the test passes on the
copy as it is and fails, in its own body, once the bug is in. A copy that cannot be imported or a test that breaks off does
not count. A bug is a change of the syntax tree of one function (`tests/mutants/catalogue`), so layout and comments of the
source do not matter. `make mutants` checks that all bugs still fit the source, tries each of them and fails if one does not
fit or survives; it runs weekly (`.ci/weekly`).

Where another project is named, the class of bug was reported for some version of it, in a paper or in its own tracker; that
says nothing of its present state. {count} bugs, {killed} killed; the latest trial ran on {date}. Seconds are
those of the whole process, from its start, on a machine that had other work.
"""


def read_results() -> dict[str, Any]:
    """What became of each mutant when it was last tried; empty before the first run."""
    document: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    return document


def kill_matrix(results: dict[str, Any]) -> str:
    """Return the page. An outcome counts only while the mutant still names the test that it was tried with."""
    outcomes = {
        mutant.name: outcome
        for mutant in MUTANTS
        if (outcome := results["mutants"].get(mutant.name)) and outcome["killed_by"] == mutant.killed_by
    }
    head = _HEAD.format(
        count=len(MUTANTS),
        killed=sum(outcome["verdict"] == "killed" for outcome in outcomes.values()),
        date=results["machine"]["date"],
    )
    parts = [head]
    for chapter, mutants in CHAPTERS.items():
        rows = [
            [
                f"`{mutant.name}`",
                mutant.bug.replace("|", "\\|"),
                mutant.source.replace("|", "\\|"),
                f"`{mutant.killed_by.removeprefix('tests/')}`",
                f"{outcomes[mutant.name]['seconds']:.1f}" if mutant.name in outcomes else "not run",
            ]
            for mutant in mutants
        ]
        titles = ["mutant", "what is wrong", "where it comes from", "killed by (under `tests/`)", "s"]
        parts.append("\n".join([f"## {chapter}\n", *table(titles, rows), ""]))
    return "\n".join(parts)


def kill_matrix_page() -> str:
    """Return the page of the results in the repository."""
    return kill_matrix(read_results())
