"""A seeded privacy bug: one change of the syntax tree of one function, and the test that must notice it."""

import ast
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]

_Place = tuple[ast.AST, str, slice | None]
"""A parent node, one of its fields and, if that field is a list, the matching run of it."""


class Unfit(Exception):
    """The mutant no longer fits the source and has to be rewritten."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One seeded bug.

    `before` and `after` are compared and applied as syntax trees, so formatting, comments and the rest of the module
    do not matter. If both are expressions, one expression is replaced; otherwise, consecutive statements of one block.

    Attributes:
        name: unique; words with dashes.
        module: the changed module, as Python imports it.
        function: the qualified name of the function or class to search, such as "Ledger.reserve"; "" searches the whole module.
        before: Python code that occurs there exactly once. Common indentation is ignored.
        after: its replacement; "" removes the statements.
        bug: what is wrong then, in words.
        source: who had it, or which class of bugs it is of.
        killed_by: the test that fails, as pytest names it: "tests/...::test_name", with the case in brackets where one is enough.
    """

    name: str
    module: str
    function: str
    before: str
    after: str
    bug: str
    source: str
    killed_by: str

    @property
    def path(self) -> str:
        """The changed file, from the root of the repository."""
        return f"{self.module.replace('.', '/')}.py"

    def applied(self, text: str) -> str:
        """Return the source with the bug in it, formatted by `ast.unparse`.

        Raises:
            Unfit: `before` does not occur exactly once, nothing would change, or the result is not valid Python.
        """
        try:
            before, after = _parsed(self.before, self.after)
        except SyntaxError as error:
            raise Unfit(f"{self.name}: before or after is not valid Python: {error}") from None
        if _dumps(before) == _dumps(after):
            raise Unfit(f"{self.name}: changes nothing")
        tree = ast.parse(text)
        scopes = [node for name, node in _definitions(tree) if name == self.function]
        if not scopes:
            raise Unfit(f"{self.name}: {self.module} has no {self.function}")
        places = [place for scope in scopes for place in _places(scope, before)]
        if len(places) != 1:
            where = f"{self.module} {self.function}".rstrip()
            raise Unfit(f"{self.name}: before occurs {len(places)} times in {where}, not once")
        _replace(places[0], after)
        changed = ast.unparse(tree)
        try:
            # Compiled too: `return` outside a function is found only then.
            compile(changed, self.path, "exec")
        except SyntaxError as error:
            raise Unfit(f"{self.name}: the result is not valid Python: {error}") from None
        if ast.dump(ast.parse(changed)) != ast.dump(tree):
            raise Unfit(f"{self.name}: ast.unparse does not reproduce the changed tree")
        return changed


def _parsed(before: str, after: str) -> tuple[list[ast.AST], list[ast.AST]]:
    first, second = (textwrap.dedent(text).strip() for text in (before, after))
    try:
        return [ast.parse(first, mode="eval").body], [ast.parse(second, mode="eval").body]
    except SyntaxError:
        return [*ast.parse(first).body], [*ast.parse(second).body]


def _definitions(node: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.AST]]:
    """Yield the module as "" and every function and class in it by its qualified name."""
    if isinstance(node, ast.Module):
        yield "", node
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield f"{prefix}{child.name}", child
            yield from _definitions(child, f"{prefix}{child.name}.")
        else:
            yield from _definitions(child, prefix)


def _places(scope: ast.AST, wanted: list[ast.AST]) -> Iterator[_Place]:
    dumps = _dumps(wanted)
    for parent in ast.walk(scope):
        for field, value in ast.iter_fields(parent):
            if isinstance(value, list):
                for start in range(len(value) - len(dumps) + 1):
                    run = slice(start, start + len(dumps))
                    if dumps and _dumps(value[run]) == dumps:
                        yield parent, field, run
            elif isinstance(value, ast.AST) and [ast.dump(value)] == dumps:
                yield parent, field, None


def _replace(place: _Place, nodes: list[ast.AST]) -> None:
    parent, field, run = place
    if run is None:
        [node] = nodes
        setattr(parent, field, node)
    else:
        getattr(parent, field)[run] = nodes


def _dumps(nodes: Sequence[object]) -> list[str]:
    """A list of a tree may hold None and, in `global`, names."""
    return [ast.dump(node) if isinstance(node, ast.AST) else repr(node) for node in nodes]
