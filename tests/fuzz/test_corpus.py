"""Every input that ever mattered, tried again; and weekly a short campaign."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.campaign import CORPUS
from tests.fuzz.mutation import MUTATORS
from tests.fuzz.seeds import seeds
from tests.fuzz.targets import TARGETS, Broken, Target, check

# What a parser does with all of its corpus, on a busy machine.
REPLAY_SECONDS = 300
_REPLAY = """
import sys
from tests.fuzz.campaign import CORPUS, RESIDENT_BYTES, limit_memory, resident_bytes
from tests.fuzz.targets import TARGETS, check
limit_memory()
for name, target in sorted(TARGETS.items()):
    outcomes = {file.name: check(target, file.read_bytes()) for file in sorted((CORPUS / name).iterdir())}
    assert resident_bytes() < RESIDENT_BYTES
    print(name, *sorted(set(outcomes.values())), flush=True)
"""


def test_the_corpus_keeps_the_promise() -> None:
    """In a child with little memory: an input may have ended the process when it was found."""
    done = subprocess.run(
        [sys.executable, "-c", _REPLAY],
        capture_output=True,
        text=True,
        check=False,
        timeout=REPLAY_SECONDS,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stdout + done.stderr
    outcomes = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    assert set(outcomes) == set(TARGETS)
    assert all("taken" in words for words in outcomes.values()), outcomes


@pytest.mark.parametrize("name", sorted(TARGETS))
def test_every_parser_has_a_corpus_and_changes(name: str) -> None:
    kept = {file.name for file in (CORPUS / name).iterdir()}
    assert {f"seed-{seed}" for seed in seeds()[name]} <= kept
    assert MUTATORS[name]
    assert all(file.stat().st_size <= 1 << 20 for file in (CORPUS / name).iterdir())


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(TARGETS))
def test_a_short_campaign_finds_nothing(name: str) -> None:
    before = sorted((CORPUS / name).iterdir())
    words = ["-m", "tests.fuzz.campaign", "--seconds", "3", "--seed", "20261121", name]
    done = subprocess.run(
        [sys.executable, *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=REPLAY_SECONDS,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 findings" in done.stdout
    assert sorted((CORPUS / name).iterdir()) == before


@pytest.mark.parametrize(
    ("error", "why"),
    [(ValueError("x"), "none of ours"), (MemoryError(), "none of ours")],
    ids=["a library's error", "memory"],
)
def test_a_broken_promise_is_noticed(error: Exception, why: str) -> None:
    def parse(_content: bytes) -> None:
        raise error

    with pytest.raises(Broken, match=why):
        check(Target("a", parse, private=True), b"")


def test_a_repeated_value_is_noticed() -> None:
    from core.errors import InternalError, InvalidInput
    from tests.fuzz.targets import CANARY

    def repeats(content: bytes) -> None:
        raise InvalidInput("not good", where=content.decode())

    def fails(_content: bytes) -> None:
        raise InternalError

    with pytest.raises(Broken, match="repeats"):
        check(Target("a", repeats, private=True), CANARY.encode())
    assert check(Target("a", repeats, private=False), CANARY.encode()) == "invalid-input"
    with pytest.raises(Broken, match="internal"):
        check(Target("a", fails, private=True), b"")
