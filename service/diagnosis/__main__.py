"""`python -m service.diagnosis`: the doctor's report for when the API does not start. JSON on standard output.

Reads the same environment as the API. The exit status is 1 if there is a problem.
"""

import sys
from contextlib import closing

from pydantic import ValidationError

from core.clock import SystemClock
from core.data.objects import open_store
from core.db.session import Database
from core.logs import configure_logs
from core.platform.secrets import WeakSecrets
from core.platform.settings import Settings, read_settings
from service.diagnosis.examination import Examination
from service.diagnosis.findings import Finding, finding
from service.diagnosis.report import Report


def examine() -> list[Finding]:
    """All findings that can be determined from this process's environment."""
    found: list[Finding] = []
    try:
        settings = read_settings()
    except ValidationError as refusal:
        return [finding("settings-invalid", which=", ".join(_names(refusal)))]
    except WeakSecrets as refusal:
        found.append(finding("secret-weak", which="; ".join(refusal.reasons)))
        settings = Settings()  # type: ignore[call-arg]  # the fields come from the environment
    with closing(Database(settings.database_url, pool_size=1, max_overflow=1)) as database:
        try:
            store = open_store(settings.storage_url)
        except ValueError:
            return [*found, finding("settings-invalid", which="UNDERSTUDY_STORAGE_URL")]
        return [
            *found,
            *Examination(settings, database=database, store=store, clock=SystemClock()).findings(),
        ]


def _names(refusal: ValidationError) -> list[str]:
    """The names of the invalid variables; never their values."""
    places = [error["loc"] for error in refusal.errors(include_input=False, include_context=False)]
    return sorted(
        {f"UNDERSTUDY_{str(place[0]).upper()}" if place else "a pair of settings" for place in places}
    )


def main() -> int:
    """Print the report."""
    configure_logs(role="doctor")
    report = Report.of(examine(), at=SystemClock().now())
    sys.stdout.write(report.model_dump_json(indent=2) + "\n")
    return 0 if report.status == "well" else 1


if __name__ == "__main__":
    sys.exit(main())
