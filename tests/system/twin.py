"""The compose file without containers: its processes, with its commands, its environment and its order of start.

Nothing about a service is written here but what its image would bring: where its programs are. Names of services
become ports of the loopback interface, folders of volumes become folders below one of the test.
"""

import json
import os
import re
import secrets
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from understudy.embedded.child import Child, Command
from understudy.embedded.identity import give_to, launcher_prefix, server_identity
from understudy.embedded.postgres import binaries
from understudy.embedded.redis import binary as redis_program
from understudy.embedded.supervisor import free_port

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
HEALTHY_SECONDS = 240.0
ENTRYPOINTS = {"objects": ["minio"]}
"""The program that an image starts where the file gives only its arguments."""
_VARIABLE = re.compile(r"\$\$|\$\{(\w+)(?::([?-])([^}]*))?\}")
# The wheel has no redis-cli; the healthcheck pings, and nothing else.
_PING = (
    'import os, socket; c = socket.create_connection(("127.0.0.1", {port}), 5); '
    'c.sendall(b"AUTH " + os.environb[b"REDISCLI_AUTH"] + b"\\r\\nPING\\r\\n"); '
    "f = c.makefile(); print(f.readline(), f.readline())"
)
_STAND_IN = """#!{python}
import os, subprocess, sys, urllib.request
import boto3
from botocore.config import Config
words, note = sys.argv[1:], os.path.join(os.environ.get("MC_CONFIG_DIR", {folder!r}), "alias")
if words[0] == "ready":
    urllib.request.urlopen({objects!r}, timeout=5)
elif words[:2] == ["alias", "set"]:
    os.makedirs(os.path.dirname(note), exist_ok=True)
    open(note, "w").write("\\n".join(words[3:6]))
elif words[:2] == ["mb", "--ignore-existing"]:
    url, user, password = open(note).read().split("\\n")
    store = boto3.client("s3", endpoint_url=url, aws_access_key_id=user, aws_secret_access_key=password,
                         region_name="us-east-1", config=Config(retries={{"max_attempts": 1}}))
    store.create_bucket(Bucket=words[2].partition("/")[2])
else:
    sys.exit("mc: unknown words")
"""


def interpolate(value: Any, variables: Mapping[str, str]) -> Any:
    """What compose makes of the file's variables.

    Raises:
        KeyError: A variable that must be given is not.
    """
    if isinstance(value, dict):
        return {key: interpolate(each, variables) for key, each in value.items()}
    if isinstance(value, list):
        return [interpolate(each, variables) for each in value]
    if not isinstance(value, str):
        return value

    def one(found: re.Match[str]) -> str:
        if found[0] == "$$":
            return "$"
        if variables.get(found[1]):
            return variables[found[1]]
        if found[2] == "?":
            raise KeyError(found[3])
        return found[3] or ""

    return _VARIABLE.sub(one, value)


