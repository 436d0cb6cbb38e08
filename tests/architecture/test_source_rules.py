"""House rules that are about what the source says, each shown to bite on a bad example."""

import ast
import os
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ("core", "service", "workers", "models", "understudy", "migrations", "benchmarks")


def imports_random(tree: ast.AST) -> bool:
    """The standard library's Mersenne twister has no place in private code, nor has a global seed."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import) and any(alias.name == "random" for alias in node.names):
            return True
        if isinstance(node, ast.ImportFrom) and node.module == "random":
            return True
        if is_named(node, {"np.random.seed", "numpy.random.seed", "torch.manual_seed", "torch.seed"}):
            return True
    return False


def pickles(tree: ast.AST) -> bool:
    """Pickle runs code from data; checkpoints and bundles are safetensors and JSON."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import) and any(alias.name in {"pickle", "joblib"} for alias in node.names):
            return True
        if is_named(node, {"torch.save", "torch.load"}):
            return True
    return False


def is_named(node: ast.AST, names: set[str]) -> bool:
    """Whether a node is one of these dotted names; only what ends like one of them is spelled out, which is slow."""
    if not isinstance(node, ast.Attribute) or not any(name.endswith(f".{node.attr}") for name in names):
        return False
    return ast.unparse(node) in names


RULES = {"random": imports_random, "pickle": pickles}
SUSPECT = re.compile(r"\brandom\b|seed\b|pickle|joblib|\b(?:save|load)\b")
"""What a source that breaks a rule spells; only such sources are parsed, which is slow."""
BAD = {
    "random": ["import random", "from random import random", "np.random.seed(1)", "torch.manual_seed(0)"],
    "pickle": ["import pickle", "torch.save(x, y)", "torch.load(y)"],
}


@cache
def broken() -> list[tuple[str, str]]:
    """Rules and the sources that break them; every suspect source is parsed once."""
    found = []
    for folder in SOURCES:
        for path in (ROOT / folder).rglob("*.py"):
            source = path.read_text()
            if not SUSPECT.search(source):
                continue
            tree = ast.parse(source)
            found += [(name, str(path.relative_to(ROOT))) for name, breaks in RULES.items() if breaks(tree)]
    return found


@pytest.mark.parametrize("name", RULES)
def test_no_source_breaks_the_rule(name):
    # A benchmark may pit our step against an ordinary one that needs torch's own seed.
    offenders = [path for rule, path in broken() if rule == name and not path.startswith("benchmarks/")]
    assert not offenders


@pytest.mark.parametrize(("name", "source"), [(name, source) for name in BAD for source in BAD[name]])
def test_the_rule_bites(name, source):
    assert SUSPECT.search(source)
    assert RULES[name](ast.parse(source))


PRIVATE_READS = 97
"""How many reads of private names the tests have; each says in a comment why no public one will do."""


def is_private(name: object) -> bool:
    return isinstance(name, str) and name.startswith("_") and not name.startswith("__")


def private_reads(tree: ast.AST) -> int:
    """How often a source reads `x._y` of something that is neither `self` nor `cls`, imports `_y`, or names it to `setattr`."""
    found = 0
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="self" | "cls")):
                pass
            case ast.Attribute(attr=name):
                found += is_private(name)
            case ast.ImportFrom(module=str(module), level=0) if not module.startswith("tests"):
                found += sum(is_private(alias.name) for alias in node.names)
            case ast.Call(
                func=ast.Attribute(attr="setattr" | "delattr")
                | ast.Name(id="setattr" | "getattr" | "delattr")
            ):
                found += sum(isinstance(one, ast.Constant) and is_private(one.value) for one in node.args)
    return found


MAY_READ_PRIVATE = re.compile(r"(?<!\bself)(?<!\bcls)\._(?!_)|\b_[a-zA-Z]\w*,|import.* _[a-zA-Z]|\"_[a-zA-Z]")
"""In the text of every source that reads a private attribute of something else; other sources need not be parsed."""


def test_tests_read_no_more_private_attributes():
    texts = (path.read_text() for path in (ROOT / "tests").rglob("*.py"))
    found = [private_reads(ast.parse(text)) for text in texts if MAY_READ_PRIVATE.search(text)]
    assert sum(found) <= PRIVATE_READS, (
        "a test reads one private attribute more: look at behaviour, hand in a clock or a collaborator, or patch a public "
        "name; if none of these will do, say why in a comment `# private: ...` and raise the number"
    )


def test_private_reads_are_counted():
    text = "watch._task.done(); made._clock = now; module._name()"
    assert private_reads(ast.parse(text)) == 3
    assert MAY_READ_PRIVATE.search(text)
    others = 'from core.dp import _one, two, _three; patch.setattr(core, "_four", 1); getattr(core, "_five")'
    assert private_reads(ast.parse(others)) == 4
    assert all(MAY_READ_PRIVATE.search(each) for each in others.split("; "))
    assert (
        private_reads(
            ast.parse('from tests.x import _one; patch.setattr(core, "two", 1); getattr(x, "__class__")')
        )
        == 0
    )
    assert all(
        MAY_READ_PRIVATE.search(one) for one in ("made()._x", "myself._x", "self.a._x", "a[0]._x", "a\n._x")
    )
    assert private_reads(ast.parse("self._task; cls._name; super().__init__(); made.__class__")) == 0


@cache
def committed() -> tuple[Path, ...]:
    """Files below the root, as paths from there; an environment has ten times as many, and is not entered."""
    found: list[Path] = []
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [name for name in folders if not name.startswith(".") and name != "build"]
        found += [Path(folder, name).relative_to(ROOT) for name in names if not name.startswith(".")]
    return tuple(found)


def test_no_command_installs_by_the_bare_name():
    """The package `understudy` on PyPI is another project; see understudy/extras.py."""
    bare = re.compile(r"(?:pip install|uvx)(?: -\S+)* ['\"]?understudy(?![\w./@-]|\[\w+\] @)|`understudy\[")
    kinds = {".py", ".md", ".ipynb", ".html", ".yml", ".jinja"}
    offenders = [
        str(path)
        for path in committed()
        if path.suffix in kinds and path.parts[0] != "tests" and bare.search((ROOT / path).read_text())
    ]
    assert not offenders
    assert bare.search("pip install 'understudy[all]'")
    assert not bare.search("uvx --from . understudy demo")


def test_no_committed_text_names_this_machine():
    # Spelled in two parts so that this file does not contain what it forbids.
    forbidden = ("/wo" + "rk/", "/ro" + "ot/")
    kinds = {".py", ".md", ".json", ".toml", ".yml", ".lock"}
    offenders = [
        str(path)
        for path in committed()
        if path.suffix in kinds
        and not any(part.endswith("egg-info") or part == "understudy-demo" for part in path.parts)
        and any(text in (ROOT / path).read_text() for text in forbidden)
    ]
    assert not offenders
