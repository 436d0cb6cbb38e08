import json
import os
import secrets
from pathlib import Path

import pytest

from core.clock import SystemClock
from core.db.tables import ApiKey, AuditEvent, Person
from core.platform.access.directory import KeyDirectory
from core.platform.access.errors import KeyRefused
from core.platform.access.keys import make_key, parse_key, pepper_from
from core.platform.access.names import name_principal, names_of
from core.platform.access.roles import Role
from core.platform.access.sign_in_links import SignInLinks
from service.provision import main


@pytest.fixture
def keys() -> dict[str, str]:
    return {role.value: make_key(os.urandom).text for role in Role}


@pytest.fixture
def keys_file(tmp_path: Path, keys: dict[str, str]) -> Path:
    path = tmp_path / "keys.json"
    path.write_text(json.dumps(keys))
    return path


def recognise(settings, database, text: str):
    directory = KeyDirectory(
        pepper=pepper_from(settings.master_key_bytes), clock=SystemClock(), entropy=os.urandom
    )
    with database.read_only() as session:
        return directory.recognise(session, text)


def test_each_key_is_registered_for_its_role_once(settings, database, keys, keys_file) -> None:
    assert main(["--keys", str(keys_file)], settings=settings) == 0
    assert main(["--keys", str(keys_file)], settings=settings) == 0
    for role, text in keys.items():
        assert recognise(settings, database, text).roles == {role}
    with database.read_only() as session:
        assert session.query(ApiKey).count() == len(Role)


def test_principals_are_named_after_their_roles_once(settings, database, keys, keys_file) -> None:
    """Also in a folder whose keys an earlier release registered; a name that somebody set stays."""
    directory = KeyDirectory(
        pepper=pepper_from(settings.master_key_bytes), clock=SystemClock(), entropy=os.urandom
    )
    with database.transaction() as session:
        for name, text in keys.items():
            directory.register(session, parse_key(text), name=f"embedded {name}", roles=[Role(name)])
    ids = {role: recognise(settings, database, text).id for role, text in keys.items()}
    with database.transaction() as session:
        name_principal(session, ids["owner"], "Hospital registry", by=ids["admin"], clock=SystemClock())
    for _ in range(2):
        assert main(["--keys", str(keys_file)], settings=settings) == 0
    with database.read_only() as session:
        names = names_of(session, ids.values())
        logged = session.query(AuditEvent).filter_by(action="principal.name").count()
    assert {role: names[each] for role, each in ids.items()} == {role: role for role in keys} | {
        "owner": "Hospital registry"
    }
    assert logged == len(Role) - 1


def test_a_wrong_file_is_refused_without_naming_a_key(settings, database, tmp_path, capsys) -> None:
    path = tmp_path / "keys.json"
    for content in (
        "", "[]", "{}", '{"root": "x"}', '{"owner": "us_short"}', '{"owner": 1}', '{"owner": null}',
    ):  # fmt: skip
        path.write_text(content)
        assert main(["--keys", str(path)], settings=settings) == 2
        err = capsys.readouterr().err
        assert err.startswith("provision: ")
        assert "us_short" not in err
    with database.read_only() as session:
        assert session.query(ApiKey).count() == 0


def test_a_missing_file_is_refused(settings, tmp_path) -> None:
    assert main(["--keys", str(tmp_path / "nowhere.json")], settings=settings) == 2


def test_production_takes_no_keys_from_files(settings, database, keys, keys_file) -> None:
    production = settings.model_copy(update={"mode": "production"})
    assert main(["--keys", str(keys_file)], settings=production) == 2
    with pytest.raises(KeyRefused):
        recognise(settings, database, keys["admin"])


def test_the_first_admin_key_is_made_once(settings, database, capsys) -> None:
    production = settings.model_copy(update={"mode": "production"})
    assert main(["--first-admin"], settings=production) == 0
    key = capsys.readouterr().out.strip()
    assert recognise(settings, database, key).roles == {Role.ADMIN}
    assert main(["--first-admin"], settings=production) == 2
    assert capsys.readouterr().out == ""


def test_a_link_is_of_the_owner_with_all_roles(settings, database, keys, keys_file, tmp_path, capsys) -> None:
    """Also where the stack was made by an earlier release, and once for all links."""
    assert main(["--keys", str(keys_file)], settings=settings) == 0
    link = tmp_path / "link"
    for _ in range(2):
        link.write_text(f"ul_{secrets.token_hex(4)}_{secrets.token_urlsafe(32)}\n")
        assert main(["--keys", str(keys_file), "--link", str(link)], settings=settings) == 0
    owner = recognise(settings, database, keys["owner"])
    links = SignInLinks(pepper=pepper_from(settings.master_key_bytes), clock=SystemClock())
    with database.transaction() as session:
        principal = links.take(session, link.read_text().strip()).principal
        assert (principal.id, principal.roles) == (owner.id, set(Role))
        assert session.query(ApiKey).count() == len(Role) + 1
        assert set(session.get_one(Person, owner.id).roles) == set(Role)
    link.write_text("us_short")
    assert main(["--keys", str(keys_file), "--link", str(link)], settings=settings) == 2
    assert main(["--keys", str(keys_file), "--link", str(tmp_path / "nowhere")], settings=settings) == 2
    assert "us_short" not in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["--first-admin", "--link", str(link)], settings=settings)
