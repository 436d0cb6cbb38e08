"""Training without a service: what it leaves, what it charges, and what becomes of it when it fails."""

import copy
import json
import pickle
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import date
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch

import understudy
from core.artifacts.sampling.generator_check import GeneratorCheck
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.charge import MICRO, charge_of
from core.dp.guarantee import PrivacyGuarantee
from core.plan.domain.declared import domain_from_json
from core.plan.plan import Plan, make_plan
from core.plan.spec import SynthesisSpec
from models.randomness import KeyedStreams, Purpose
from models.release_recorder import CertificateRecorder
from tests.core.artifacts.stand_in import DOMAIN
from understudy import BudgetRefused, InputUnusable, InvalidInput, VerificationFailed
from understudy.cli import main
from understudy.errors import DegenerateGenerator
from understudy.local import Fitted, RowsRefused, ValuesClamped, fit, read_account, set_cap
from understudy.local.training import fitting
from understudy.verifying.bundle_file import open_bundle
from understudy.verifying.local_form import SCHEMA
from understudy.verifying.verification import Outcome, verify_bundle, verify_opened

SMALL = {
    "steps": 2, "pretraining_steps": 2, "generator_width": 16, "generator_batch_size": 16, "latent_dimension": 4,
    "critic_width": 16, "critic_steps": 1,
}  # fmt: skip
GUARANTEE = (1.0, 1e-6)


def frame(rows: int = 300) -> pa.Table:
    rng = np.random.default_rng(5)
    return pa.table({
        "ward": rng.choice(["A", "Ü"], rows),
        "age": rng.integers(0, 100, rows),
        "sick": rng.choice(["yes", "no"], rows),
        "seen": [date(2020, 1, 1 + int(day)) for day in rng.integers(0, 10, rows)],
    })  # fmt: skip


def capped(folder: Path) -> Path:
    set_cap("wards", epsilon=1.0, delta=2e-6, ledgers=folder)
    return folder


@pytest.fixture(scope="module")
def ledgers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return capped(tmp_path_factory.mktemp("ledgers"))


@pytest.fixture(scope="module")
def fitted(ledgers: Path) -> Fitted:
    bad = frame().slice(0, 1).set_column(0, "ward", pa.array(["nobody's ward"]))
    rows = pa.concat_tables([frame(), bad])
    with pytest.warns(RowsRefused, match=r"refused 1 of 301 records \(ward: unknown-category 1\)") as told:
        trained = understudy.fit(
            rows, DOMAIN, GUARANTEE, dataset="wards", declared_size=300, options=SMALL, ledgers=ledgers
        )
    assert "nobody's ward" not in str(told[0].message)
    assert told[0].filename == __file__
    return trained


def test_the_owner_of_the_rows_has_an_owner_report(fitted: Fitted, tmp_path: Path) -> None:
    earlier = tmp_path / "report.html"
    earlier.write_text("for everybody to read")
    earlier.chmod(0o644)
    file = fitted.report(frame(), earlier, target="ward")
    html = file.read_text()
    assert "do not share" in html
    assert "Privacy attacks" in html
    assert "it is a file that only your user can read" in html
    assert "the service" not in html, "there is none"
    assert "<dd>ward</dd>" in html
    assert file.stat().st_mode & 0o777 == 0o600
    with pytest.raises(InvalidInput):
        fitted.report(frame(), file, target="nothing")


def test_the_certificate_states_a_look_at_the_generator(fitted: Fitted) -> None:
    look = fitted.certificate["generator_check"]
    assert look["draws"] == 5000
    assert look["degenerate"] is False


