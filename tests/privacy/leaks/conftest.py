from tests.workers.conftest import settings

__all__ = ["settings"]
