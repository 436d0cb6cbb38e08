"""Which roles may use which endpoint: the one place that says so. An endpoint that is not listed answers nobody.

Beyond the role, ownership decides: an owner sees the datasets of its own principal and what hangs on them, and
everything else answers 404. Analysts and admins see what is declared public about every dataset; neither ever sees
an intake report.
"""

from collections.abc import Mapping
from typing import Final

from core.access.roles import Role

_OWNER = frozenset({Role.OWNER})
_ANALYST = frozenset({Role.ANALYST})
_ADMIN = frozenset({Role.ADMIN})
_EVERYBODY = _OWNER | _ANALYST | _ADMIN

ROLES_OF: Final[Mapping[str, frozenset[Role]]] = {
    "create_key": _ADMIN,
    "list_keys": _ADMIN,
    "revoke_key": _ADMIN,
    "create_dataset": _OWNER,
    "list_datasets": _EVERYBODY,
    "read_dataset": _EVERYBODY,
    "upload_rows": _OWNER,
    "read_intake_report": _OWNER,
    "set_budget": _ADMIN,
    "read_budget": _EVERYBODY,
    "read_ledger": _EVERYBODY,
    "create_quote": _ANALYST,
    "create_job": _ANALYST,
    "list_jobs": _EVERYBODY,
    "read_job": _EVERYBODY,
    "cancel_job": _ANALYST | _ADMIN,
    "list_releases": _EVERYBODY,
    "read_release": _EVERYBODY,
    "download_bundle": _EVERYBODY,
    "read_certificate": _EVERYBODY,
    "draw_samples": _EVERYBODY,
}
