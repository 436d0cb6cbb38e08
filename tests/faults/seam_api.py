"""The API of a drill: the real one, with the one thing injected that no two runs share, a job's randomness key.

``uvicorn tests.faults.seam_api:app`` in place of ``service.asgi:app``. With the same key, plan and rows every job
must leave the same bytes, however often it was disturbed.
"""

import hashlib

from core.logs import configure_logs
from core.platform.settings import read_settings
from service.app import create_app


def known_bytes(count: int) -> bytes:
    """Give the same bytes every time. Not a secret: a drill's rows are simulated."""
    return hashlib.shake_256(b"understudy drill").digest(count)


configure_logs(role="api")
app = create_app(read_settings(), entropy=known_bytes)
