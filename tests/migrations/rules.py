"""What a migration may do while the previous release still serves: rules over the SQL that it sends.

The SQL is what Alembic would send, so a helper function or a raw statement is judged like any other. A rule that has
to be broken for a good reason is named in `JUSTIFIED` with the reason.
"""

import importlib.util
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext

FIRST: Final = "20261122_08_waiting_rows"
"""Revision of the baseline, the first release's schema."""
_ONCE_PER_LEDGER: Final = "unique before over a part of its columns, so the previous release cannot write one twice; a job has few entries"
JUSTIFIED: Final[dict[str, str]] = {
    "ledger_entries_job_id_population_id_kind_key": _ONCE_PER_LEDGER,
    "ledger_entries_spent_or_voided_once_key": _ONCE_PER_LEDGER,
}
"""Indexes on tables with rows that are unique or built under a lock, and why that disturbs nobody."""
_FORBIDDEN: Final = {
    r"\bDROP TABLE\b": "drops a table that the previous release uses",
    r"\bDROP COLUMN\b": "drops a column that the previous release reads",
    r"\bRENAME\b": "renames what the previous release names",
    r"\bALTER COLUMN \S+ (SET DATA )?TYPE\b": "changes a type: rewrites the table under a lock",
    r"\bSET NOT NULL\b": "scans the table under a lock, and the previous release may write null",
    r"\bDROP DEFAULT\b": "the previous release may rely on the default",
    r"^UPDATE\b": "rewrites rows in one transaction: fill them in batches from upkeep",
    r"^DELETE\b": "deletes rows",
    r"\bTRUNCATE [a-z]": "deletes rows",
}


def sql_of(path: Path, direction: str = "upgrade") -> list[str]:
    """The statements that a migration sends, one by one, without comments and with single spaces."""
    spec = importlib.util.spec_from_file_location(f"judged_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sent = io.StringIO()
    context = MigrationContext.configure(
        dialect_name="postgresql", opts={"as_sql": True, "output_buffer": sent}
    )
    with Operations.context(context):
        getattr(module, direction)()
    plain = re.sub(r"--.*", "", sent.getvalue())
    # Alembic ends each statement so; the body of a function has no empty lines.
    return [" ".join(one.split()) for one in plain.split(";\n\n") if one.strip()]


def faults(statements: list[str]) -> Iterator[str]:
    """What is wrong with the statements of one migration, in words."""
    made = {found[1] for one in statements if (found := re.match(r"CREATE TABLE (\w+)", one))}
    for name in ("lock_timeout", "statement_timeout"):
        if not any(re.match(rf"SET LOCAL {name} = '\d+s'", one) for one in statements[:2]):
            yield f"does not begin with SET LOCAL {name}: it would wait for a lock, and everybody behind it"
    for one in statements:
        words = _outside_quotes(one)
        for pattern, fault in _FORBIDDEN.items():
            if re.search(pattern, words) and not re.match(r"CREATE (FUNCTION|TRIGGER)\b", words):
                yield f"{fault}: {one}"
        yield from _faults_of_table(one, statements, made)
        yield from _faults_of_index(one, made)


def _faults_of_table(one: str, statements: list[str], made: set[str]) -> Iterator[str]:
    found = re.match(r"ALTER TABLE (?:ONLY )?(\w+) (.*)", one)
    if found is None or found[1] in made:
        return
    table, change = found[1], found[2]
    if re.match(r"ADD COLUMN", change) and "NOT NULL" in change and "DEFAULT" not in change:
        yield f"adds a column that the previous release does not fill: {one}"
    added = re.match(r"ADD CONSTRAINT (\w+)", change)
    if added and "NOT VALID" not in change:
        yield f"adds a constraint that scans the table under a lock, instead of NOT VALID: {one}"
    elif added and f"ALTER TABLE {table} VALIDATE CONSTRAINT {added[1]}" not in statements:
        yield f"adds a constraint that is never validated: {one}"
    dropped = re.match(r"DROP CONSTRAINT (?:IF EXISTS )?(\w+)", change)
    if dropped and not any(f"ADD CONSTRAINT {dropped[1]} " in other for other in statements):
        yield f"drops a constraint without putting a wider one of the same name in its place: {one}"


def _faults_of_index(one: str, made: set[str]) -> Iterator[str]:
    found = re.match(r"CREATE (UNIQUE )?INDEX (CONCURRENTLY )?(?:IF NOT EXISTS )?(\w+) ON (\w+)", one)
    if found is None or found[4] in made:
        return
    if found[1] and found[3] not in JUSTIFIED:
        yield f"makes unique what the previous release may write twice: {one}"
    if not found[2] and found[3] not in JUSTIFIED:
        yield f"builds an index under a lock, instead of concurrently or with a reason in JUSTIFIED: {one}"


def _outside_quotes(statement: str) -> str:
    return re.sub(r"'[^']*'", "''", statement)
