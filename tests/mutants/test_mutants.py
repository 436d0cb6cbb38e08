"""The catalogue of seeded bugs fits the source, and a random few are killed."""

import ast

import pytest

from tests.mutants.catalogue import MUTANTS
from tests.mutants.matrix import try_all
from tests.mutants.mutant import ROOT, Mutant, Unfit, undefined_names
from tests.mutants.sample import SAMPLE, SEED, drawn, seed_of_run
from tests.mutants.trial import Verdict, judge


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_fits_its_source_and_its_killer_exists(mutant):
    assert mutant.applied((ROOT / mutant.path).read_text())
    path, *names = mutant.killed_by.partition("[")[0].split("::")
    scope = ast.parse((ROOT / path).read_text()).body
    for name in names:
        found = [
            each for each in scope if isinstance(each, ast.FunctionDef | ast.ClassDef) and each.name == name
        ]
        assert len(found) == 1, f"{mutant.killed_by} is not there"
        scope = found[0].body


def test_there_are_enough_mutants_and_no_two_alike():
    assert len(MUTANTS) >= 45
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
    assert len({(mutant.path, mutant.before, mutant.after) for mutant in MUTANTS}) == len(MUTANTS)


@pytest.mark.timeout(1800)
def test_a_random_few_are_killed(tmp_path):
    seed = seed_of_run()
    trials = try_all(drawn(MUTANTS, seed), jobs=1, folder=tmp_path)
    left = [
        f"{each.mutant.name}: {each.verdict}\n{each.said}"
        for each in trials
        if each.verdict is not Verdict.KILLED
    ]
    assert not left, f"{SEED}={seed}\n" + "\n".join(left)
    assert len(trials) == SAMPLE


def test_the_same_seed_draws_the_same():
    assert drawn(MUTANTS, 7) == drawn(MUTANTS, 7)
    assert len({mutant.name for seed in range(600) for mutant in drawn(MUTANTS, seed)}) == len(MUTANTS)


def _mutant(before: str, after: str) -> Mutant:
    return Mutant(name="a", path="b.py", before=before, after=after, bug="", source="", killed_by="")


@pytest.mark.parametrize(
    ("before", "after"), [("three", "four"), ("one", "two"), ("two = 2", "two = 2"), ("two = 2", "two = (")]
)
def test_a_mutant_that_no_longer_fits_says_so(before, after):
    with pytest.raises(Unfit):
        _mutant(before, after).applied("one = 1\none_more = 1\ntwo = 2\n")


def test_no_mutant_uses_a_name_that_nothing_defines(tmp_path):
    texts = {mutant.name: mutant.applied((ROOT / mutant.path).read_text()) for mutant in MUTANTS}
    assert not undefined_names(texts, tmp_path)
    assert "`y`" in undefined_names({"clumsy": "x = y\n"}, tmp_path)


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
