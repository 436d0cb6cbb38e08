"""Nothing but the key decides the noise, and nothing but the operating system decides the key."""

import ast
import hashlib
import inspect
import json
import os
import random
import re
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from uuid import uuid4

import numpy as np
import pytest
import torch

from core.data.sealing import open_bytes
from models.randomness import KEY_BYTES, KeyedStreams, Purpose
from service.app import create_app
from service.jobs import ordering
from tests.privacy.laws.alarm import alarm
from tests.privacy.laws.planned import KEY, Job, run_job
from tests.privacy.laws.word_battery import fair

ROOT = Path(__file__).parents[3]
SOURCES = ("core", "service", "workers", "models", "understudy", "migrations")
ENTROPY = {"os.urandom", "entropy", "self._entropy", "context.entropy"}
"""What may be handed on as a source of entropy: the system's, or a parameter of that name, also one that was kept."""
KEYS = {
    "work.randomness_key",
    "self._streams.bytes(Purpose.SELECTION_KEY, number, KEY_BYTES)",
    "secrets.token_bytes(KEY_BYTES)",
}
"""What streams may be made from: the job's key, bytes of its own stream for one training of a selection, or, without a service,
bytes of the operating system."""
BYTES = 2048
OPTIONS = {"acts": True, "acts_interval": 3, "anchor": False, "steps": 4}


def differing(one: bytes, other: bytes) -> int:
    return (int.from_bytes(one, "little") ^ int.from_bytes(other, "little")).bit_count()


def flips(content: bytes) -> list[bytes]:
    whole = int.from_bytes(content, "little")
    return [(whole ^ (1 << bit)).to_bytes(len(content), "little") for bit in range(8 * len(content))]


def test_every_bit_of_the_key_changes_half_of_the_stream() -> None:
    judge = alarm("keys", 8 * KEY_BYTES, cases=2)
    stream = KeyedStreams(KEY).bytes(Purpose.GRADIENT_NOISE, 3, BYTES)
    for bit, key in enumerate(flips(KEY)):
        changed = KeyedStreams(key).bytes(Purpose.GRADIENT_NOISE, 3, BYTES)
        fair(judge, f"bit {bit}", differing(stream, changed), 8 * BYTES)
    assert judge.rung == []


def test_a_key_with_an_ignored_bit_is_detected() -> None:
    judge = alarm("keys", 1)
    same = KeyedStreams(KEY).bytes(Purpose.TEST, 1, BYTES)
    fair(judge, "an ignored bit", differing(same, same), 8 * BYTES)
    assert judge.rung


def test_every_bit_of_the_address_changes_half_of_the_stream() -> None:
    judge = alarm("keys", 64 + len(Purpose) - 1, cases=2)
    streams = KeyedStreams(KEY)
    stream = streams.bytes(Purpose.LABEL_NOISE, 5, BYTES)
    for bit in range(64):
        fair(
            judge,
            f"step bit {bit}",
            differing(stream, streams.bytes(Purpose.LABEL_NOISE, 5 ^ (1 << bit), BYTES)),
            8 * BYTES,
        )
    for purpose in set(Purpose) - {Purpose.LABEL_NOISE}:
        fair(judge, purpose.name, differing(stream, streams.bytes(purpose, 5, BYTES)), 8 * BYTES)
    assert judge.rung == []


def outcome(job: Job) -> str:
    """A digest of every release, with exact and noisy values, and of every address with what was taken."""
    digest = hashlib.sha256()
    for name, release in job.listener.heard.items():
        digest.update(repr(name).encode())
        for values in (*(part for part, _ in release.exact), *release.noisy):
            digest.update(values.contiguous().numpy().tobytes())
    digest.update(
        json.dumps({str(name): [r.taken for r in rs] for name, rs in job.streams.opened.items()}).encode()
    )
    return digest.hexdigest()


def test_global_seeds_time_and_process_decide_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = outcome(run_job(monkeypatch, **OPTIONS))
    for seed in (1, 2):
        torch.manual_seed(seed)
        np.random.seed(seed)  # noqa: NPY002 - the global generator is what must not matter
        random.seed(seed)
        with monkeypatch.context() as patch:
            patch.setattr(time, "time", lambda seed=seed: 1e9 * seed)
            patch.setattr(os, "getpid", lambda seed=seed: 4000 + seed)
            assert outcome(run_job(patch, **OPTIONS)) == expected
    assert outcome(run_job(monkeypatch, key=bytes(32), **OPTIONS)) != expected


