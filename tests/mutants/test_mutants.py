"""How a mutant is found in a source and applied, how misfits are reported, and what counts as killed."""

import ast
import dataclasses

import pytest

from tests.mutants import matrix
from tests.mutants.catalogue import MUTANTS
from tests.mutants.fits import misfits, undefined_names
from tests.mutants.mutant import Mutant, Unfit
from tests.mutants.trial import Verdict, judge

SOURCE = '''
"""A module."""
import math

LIMIT = 2 * 3

@cached
def scale(count, factor=1.0):
    """Scale a count."""
    return math.sqrt(count) * factor

class Ledger:
    rows = LIMIT

    @property
    def room(self):
        return self.cap - self.spent

    @room.setter
    def room(self, value):
        self.cap = value + self.spent

    def reserve(self, charge, *, grant=None):
        # Checked before anything is written.
        if charge > self.room or (
            grant is not None and charge > grant
        ):
            raise Refused(charge, cap=self.cap)
        self.audit(charge)
        self.spent += charge
        for entry in self.entries:
            self.audit(entry)

    async def settle(self):
        def begun():
            return self.steps
        try:
            await self.write(f"{begun()} of {self.total}")
        except OSError:
            return None
'''


def _mutant(function: str, before: str, after: str, *, name: str = "a") -> Mutant:
    return Mutant(
        name=name,
        module="made.up",
        function=function,
        before=before,
        after=after,
        bug="",
        source="",
        killed_by="tests/mutants/test_mutants.py::test_names_are_unique",
    )


@pytest.mark.parametrize(
    ("function", "before", "after", "old", "new"),
    [
        pytest.param("", "2 * 3", "2 * 4", "2 * 3", "2 * 4", id="module"),
        pytest.param("Ledger", "LIMIT", "LIMIT + 1", "rows = LIMIT", "rows = LIMIT + 1", id="class attribute"),
        pytest.param("scale", "1.0", "2.0", "factor=1.0", "factor=2.0", id="default"),
        pytest.param("scale", "cached", "forgetful", "@cached", "@forgetful", id="decorator"),
        pytest.param("scale", "return math.sqrt(count)*(factor)", "return factor", "math.sqrt(count) * ", "", id="statement"),
        pytest.param("Ledger.room", "self.cap - self.spent", "self.cap", "self.cap - self.spent", "self.cap", id="property"),
        pytest.param("Ledger.reserve", "charge>self.room", "charge >= self.room", "> self.room", ">= self.room", id="comparison"),
        pytest.param("Ledger.reserve", "Refused(charge,cap=self.cap)", "Refused(charge)", ", cap=self.cap", "", id="keyword"),
        pytest.param("Ledger.reserve", "self.audit(charge)", "", "        self.audit(charge)\n", "", id="removal"),
        pytest.param("Ledger.reserve", "self.audit(charge); self.spent += charge", "self.spent += charge; self.audit(charge)",
                     "        self.audit(charge)\n        self.spent += charge\n", "        self.spent += charge\n        self.audit(charge)\n", id="order"),
        pytest.param("Ledger.reserve", "self.audit(entry)", "\n    if entry:\n        self.audit(entry)\n  ",
                     "    self.audit(entry)", "    if entry: self.audit(entry)", id="insertion"),
        pytest.param("Ledger.settle", "return None", "raise", "return None", "raise", id="handler"),
        pytest.param("Ledger.settle", "await self.write(f'{begun()} of {self.total}')", "pass", 'await self.write(f"{begun()} of {self.total}")', "pass", id="await"),
        pytest.param("Ledger.settle.begun", "self.steps", "0", "self.steps", "0", id="nested function"),
    ],
)  # fmt: skip
def test_a_mutant_changes_one_place_of_the_tree(function, before, after, old, new):
    assert SOURCE.count(old) == 1
    expected = ast.dump(ast.parse(SOURCE.replace(old, new)))
    assert ast.dump(ast.parse(_mutant(function, before, after).applied(SOURCE))) == expected


def test_comments_formatting_and_docstrings_do_not_matter():
    mutant = _mutant("scale", "math.sqrt(count) * factor", "factor")
    for text in (
        SOURCE.replace("return math", "# A reason.\n    return math"),
        SOURCE.replace("math.sqrt(count) * factor", "(math.sqrt(\n        count)\n        * factor)"),
        SOURCE.replace("Scale a count.", "Say it in other words: math.sqrt(count) * factor."),
    ):
        assert text != SOURCE
        assert "return factor" in mutant.applied(text)


