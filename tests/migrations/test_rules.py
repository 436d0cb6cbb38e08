"""Every migration can run while the previous release serves."""

import pytest

from tests.migrations.rules import JUSTIFIED, faults, sql_of
from tests.migrations.test_upgrade import VERSIONS

TIMEOUTS = ["SET LOCAL lock_timeout = '4s'", "SET LOCAL statement_timeout = '60s'"]


@pytest.mark.parametrize("path", VERSIONS, ids=lambda path: path.stem)
def test_a_migration_disturbs_nobody(path):
    assert list(faults(sql_of(path))) == []


def test_what_is_justified_exists():
    everything = " ".join(" ".join(sql_of(path)) for path in VERSIONS)
    for name in JUSTIFIED:
        assert f" {name} " in everything


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("DROP TABLE jobs", "drops a table"),
        ("ALTER TABLE jobs DROP COLUMN step", "drops a column"),
        ("ALTER TABLE jobs RENAME COLUMN step TO steps", "renames"),
        ("ALTER TABLE jobs RENAME TO trainings", "renames"),
        ("ALTER TABLE jobs ALTER COLUMN step TYPE TEXT", "changes a type"),
        ("ALTER TABLE jobs ALTER COLUMN stage SET NOT NULL", "null"),
        ("ALTER TABLE jobs ALTER COLUMN step DROP DEFAULT", "default"),
        ("ALTER TABLE jobs ADD COLUMN kind TEXT NOT NULL", "does not fill"),
        ("ALTER TABLE jobs ADD CONSTRAINT jobs_new_check CHECK (step > 0)", "NOT VALID"),
        ("ALTER TABLE jobs ADD CONSTRAINT jobs_new_check CHECK (step > 0) NOT VALID", "never validated"),
        ("ALTER TABLE jobs DROP CONSTRAINT jobs_state_known_check", "drops a constraint"),
        ("CREATE INDEX jobs_step_idx ON jobs (step)", "under a lock"),
        ("CREATE UNIQUE INDEX CONCURRENTLY jobs_step_key ON jobs (step)", "unique"),
        ("UPDATE jobs SET step = 0", "rewrites rows"),
        ("DELETE FROM jobs", "deletes rows"),
        ("TRUNCATE jobs", "deletes rows"),
    ],
)
def test_each_rule_bites(statement, words):
    found = list(faults([*TIMEOUTS, statement]))
    assert len(found) == 1
    assert words in found[0]


def test_an_index_with_a_reason_passes(monkeypatch):
    index = "CREATE INDEX jobs_step_idx ON jobs (step)"
    assert list(faults([*TIMEOUTS, index])) != []
    monkeypatch.setitem(JUSTIFIED, "jobs_step_idx", "partial")
    assert list(faults([*TIMEOUTS, index])) == []


def test_a_migration_without_timeouts_is_found():
    assert len(list(faults(["ALTER TABLE jobs ADD COLUMN kind TEXT"]))) == 2


@pytest.mark.parametrize(
    "statements",
    [
        ["ALTER TABLE jobs ADD COLUMN kind TEXT"],
        ["ALTER TABLE jobs ADD COLUMN kind TEXT DEFAULT 'a' NOT NULL"],
        ["CREATE TABLE fresh (a TEXT NOT NULL)", "CREATE UNIQUE INDEX fresh_a_key ON fresh (a)"],
        ["CREATE INDEX CONCURRENTLY jobs_step_idx ON jobs (step)"],
        [
            "ALTER TABLE jobs ADD CONSTRAINT jobs_new_check CHECK (step > 0) NOT VALID",
            "ALTER TABLE jobs VALIDATE CONSTRAINT jobs_new_check",
        ],
        ["COMMENT ON COLUMN jobs.step IS 'DROP COLUMN'"],
    ],
)
def test_what_disturbs_nobody_passes(statements):
    assert list(faults([*TIMEOUTS, *statements])) == []
