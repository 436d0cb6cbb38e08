"""`understudy.check_rules` and `understudy check-rules`: rules held against a bundle's counts, for people and for programs."""

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import understudy
from core.artifacts.packing import pack
from tests.core.artifacts.ruled import BROKEN, ruled_release
from tests.core.artifacts.stand_in import bundle as stand_in
from understudy.cli import app
from understudy.errors import Conflict, InputUnusable, InvalidInput, NotInstalled
from understudy.local.fitted import Fitted

PACKED = pack(ruled_release()[0], readme="x")
KEPT = pack(ruled_release(broken=0)[0], readme="x")


def run(path: Path, *words: str) -> str:
    done = CliRunner().invoke(app, ["check-rules", str(path), *words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_a_file_its_content_and_a_training_of_this_machine_are_checked(tmp_path: Path) -> None:
    (tmp_path / "bundle.zip").write_bytes(PACKED)
    check = understudy.check_rules(PACKED)
    assert check == understudy.check_rules(tmp_path / "bundle.zip")
    assert check == Fitted(bundle=PACKED, certificate={}, rows_refused=0, refusals={}).check_rules()
    assert [rule.finding for rule in check.rules] == ["contradicted", "not-contradicted", "not-checked"]
    (rule,) = check.contradicted
    assert (rule.pointer, rule.kind, rule.columns) == ("/rules/0", "impossible", ("ward", "sick"))
    (found,) = rule.contradictions
    assert found.columns == ("ward", "sick")
    assert found.low < BROKEN < found.high
    assert check.remedy
    assert understudy.check_rules(KEPT).contradicted == ()


def test_the_command_says_it_to_people_and_to_programs(tmp_path: Path) -> None:
    path = tmp_path / "bundle.zip"
    path.write_bytes(PACKED)
    told = run(path)
    assert "/rules/0  impossible of ward, sick: contradicted by the counts" in told
    assert "ward and sick: about 40" in told
    assert "/rules/2  impossible of ward, age, sick: not checked" in told
    assert "declare a new version" in told
    assert json.loads(run(path, "--json")) == understudy.check_rules(PACKED).document
    path.write_bytes(KEPT)
    assert run(path).splitlines()[-1] == "The noisy counts contradict no rule."


def test_a_domain_without_rules_has_none_to_check() -> None:
    check = understudy.RulesCheck.from_json({"rules": [], "counted": "records", "remedy": None})
    assert list(check.lines()) == ["The domain has no rules between columns."]


def test_words_of_a_stranger_steer_no_terminal() -> None:
    document = json.loads(json.dumps(understudy.check_rules(PACKED).document))
    for rule in document["rules"]:
        rule |= {"pointer": "\x1b", "kind": "\x1b", "columns": ["a\nb"], "finding": "\x1b"}
        for found in rule["contradictions"]:
            found["columns"] = ["\x1b[2J", "\n"]
    steering = understudy.RulesCheck.from_json(document | {"counted": "\x1b", "remedy": "\x1b"})
    lines = list(steering.lines())
    assert not any("\x1b" in line or "\n" in line for line in lines)


def test_what_cannot_be_checked_is_the_services_refusal(tmp_path: Path) -> None:
    with pytest.raises(Conflict) as without:
        understudy.check_rules(pack(stand_in(), readme="x"))
    assert without.value.code == "no-counts"
    with pytest.raises(InvalidInput) as damaged:
        understudy.check_rules(PACKED[:-50])
    assert damaged.value.code == "bundle-invalid"
    with pytest.raises(InputUnusable, match="there is no file"):
        understudy.check_rules(tmp_path / "none.zip")


def test_without_the_engine_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "understudy.local.sampling.asking", None)
    with pytest.raises(NotInstalled, match="the extra `offline` is enough"):
        understudy.check_rules(PACKED)
