"""The application as servers load it: ``uvicorn service.asgi:app``. Reads the settings from the environment."""

import sys

from core.logs import configure_logs
from core.settings import read_settings
from service.app import create_app

configure_logs(role="api")
try:
    settings = read_settings()
except ValueError as refusal:
    # Names settings, never a value; a traceback would only hide it.
    sys.exit(f"understudy: {refusal}")
app = create_app(settings)
