import pytest
from pydantic import SecretStr

from core.platform.settings import Settings
from tests.service.conftest import _logs_as_served, database, database_url, peopled_template, world

__all__ = ["_logs_as_served", "database", "database_url", "peopled_template", "world"]


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """As elsewhere, but nobody is told to slow down, and metrics want their token as in production."""
    return settings.model_copy(
        update={"requests_per_minute": 10_000_000, "metrics_token": SecretStr("a token for metrics")}
    )