def test_a_degenerate_generator_is_warned_of(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    collapsed = GeneratorCheck(draws=5000, distinct_records=1, constant_columns=("ward",))
    monkeypatch.setattr(fitting, "check_generator", lambda _generator, _domain: collapsed)
    with pytest.warns(DegenerateGenerator, match="'ward'.*larger epsilon"):
        made = fit(
            frame(),
            DOMAIN,
            GUARANTEE,
            dataset="wards",
            declared_size=300,
            options=SMALL,
            ledgers=capped(tmp_path),
        )
    assert made.certificate["generator_check"] == collapsed.to_json()
    report = verify_bundle(made.save(tmp_path / "bundle.zip"), allow_unsigned=True)
    assert report.outcome is Outcome.VERIFIED, report.refusals


def test_a_table_of_many_codes_is_counted_published_and_verified(tmp_path: Path) -> None:
    wide = DOMAIN | {
        "columns": [
            *DOMAIN["columns"],  # type: ignore[misc]
            {"name": "code", "kind": "categorical", "categories": [str(code) for code in range(9000)]},
        ]
    }
    rows = frame()
    rows = rows.append_column("code", [[str(7 * number % 9000) for number in range(len(rows))]])
    made = fit(
        rows, wide, GUARANTEE, dataset="wards", declared_size=300, ledgers=capped(tmp_path), options={"pretraining_steps": 3},
    )  # fmt: skip
    report = verify_bundle(made.save(tmp_path / "bundle.zip"), allow_unsigned=True)
    assert report.outcome is Outcome.VERIFIED, report.refusals
    assert made.sample(20, form="arrow").num_rows == 20


def test_rows_come_as_a_data_frame_or_as_arrow(fitted: Fitted) -> None:
    table = fitted.sample(40, form="arrow")
    assert table.num_rows == 40
    assert table.column_names == ["ward", "age", "sick", "seen"]
    pandas = pytest.importorskip("pandas")
    assert isinstance(fitted.sample(3), pandas.DataFrame)
    with pytest.raises(InputUnusable, match="unknown form"):
        fitted.sample(3, form="feather")
    with pytest.raises(InputUnusable, match="at least one"):
        fitted.sample(0)


def test_the_bundle_verifies_but_for_a_signature_that_nobody_made(
    fitted: Fitted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = fitted.save(tmp_path / "bundle.zip")
    report = verify_bundle(file)
    assert report.outcome is Outcome.SIGNER_UNKNOWN, report.lines()
    assert [check.name for check in report.checks if check.holds is None] == ["signature"]
    assert verify_bundle(file, allow_unsigned=True).outcome is Outcome.VERIFIED

    monkeypatch.setattr("sys.argv", ["understudy", "verify", str(file)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == int(Outcome.SIGNER_UNKNOWN)
    assert "no more authority than the person who hands it on" in capsys.readouterr().out
    readme = zipfile.ZipFile(file).read("README.md").decode()
    assert "not signed" in readme
    assert "--keys" not in readme


def test_the_certificate_says_nothing_that_is_true_of_a_service_only(fitted: Fitted, ledgers: Path) -> None:
    certificate = fitted.certificate
    assert certificate["schema"] == SCHEMA
    assert not {"context", "algorithm", "key_id", "signature"} & certificate.keys()
    told = json.dumps([certificate[name] for name in ("model", "justification", "not_covered", "randomness")])
    for untrue in ("service", "other people set", "sealed", "master key", "analysts"):
        assert untrue not in told
    entries = [json.loads(line) for line in (ledgers / "wards.jsonl").read_text().splitlines()[1:]]
    assert [entry["kind"] for entry in entries] == ["CAP_SET", "RESERVED", "SPENT", "SETTLED"]
    assert certificate["ledger"]["reserved"] == {"sequence": 2, "hash": entries[1]["hash"]}
    assert certificate["ledger"]["spent"] == {"sequence": 3, "hash": entries[2]["hash"]}


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("schema", "understudy.certificate/2"),
        ("declared_size", 3000),
        ("not_covered", []),
        ("randomness", {"cipher": "ChaCha20 (RFC 8439)"}),
        ("signature", "x"),
    ],
)
def test_a_changed_certificate_is_refused(fitted: Fitted, tmp_path: Path, member: str, value: object) -> None:
    opened = open_bundle(fitted.save(tmp_path / "bundle.zip"))
    opened.certificate[member] = value
    assert verify_opened(opened, allow_unsigned=True).outcome is Outcome.REFUSED


def test_findings_for_the_owner_alone_are_not_in_the_bundle(fitted: Fitted) -> None:
    assert fitted.rows_refused == 1
    assert fitted.refusals == {"ward: unknown-category": 1}
    assert "refus" not in repr(fitted)


@pytest.fixture(scope="module")
def plan() -> Plan:
    """What the small training runs, critic included."""
    return make_plan(
        spec=SynthesisSpec(synthesizer="idpgan", options=SMALL),
        guarantee=PrivacyGuarantee(epsilon=GUARANTEE[0], delta=GUARANTEE[1]),
        declared_size=300,
        domain=domain_from_json(DOMAIN),
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
    )


def micros(decimal: str) -> int:
    return round(Decimal(decimal) * MICRO)


def test_of_a_whole_training_all_that_its_plan_costs_is_spent(
    fitted: Fitted, ledgers: Path, plan: Plan
) -> None:
    assert fitted.certificate["plan_digest"] == plan.digest()
    whole, anchor = (charge_of(each, delta=1e-6) for each in (plan.mechanism, plan.executed(0)))
    assert whole.epsilon_micros > anchor.epsilon_micros, "the critic must cost something"
    account = read_account("wards", ledgers=ledgers)
    assert list(account.jobs.values()) == ["SETTLED"]
    assert micros(account.spent["epsilon"]) == whole.epsilon_micros
    assert micros(account.reserved["epsilon"]) == 0


@pytest.mark.parametrize(
    "end", [KeyboardInterrupt, OSError, MemoryError, ValueError], ids=lambda end: end.__name__
)
@pytest.mark.parametrize("stage", ["measure", "train"])
def test_a_training_that_ends_early_costs_as_much_as_a_whole_one(
    tmp_path: Path, plan: Plan, stage: str, end: type[BaseException]
) -> None:
    """Cancelled, failed by the machine, failed among the rows: the charge of the whole plan stays, and nothing settles it."""

    def broken_off(reached: str, _step: int, _total: int) -> None:
        seen.append(reached)
        if reached == stage:
            raise end

    seen: list[str] = []
    capped(tmp_path)
    with pytest.raises(end):
        fit(
            frame(), DOMAIN, GUARANTEE, dataset="wards", declared_size=300, options=SMALL, ledgers=tmp_path, watch=broken_off
        )  # fmt: skip
    assert seen[-1] == stage
    account = read_account("wards", ledgers=tmp_path)
    assert list(account.jobs.values()) == ["SPENT"]
    assert micros(account.spent["epsilon"]) == charge_of(plan.mechanism, delta=1e-6).epsilon_micros


def test_a_second_training_is_refused_before_a_row_is_trained_on(
    fitted: Fitted, ledgers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert fitted.certificate["declared_size"] == 300
    monkeypatch.setattr(fitting, "make_synthesizer", lambda _name: pytest.fail("a training began"))
    with pytest.raises(BudgetRefused):
        fit(frame(), DOMAIN, GUARANTEE, dataset="wards", declared_size=300, options=SMALL, ledgers=ledgers)


class Failing:
    """A synthesizer that looks at the ledger when it would see the first row, and fails."""

    def __init__(self, ledgers: Path) -> None:
        self.ledgers = ledgers
        self.seen: list[str] = []

    def fit(self, *_arguments: Any) -> None:
        self.seen = list(read_account("wards", ledgers=self.ledgers).jobs.values())
        raise MemoryError


def test_when_rows_are_touched_the_charge_is_on_the_disk_and_a_failure_keeps_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing, synced = Failing(capped(tmp_path)), []
    monkeypatch.setattr(fitting, "make_synthesizer", lambda _name: failing)
    monkeypatch.setattr("understudy.local.ledger.file.os.fsync", synced.append)
    with pytest.raises(MemoryError):
        fit(frame(), DOMAIN, GUARANTEE, dataset="wards", declared_size=300, options=SMALL, ledgers=tmp_path)
    assert failing.seen == ["SPENT"]
    assert synced
    assert float(read_account("wards", ledgers=tmp_path).spent["epsilon"]) > 0.99
    assert not torch.are_deterministic_algorithms_enabled()


class Listening:
    """A synthesizer that keeps what would be the noise of a training, and what happens then."""

    def __init__(self, then: Callable[[], None]) -> None:
        self.noise: list[bytes] = []
        self.then = then

    def fit(self, _records: Any, _plan: Any, streams: KeyedStreams, _host: Any) -> None:
        self.noise.append(streams.normals(Purpose.ANCHOR_NOISE, 0, 4).tobytes())
        self.then()


def test_no_two_trainings_share_their_noise_also_after_a_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_cap("wards", epsilon=9.0, delta=1e-4, ledgers=tmp_path)

    def crash() -> None:
        raise MemoryError

    listening = Listening(crash)
    monkeypatch.setattr(fitting, "make_synthesizer", lambda _name: listening)
    torch.manual_seed(1)
    for rows in (300, 300, 299):
        torch.manual_seed(1)
        with pytest.raises(MemoryError):
            fit(
                frame(rows),
                DOMAIN,
                GUARANTEE,
                dataset="wards",
                declared_size=300,
                options=SMALL,
                ledgers=tmp_path,
            )
    assert len(set(listening.noise)) == 3
    assert list(read_account("wards", ledgers=tmp_path).jobs.values()) == ["SPENT"] * 3


def test_a_generator_whose_charge_is_in_no_ledger_any_more_is_not_handed_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An older file is put back while a training runs: the next one would be admitted as if this had never been."""
    path = capped(tmp_path) / "wards.jsonl"
    older = path.read_bytes()
    listening = Listening(lambda: path.write_bytes(older) and None)
    monkeypatch.setattr(fitting, "make_synthesizer", lambda _name: listening)
    sound = GeneratorCheck(draws=5000, distinct_records=4000)
    monkeypatch.setattr(fitting, "check_generator", lambda _generator, _domain: sound)
    monkeypatch.setattr(fitting, "write_bundle", lambda **_: b"")
    # private: plants a failure after the training, before the certificate
    monkeypatch.setattr(fitting, "_certified", lambda *_, **__: (b"", {}))
    monkeypatch.setattr(CertificateRecorder, "executed", lambda _self: None)
    with pytest.raises(VerificationFailed, match="not returned"):
        fit(frame(), DOMAIN, GUARANTEE, dataset="wards", declared_size=300, options=SMALL, ledgers=tmp_path)


def test_the_ledger_does_not_tell_how_long_a_training_took(fitted: Fitted, ledgers: Path) -> None:
    assert fitted.bundle
    times = {json.loads(line)["at"] for line in (ledgers / "wards.jsonl").read_text().splitlines()[2:]}
    assert len(times) == 1
    assert fitted.certificate["issued_at"][:19] == times.pop()[:19]


def test_findings_for_the_owner_alone_are_not_pickled(fitted: Fitted) -> None:
    with pytest.raises(InputUnusable, match="writes the bundle"):
        pickle.dumps(fitted)
    with pytest.raises(InputUnusable, match="writes the bundle"):
        copy.copy(fitted)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"declared_size": None}, InputUnusable, "declared_size=N"),
        ({"guarantee": (0.0, 1e-6)}, InvalidInput, "epsilon"),
        ({"guarantee": 1.0}, InputUnusable, "pair of numbers"),
        ({"options": {"stepz": 1}}, InvalidInput, "stepz"),
        ({"frame": [1, 2]}, InputUnusable, "DataFrame of pandas or polars, or an Arrow table"),
        ({"frame": frame().drop_columns(["ward"])}, InvalidInput, "missing: ward"),
        ({"frame": frame().slice(0, 0)}, InputUnusable, "no record"),
        ({"domain": DOMAIN | {"_from_data": []}}, InputUnusable, "draft"),
        ({"declared_size": 149}, InvalidInput, "twice as many"),
        ({"labels": [1]}, InputUnusable, "for images only"),
        ({"max_refused": 2}, InputUnusable, "from 0 to 1"),
        ({"max_refused": True}, InputUnusable, "from 0 to 1"),
        ({"max_refused": float("nan")}, InputUnusable, "from 0 to 1"),
    ],
    ids=[
        "size",
        "guarantee",
        "one number",
        "option",
        "list",
        "column",
        "empty",
        "draft",
        "more than declared",
        "labels",
        "share",
        "truth",
        "no share",
    ],
)
def test_what_cannot_be_trained_on_costs_nothing(
    tmp_path: Path, changes: dict[str, Any], error: type[Exception], message: str
) -> None:
    capped(tmp_path)
    given: dict[str, Any] = {
        "frame": frame(), "domain": DOMAIN, "guarantee": GUARANTEE, "declared_size": 300, "options": SMALL,
    } | changes  # fmt: skip
    with pytest.raises(error, match=message):
        fit(**given, dataset="wards", ledgers=tmp_path)
    assert read_account("wards", ledgers=tmp_path).jobs == {}


@pytest.mark.parametrize(
    ("max_refused", "bad", "refused"),
    [(None, 6, False), (None, 7, True), (0.0, 0, False), (0.0, 1, True), (0.5, 150, False), (1, 299, False)],
)
def test_more_refused_rows_than_allowed_cost_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, max_refused: float | None, bad: int, refused: bool
) -> None:
    """The default is one in fifty: 6 of 300 may be refused, and 7 may not."""
    capped(tmp_path)
    trained: list[int] = []
    monkeypatch.setattr(fitting, "make_synthesizer", lambda _name: Listening(lambda: _stop(trained)))
    rows = frame().set_column(0, "ward", pa.array(["N"] * bad + ["A"] * (300 - bad)))
    given: dict[str, Any] = {} if max_refused is None else {"max_refused": max_refused}
    expected = pytest.raises(InputUnusable if refused else MemoryError)
    told = pytest.warns(RowsRefused) if bad and not refused else nullcontext()
    with told, expected as error:
        fit(
            rows, DOMAIN, GUARANTEE, dataset="wards", declared_size=300, options=SMALL, ledgers=tmp_path, **given
        )  # fmt: skip
    assert trained == [] if refused else [1]
    assert list(read_account("wards", ledgers=tmp_path).jobs.values()) == ([] if refused else ["SPENT"])
    if refused:
        for words in (f"{bad} of 300", f"ward: unknown-category {bad}", "max_refused", "nothing was charged"):
            assert words in str(error.value)


@pytest.mark.filterwarnings(f"error::{ValuesClamped.__module__}.{ValuesClamped.__name__}")
@pytest.mark.parametrize(("far", "warned"), [(6, False), (7, True), (300, True)])
def test_the_owner_hears_of_values_beyond_the_bounds_before_they_are_paid_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, far: int, warned: bool
) -> None:
    capped(tmp_path)
    monkeypatch.setattr(fitting, "make_synthesizer", lambda _name: Listening(lambda: _stop([])))
    age = np.where(np.arange(300) < far, 1234, 50)
    rows = frame().set_column(1, "age", pa.array(age))
    with pytest.raises(ValuesClamped if warned else MemoryError) as told:
        fit(rows, DOMAIN, GUARANTEE, dataset="wards", declared_size=300, options=SMALL, ledgers=tmp_path)
    assert len(read_account("wards", ledgers=tmp_path).jobs) == (0 if warned else 1)
    if warned:
        assert f"age {far / 300:.3g}" in str(told.value)
        assert "1234" not in str(told.value)


def test_the_refusal_of_a_tiny_epsilon_names_the_least(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"a finite number of at least 1e-06"):
        fit(frame(), DOMAIN, (1e-9, 1e-6), dataset="wards", declared_size=300, ledgers=tmp_path)


def _stop(trained: list[int]) -> None:
    trained.append(1)
    raise MemoryError


@contextmanager
def short_products() -> Iterator[None]:
    torch.set_float32_matmul_precision("medium")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision("highest")


@contextmanager
def products_shortened_by_the_machine() -> Iterator[None]:
    """As an environment for oneDNN does on machines that can: nothing of it can be read from torch."""
    with pytest.MonkeyPatch.context() as patch:
        whole = torch.Tensor.__matmul__
        patch.setattr(
            torch.Tensor, "__matmul__", lambda a, b: whole(a.bfloat16(), b.bfloat16()).float(), raising=True
        )
        yield


@pytest.mark.parametrize(
    "around",
    [torch.inference_mode, partial(torch.autocast, "cpu"), short_products, products_shortened_by_the_machine],
    ids=["inference", "autocast", "set", "machine"],
)
def test_torch_must_be_as_it_starts(tmp_path: Path, around: Callable[[], Any]) -> None:
    capped(tmp_path)
    with around(), pytest.raises(InputUnusable, match="full-precision"):
        fit(frame(), DOMAIN, GUARANTEE, dataset="wards", declared_size=300, ledgers=tmp_path)
    assert read_account("wards", ledgers=tmp_path).jobs == {}


def test_a_domain_that_breaks_a_rule_names_its_column() -> None:
    columns = [{"name": "age", "kind": "numeric", "type": "integer", "lower": 9, "upper": 1}]
    wrong = {"schema": "understudy.domain/1", "target": None, "privacy_unit": None, "columns": columns}
    with pytest.raises(InvalidInput, match="column 'age', lower: 'lower' must be below 'upper'"):
        fit(frame(), wrong, GUARANTEE, dataset="wards", declared_size=300)
