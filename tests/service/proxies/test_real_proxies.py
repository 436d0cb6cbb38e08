"""The API behind real proxies, configured as the page for operators shows it."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from core.platform.access.throttle import FREE_FAILURES
from core.platform.settings import Settings
from service.app import create_app
from service.auth.cookie import COOKIE
from tests.memory_queue import MemoryQueue
from tests.service.proxies.servers import NAME, UPSTREAM, caddy, documented, nginx
from tests.service.serving import serving
from tests.service.world import World

WRONG = "us_00000000_" + "A" * 43
Start = Callable[..., AbstractContextManager[int]]


@pytest.fixture
def production(settings: Settings) -> Settings:
    """The settings of a deployment that trusts the proxy on this machine."""
    named = Settings.model_validate(settings.model_dump() | {"trusted_proxies": ["127.0.0.1"]})
    return named.model_copy(update={"mode": "production"})


@dataclass(frozen=True)
class Site:
    """A deployment behind a proxy. Clients come from addresses of their own, which the service does not trust."""

    port: int

    @contextmanager
    def visited_from(self, address: str) -> Iterator[httpx.Client]:
        """A client that sends what a browser on the site's pages would."""
        browser = {"Host": NAME, "Origin": f"https://{NAME}", "Sec-Fetch-Site": "same-origin"}
        with httpx.Client(
            base_url=f"http://127.0.0.1:{self.port}",
            headers=browser,
            timeout=60,
            transport=httpx.HTTPTransport(local_address=address),
        ) as client:
            yield client


@contextmanager
def behind(world: World, settings: Settings, folder: Path, start: Start, site: str) -> Iterator[Site]:
    """The API behind a proxy."""
    app = create_app(
        settings, database=world.database, queue=MemoryQueue(), store=world.store, clock=world.clock
    )
    with serving(app) as served:
        inside = site.replace(UPSTREAM, f"127.0.0.1:{served.port}")
        with start(folder, site=inside) as port:
            yield Site(port)


def nginx_site() -> str:
    """The example, without TLS."""
    lines = documented("nginx").replace("listen 443 ssl;", "listen PORT;").splitlines()
    return "\n".join(line for line in lines if "ssl_certificate" not in line)


def caddy_site() -> str:
    """The example, without TLS."""
    return documented("caddyfile").replace(f"{NAME} {{", "http://:PORT {")


EXAMPLES: dict[str, tuple[Start, Callable[[], str]]] = {
    "nginx": (nginx, nginx_site),
    "caddy": (caddy, caddy_site),
}


def log_in(client: httpx.Client, key: str, headers: dict[str, str] | None = None) -> httpx.Response:
    return client.post("/v1/session", json={"key": key}, headers=headers)


@pytest.mark.parametrize("proxy", EXAMPLES)
def test_browsers_log_in_through_the_documented_proxy_and_wait_each_for_itself(
    world: World, production: Settings, tmp_path: Path, proxy: str
) -> None:
    start, site = EXAMPLES[proxy]
    with (
        behind(world, production, tmp_path, start, site()) as proxied,
        proxied.visited_from("127.0.0.2") as guesser,
        proxied.visited_from("127.0.0.3") as visitor,
    ):
        # Naming other addresses does not help: the proxy appends the true one, or replaces them.
        statuses = [
            log_in(guesser, WRONG, {"X-Forwarded-For": f"198.51.100.{n}", "Forwarded": f"for=198.51.100.{n}"})
            for n in range(FREE_FAILURES + 2)
        ]
        assert [answer.status_code for answer in statuses][-1] == 429
        welcome = log_in(visitor, world.owner.key)
        assert welcome.status_code == 201, welcome.text
        assert COOKIE in welcome.headers["set-cookie"]
        forged = log_in(visitor, world.owner.key, {"Origin": "https://evil.example"})
        assert (forged.status_code, forged.json()["code"]) == (403, "csrf-refused")
        for hidden in ("/metrics", "/readyz"):
            assert visitor.get(hidden).status_code == 404
    events = world.admin.get("/v1/audit").json()["items"]
    logins = {
        event["client_address"] for event in events if event["action"] in {"create_session", "session.open"}
    }
    assert logins == {"127.0.0.2", "127.0.0.3"}


CARELESS = "server { listen PORT; location / { proxy_pass http://127.0.0.1:8321; %s } }"


def test_a_proxy_that_changes_the_host_must_say_which_it_was(
    world: World, production: Settings, tmp_path: Path
) -> None:
    """nginx by itself sends the address of the service as host."""
    told = "proxy_set_header X-Forwarded-Host $http_host;"
    for line, status in (("", 403), (told, 201)):
        with (
            behind(world, production, tmp_path / str(status), nginx, CARELESS % line) as proxied,
            proxied.visited_from("127.0.0.2") as visitor,
        ):
            assert log_in(visitor, world.owner.key).status_code == status


def test_a_proxy_that_is_not_named_is_not_believed(
    world: World, production: Settings, tmp_path: Path
) -> None:
    unnamed = production.model_copy(update={"trusted_proxies": ()})
    with (
        behind(world, unnamed, tmp_path, nginx, nginx_site()) as proxied,
        proxied.visited_from("127.0.0.2") as visitor,
    ):
        assert log_in(visitor, WRONG).status_code == 401
    events = world.admin.get("/v1/audit").json()["items"]
    assert {event["client_address"] for event in events if event["action"] == "create_session"} == {
        "127.0.0.1"
    }
