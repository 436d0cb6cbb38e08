"""The application as servers load it: ``uvicorn service.asgi:app``. Reads the settings from the environment."""

from core.logs import configure_logs
from core.settings import read_settings
from service.app import create_app

configure_logs(role="api")
app = create_app(read_settings())
