from collections.abc import Iterator

import pytest

from core.platform.settings import Settings, read_settings
from tests.workers.support import Workshop, environment_of

SHORT = {
    "lease_seconds": 2.0,
    "heartbeat_seconds": 0.2,
    "checkpoint_seconds": 0.05,
    "upkeep_seconds": 0.2,
    "training_threads": 1,
}
"""Short times, one thread: tests wait for leases and share two cores."""


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update=SHORT)


@pytest.fixture
def workshop(settings: Settings) -> Iterator[Workshop]:
    workshop = Workshop(settings)
    yield workshop
    workshop.close()


@pytest.fixture
def worker_environment(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """This process has the environment of a worker."""
    for name, value in environment_of(settings).items():
        monkeypatch.setenv(name, value)
    read_settings.cache_clear()
    yield
    read_settings.cache_clear()
