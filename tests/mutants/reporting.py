"""A pytest plugin for trials: writes what became of every case as JSON, with the phase and kind of what failed.

    MUTANT_REPORT=report.json MUTANT_MODULE=core.dp.accountant python -m pytest -p tests.mutants.reporting ...

It makes sure that the sources under test are those beside it and that the changed one can be imported; otherwise there
is no report, and the trial counts as crashed.
"""

import importlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, settings

_CASES: list[dict[str, str]] = []


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart() -> None:
    """Refuse to judge another copy of the sources than this one, and look for no smaller example once one has failed."""
    found_is_enough = (Phase.explicit, Phase.reuse, Phase.generate)
    settings.register_profile("trial", settings.get_profile("understudy"), phases=found_is_enough)
    settings.load_profile("trial")
    root = Path(__file__).resolve().parents[2]
    for name in ("core", "models", "service", "workers", os.environ["MUTANT_MODULE"]):
        found = importlib.import_module(name).__file__
        assert found is not None
        assert Path(found).resolve().is_relative_to(root), f"{name} comes from elsewhere"


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """A file that cannot be collected has caught nothing."""
    if report.failed:
        _CASES.append({"test": report.nodeid, "when": "collect", "outcome": "failed", "kind": "collection"})


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> Iterator[None]:
    """Note every phase, and the class of what was raised."""
    report: Any = yield
    kind = "" if call.excinfo is None else " ".join(each.__name__ for each in call.excinfo.type.__mro__)
    _CASES.append({"test": item.nodeid, "when": report.when, "outcome": report.outcome, "kind": kind})
    return report


def pytest_sessionfinish() -> None:
    """Leave the report."""
    Path(os.environ["MUTANT_REPORT"]).write_text(json.dumps(_CASES))