@pytest.mark.parametrize(
    ("function", "before", "after", "why"),
    [
        ("scale", "math.sqrt(other)", "0", "occurs 0 times"),
        ("Ledger", "self.cap", "0", "occurs 2 times"),
        ("scale", "self.spent", "0", "occurs 0 times"),
        ("Ledger.release", "self.spent", "0", "has no Ledger.release"),
        ("scale", "factor", "(factor)", "changes nothing"),
        ("scale", "factor", "(", "not valid Python"),
        ("scale", "", "pass", "occurs 0 times"),
        ("", "LIMIT = 2 * 3", "return", "not valid Python"),
        ("scale", "return math.sqrt(count) * factor", "continue", "not valid Python"),
        ("Ledger.room", "return self.cap - self.spent", "", "not valid Python"),
    ],
)
def test_a_mutant_that_does_not_fit_says_why(function, before, after, why):
    with pytest.raises(Unfit, match=why):
        _mutant(function, before, after).applied(SOURCE)


@pytest.fixture
def root(tmp_path):
    for path, text in {
        "made/up.py": "def scale(count):\n    return count * 2\n",
        "tests/test_scale.py": "class TestScale:\n    def test_scale(self):\n        assert True\n",
    }.items():
        (tmp_path / path).parent.mkdir()
        (tmp_path / path).write_text(text)
    return tmp_path


def test_all_misfits_are_listed_at_once(root):
    killed_by = "tests/test_scale.py::TestScale::test_scale[1]"
    sound = dataclasses.replace(_mutant("scale", "count * 2", "count", name="sound"), killed_by=killed_by)
    assert not misfits([sound], root)
    replaced = {
        "moved": {"before": "count * 3"},
        "clumsy": {"after": "count * factor"},
        "elsewhere": {"module": "made.down"},
        "renamed": {"killed_by": "tests/test_scale.py::TestScale::test_other"},
        "gone": {"killed_by": "tests/test_gone.py::test_scale"},
        "whole-file": {"killed_by": "tests/test_scale.py"},
    }
    mutants = [dataclasses.replace(sound, name=name, **fields) for name, fields in replaced.items()]
    problems = misfits([sound, *mutants], root)
    assert len(problems) == len(mutants)
    for name in replaced:
        assert any(problem.startswith(name) for problem in problems)


def test_undefined_names_are_reported():
    assert not undefined_names({"sound": "x = 1\ny = x\n"})
    assert "`y`" in "".join(undefined_names({"clumsy": "x = y\n"}))


def test_nothing_is_tried_if_a_mutant_does_not_fit(monkeypatch, capsys):
    def try_all(*args, **options):
        pytest.fail("a trial was started")

    monkeypatch.setattr(matrix, "try_all", try_all)
    monkeypatch.setattr(matrix, "MUTANTS", [_mutant("", "1", "2", name="b")])
    assert matrix.main([]) == matrix.main(["--fits"]) == matrix.main(["b"]) == 1
    assert "b: made/up.py does not exist" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        matrix.main(["a-name-that-no-mutant-has"])


def test_names_are_unique():
    assert len(MUTANTS) >= 45
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
    assert len({(each.module, each.function, each.before, each.after) for each in MUTANTS}) == len(MUTANTS)


@pytest.mark.parametrize(
    ("when", "outcome", "kind", "verdict"),
    [
        ("call", "failed", "AssertionError Exception", Verdict.KILLED),
        ("call", "passed", "", Verdict.SURVIVED),
        ("call", "failed", "ModuleNotFoundError ImportError Exception", Verdict.CRASHED),
        ("call", "failed", "TypeError Exception", Verdict.CRASHED),
        ("setup", "failed", "AssertionError Exception", Verdict.CRASHED),
        ("collect", "failed", "collection", Verdict.CRASHED),
    ],
)
def test_only_a_test_that_fails_by_itself_has_killed(when, outcome, kind, verdict):
    assert judge([{"test": "t", "when": when, "outcome": outcome, "kind": kind}]) is verdict
    assert judge(None) is judge([]) is Verdict.CRASHED