@dataclass
class Twin:
    """One running copy of the stack.

    Attributes:
        folder: for everything it writes.
        profile: which worker is started.
        extra: settings that an operator would add to the environment, to make a test short.
    """

    folder: Path
    profile: str
    extra: Mapping[str, str]
    variables: dict[str, str] = field(default_factory=dict)
    children: dict[str, Child] = field(default_factory=dict)

    def __post_init__(self) -> None:
        names = ("POSTGRES_PASSWORD", "REDIS_PASSWORD", "OBJECTS_PASSWORD", "UNDERSTUDY_METRICS_TOKEN")
        self.variables = {name: secrets.token_hex(24) for name in names}
        self.variables["UNDERSTUDY_MASTER_KEY"] = secrets.token_hex(32)
        plain = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
        self.services: dict[str, Any] = interpolate(plain["services"], self.variables)
        self.ports = {name: free_port(0) for name in ("postgres", "redis", "objects", "api")}
        self._shims = self.folder / "bin"
        self._shims.mkdir(parents=True)
        self._write_shims()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.ports['api']}"

    def start(self) -> "Twin":
        """Start every service of the profile in the order that `depends_on` asks for."""
        for name in self._in_order():
            self._start(name)
        for name in self.children:
            self._await_health(name)
        return self

    def stop(self) -> None:
        for child in reversed(list(self.children.values())):
            child.stop()

    def log(self, name: str) -> str:
        path = self._log(name)
        return path.read_text(errors="replace") if path.exists() else ""

    def events(self, name: str) -> list[dict[str, Any]]:
        """The structured lines of a service's log."""
        lines = [line for line in self.log(name).splitlines() if line.startswith("{")]
        return [json.loads(line) for line in lines]

    def run(self, name: str, *words: str) -> str:
        """`docker compose run NAME WORDS`, to its end."""
        finished = subprocess.run(
            [*words],
            env=self.environment(name),
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert finished.returncode == 0, finished.stderr
        return finished.stdout

    def environment(self, name: str) -> dict[str, str]:
        """Exactly what the image and the file give a service, and where this machine keeps programs."""
        inherited = {"PATH": f"{self._shims}:{BIN}:{os.environ['PATH']}", "HOME": str(self.folder)}
        told = dict(self.services[name].get("environment") or {})
        image = {key: value for key, value in self._image(name).environment.items() if key != "PATH"}
        given = {key: self._here(str(value), name) for key, value in (image | told).items()}
        ours = self.extra if "build" in self.services[name] else {}
        return inherited | given | dict(ours)

    def _in_order(self) -> list[str]:
        chosen = {
            name
            for name, each in self.services.items()
            if self.profile in each.get("profiles", [self.profile])
        }
        placed: list[str] = []
        while len(placed) < len(chosen):
            free = [
                name
                for name in sorted(chosen - set(placed))
                if set(self.services[name].get("depends_on", ())) <= set(placed)
            ]
            assert free, "depends_on goes in a circle"
            placed += free
        return placed

    def _start(self, name: str) -> None:
        service = self.services[name]
        for needed, how in service.get("depends_on", {}).items():
            if how["condition"] == "service_completed_successfully":
                assert self.children[needed].wait(HEALTHY_SECONDS), needed
                assert self.children[needed].exit_status == 0, self.log(needed)
            else:
                self._await_health(needed)
        if name == "postgres":
            self._make_cluster()
        image = self._image(name)
        entry = service.get("entrypoint") or ENTRYPOINTS.get(name, [])
        words = [self._here(word, name) for word in [*entry, *(service.get("command") or image.command)]]
        self.children[name] = Child(
            Command(
                name=name,
                arguments=words,
                log=self._log(name),
                environment=self.environment(name),
                stop_signal=signal.SIGINT if name == "postgres" else image.stop_signal,
                identity=server_identity() if name == "postgres" else "as-is",
                grace_seconds=30.0,
                folder=ROOT if "build" in service else self.folder / "volumes" / name,
            )
        )

    def _await_health(self, name: str) -> None:
        test = self.services[name].get("healthcheck", {}).get("test") or self._image(name).health
        if not test:
            return
        words = ["sh", "-c", test[1]] if test[0] == "CMD-SHELL" else test[1:]
        words = [self._here(word, name) for word in words]
        end = time.monotonic() + HEALTHY_SECONDS
        while True:
            assert self.children[name].exit_status is None, f"{name} ended:\n{self.log(name)}"
            tried = subprocess.run(
                words, env=self.environment(name), capture_output=True, text=True, check=False, timeout=120
            )
            if tried.returncode == 0:
                return
            said = f"{tried.stdout}{tried.stderr}\n{self.log(name)}"
            assert time.monotonic() < end, f"{name} did not become healthy:\n{said}"
            time.sleep(1.0)  # each question starts a process

    def _here(self, text: str, name: str) -> str:
        """A word of the file as this machine has to spell it."""
        volumes = self.folder / "volumes" / name
        volumes.mkdir(parents=True, exist_ok=True)
        text = re.sub(r"\b(postgres|redis|objects):\d+", lambda m: f"127.0.0.1:{self.ports[m[1]]}", text)
        text = text.replace("8321", str(self.ports["api"])).replace("0.0.0.0", "127.0.0.1")
        text = re.sub(r"^/(scratch|tmp/\w+|data)$", lambda m: str(volumes / m[1]), text)
        return re.sub(r"^/app$", str(ROOT), text)

    def _image(self, name: str) -> "Image":
        build = self.services[name].get("build")
        return Image() if build is None else Image.of(ROOT / build["dockerfile"])

    def _log(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    def _make_cluster(self) -> None:
        """What the entry point of the postgres image does with a fresh volume."""
        told = self.services["postgres"]["environment"]
        volume = self.folder / "volumes" / "postgres"
        cluster, password = volume / "cluster", volume / "password"
        cluster.mkdir(parents=True)
        password.write_text(told["POSTGRES_PASSWORD"])
        for path in (volume, cluster, password):
            give_to(server_identity(), path)
        prefix = launcher_prefix(death_signal=signal.SIGKILL, identity=server_identity())
        words = [
            *(str(binaries() / "initdb"), "-D", str(cluster), "-U", told["POSTGRES_USER"]),
            *(f"--pwfile={password}", "--no-sync", *told["POSTGRES_INITDB_ARGS"].split()),
        ]
        made = subprocess.run([*prefix, *words], capture_output=True, text=True, check=False, cwd=volume)
        assert made.returncode == 0, made.stderr
        single = [str(binaries() / "postgres"), "--single", "-D", str(cluster), "postgres"]
        made = subprocess.run(
            [*prefix, *single],
            input=f"CREATE DATABASE {told['POSTGRES_DB']};\n",
            capture_output=True, text=True, check=False, cwd=volume,
        )  # fmt: skip
        assert made.returncode == 0, made.stderr

    def _write_shims(self) -> None:
        redis, objects = self.folder / "volumes" / "redis", f"http://127.0.0.1:{self.ports['objects']}"
        cluster, port = self.folder / "volumes" / "postgres" / "cluster", self.ports["postgres"]
        sockets = "-c unix_socket_directories="
        where = f"-c listen_addresses=127.0.0.1 -p {port} {sockets}"
        self._shim("postgres", f'exec {binaries()}/postgres -D {cluster} "$@" {where}')
        self._shim("pg_isready", f'exec {binaries()}/pg_isready -h 127.0.0.1 -p {port} "$@"')
        here = f"--bind 127.0.0.1 --port {self.ports['redis']} --dir {redis}"
        self._shim("redis-server", f'exec {redis_program()} "$@" {here}')
        self._shim("redis-cli", f"exec {sys.executable} -SEc '{_PING.format(port=self.ports['redis'])}'")
        self._shim("minio", f"exec {BIN}/moto_server -H 127.0.0.1 -p {self.ports['objects']}")
        path = self._shims / "mc"
        path.write_text(_STAND_IN.format(python=sys.executable, folder=str(self.folder), objects=objects))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def _shim(self, name: str, script: str) -> None:
        path = self._shims / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)


@dataclass(frozen=True)
class Image:
    """What a Dockerfile's last stage says about running."""

    command: tuple[str, ...] = ()
    health: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    stop_signal: int = signal.SIGTERM

    @classmethod
    def of(cls, dockerfile: Path) -> "Image":
        text = re.sub(r"^#.*\n", "", dockerfile.read_text(), flags=re.MULTILINE).replace("\\\n", " ")
        said: dict[str, str] = {}
        for line in text.splitlines():
            if line.strip():
                keyword, _, rest = line.strip().partition(" ")
                said[keyword] = f"{said['ENV']} {rest}" if keyword == "ENV" and "ENV" in said else rest
        health = re.search(r"CMD (\[.*\])", said.get("HEALTHCHECK", ""))
        return cls(
            command=tuple(json.loads(said["CMD"])),
            health=("CMD", *json.loads(health[1])) if health else (),
            environment=dict(re.findall(r"(\w+)=(\S+)", said.get("ENV", ""))),
            stop_signal=signal.Signals[said.get("STOPSIGNAL", "SIGTERM")],
        )
