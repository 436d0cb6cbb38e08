"""House rule 1: no transaction is ended outside core/db/session.py."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SOURCES = ("core", "service", "workers", "models", "understudy", "migrations", "benchmarks")
THE_PLACE = ROOT / "core" / "db" / "session.py"
ENDING = {"commit", "rollback", "begin_nested"}


def endings(source: str) -> Iterator[int]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and node.attr in ENDING:
            yield node.lineno


@cache
def python_files() -> tuple[Path, ...]:
    return tuple(path for folder in SOURCES for path in sorted((ROOT / folder).rglob("*.py")))


def naming(names: set[str]) -> Iterator[tuple[Path, str]]:
    """Path and text of every source but the place itself that has one of these names; others need not be parsed."""
    for path in python_files():
        text = path.read_text()
        if path != THE_PLACE and any(name in text for name in names):
            yield path, text


def test_nobody_else_commits():
    offenders = [
        f"{path.relative_to(ROOT)}:{line}" for path, text in naming(ENDING) for line in endings(text)
    ]
    assert offenders == []


def test_nobody_else_makes_sessions_or_connections():
    makers = {"Session", "sessionmaker", "scoped_session"}
    offenders = [
        str(path.relative_to(ROOT))
        for path, text in naming(makers)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in makers
    ]
    assert offenders == []


def test_no_database_code_is_asynchronous():
    asynchronous = ast.AsyncFunctionDef | ast.Await | ast.AsyncWith | ast.AsyncFor
    offenders = {
        str(path.relative_to(ROOT))
        for folder in ("db", "ledger", "jobs", "audit", "access")
        for path in (ROOT / "core" / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, asynchronous)
    }
    assert offenders == set()
    assert not [path for path in python_files() if "sqlalchemy.ext.asyncio" in path.read_text()]


def test_the_place_itself_commits_once():
    assert sum(1 for node in ast.walk(ast.parse(THE_PLACE.read_text())) if is_commit(node)) == 1


def is_commit(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "commit"


@pytest.mark.parametrize("sin", ["session.commit()", "x = s.rollback", "with s.begin_nested(): pass"])
def test_the_rule_sees(sin):
    assert list(endings(sin)) == [1]


def test_the_rule_lets_hooks_pass():
    assert list(endings("on_commit(session, send)")) == []