def test_a_training_asks_nobody_but_its_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> bytes:
        raise AssertionError("a training asks nobody for randomness")

    # Torch's own generator fills new layers, which the streams then overwrite: the test above says that it decides nothing.
    before = (np.random.get_state()[1].copy(), random.getstate())  # noqa: NPY002
    with monkeypatch.context() as patch:
        patch.setattr(os, "urandom", refused)
        patch.setattr(np.random, "default_rng", refused)
        table = _table()
        run_job(patch, table=table, **OPTIONS)
    assert np.array_equal(np.random.get_state()[1], before[0])  # noqa: NPY002
    assert random.getstate() == before[1]


def _table():
    from models.encoding import PrivateTable

    codes = KeyedStreams(bytes(32)).integers(Purpose.TEST, 0, 2, (300, 4)).astype(np.int16)
    return PrivateTable(
        codes=codes, unit_of_record=np.arange(300), cardinalities=(2, 2, 2, 2), target_index=1
    )


def test_another_process_with_other_hashes_draws_the_same() -> None:
    program = (
        "import hashlib; from models.randomness import KeyedStreams, Purpose; s = KeyedStreams(bytes(range(32)));"
        "print(hashlib.sha256(s.normals(Purpose.GRADIENT_NOISE, 9, 5001).tobytes()).hexdigest())"
    )
    printed = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        check=True,
        timeout=600,
        env=os.environ | {"PYTHONHASHSEED": "77", "PYTHONPATH": str(ROOT)},
    ).stdout
    own = hashlib.sha256(KeyedStreams(KEY).normals(Purpose.GRADIENT_NOISE, 9, 5001).tobytes()).hexdigest()
    assert printed.split() == [own.encode()]


def test_the_key_of_a_job_is_fresh_bytes_of_the_operating_system() -> None:
    """The order seals what its source of entropy gave, whole; the application's source is `os.urandom`."""
    asked: list[int] = []
    data_key = bytes(range(1, 33))

    def entropy(count: int) -> bytes:
        asked.append(count)
        return bytes([len(asked)]) * count

    context = SimpleNamespace(
        entropy=entropy,
    )
    dataset = SimpleNamespace(wrapped_data_key=b"wrapped", id=uuid4())
    kind = next(
        k for k in vars(ordering).values() if isinstance(k, type) and "_sealed_randomness_key" in vars(k)
    )
    order = SimpleNamespace(_context=context, _data_key=lambda _dataset: data_key)
    job_id = uuid4()
    for number in (1, 2):  # twice the same order: two keys
        # private: the key leaves an order sealed with a job that this stage does not make
        sealed = kind._sealed_randomness_key(order, dataset, job_id)
        assert open_bytes(data_key, sealed, context=f"job:{job_id}") == bytes([number]) * KEY_BYTES
    assert asked == [KEY_BYTES, KEY_BYTES]
    assert inspect.signature(create_app).parameters["entropy"].default is os.urandom


def wrong_sources(tree: ast.AST) -> list[str]:
    """Keys made of something else: streams from anything but the job's key, entropy from anything but the system."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    streams = [call for call in calls if ast.unparse(call.func).endswith("KeyedStreams")]
    return [ast.unparse(call) for call in streams if ast.unparse(call.args[0]) not in KEYS] + [
        ast.unparse(call)
        for call in calls
        for keyword in call.keywords
        if keyword.arg == "entropy" and ast.unparse(keyword.value) not in ENTROPY
    ]


def test_no_source_makes_a_key_of_public_facts() -> None:
    sources = {path: path.read_text() for folder in SOURCES for path in (ROOT / folder).rglob("*.py")}
    checking = ROOT / "models" / "generator_check.py"
    wrong = {
        (path, found)
        for path, source in sources.items()
        if "KeyedStreams" in source or "entropy" in source  # parsing every file takes two seconds
        for found in wrong_sources(ast.parse(source))
    }
    exchange = ROOT / "models" / "exchange.py"
    start = "KeyedStreams(hashlib.sha256(_PUBLIC_START + federation.federation_id.encode()).digest())"
    of_round = "KeyedStreams(hashlib.sha256(_ROUND + secret + digest).digest(), releases=streams.releases)"
    assert wrong == {
        (checking, "KeyedStreams(PUBLIC_KEY)"),  # the draws that look at a finished generator alone
        (exchange, start),  # what all members of a federation begin with
        (exchange, of_round),  # from the job's key and the state that the round begins with
    }
    assert set(re.findall(r"Purpose\.(\w+)", checking.read_text())) <= {"GENERATOR_CHECK"}
    assert any("KeyedStreams(work.randomness_key" in source for source in sources.values())


@pytest.mark.parametrize(
    "source",
    ["KeyedStreams(sha256(job_id))", "KeyedStreams(bytes(32))", "create_app(s, entropy=random.randbytes)", "x.KeyedStreams(k)"],
)  # fmt: skip
def test_a_key_made_from_public_facts_is_detected(source: str) -> None:
    assert wrong_sources(ast.parse(source))
