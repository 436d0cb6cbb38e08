"""Scopes of keys. A key without scopes may do all that its roles allow; a key with scopes only what they name."""

from enum import StrEnum


class Scope(StrEnum):
    """One kind of use. Every endpoint needs exactly one (service/auth/table.py)."""

    DATASETS_READ = "datasets:read"
    DATASETS_WRITE = "datasets:write"
    BUDGET_READ = "budget:read"
    BUDGET_WRITE = "budget:write"
    JOBS_READ = "jobs:read"
    JOBS_WRITE = "jobs:write"
    RELEASES_READ = "releases:read"
    AUDIT_READ = "audit:read"
    KEYS_READ = "keys:read"
    KEYS_WRITE = "keys:write"
    NOTIFICATIONS_READ = "notifications:read"
    NOTIFICATIONS_WRITE = "notifications:write"
