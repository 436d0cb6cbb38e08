"""The process that decodes images of strangers: what it cannot do, when it ends, and that each image is judged alone."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.data.errors import DamagedUpload, DecoderUnavailable
from core.data.intake import image_child, image_decoder
from core.data.intake.image_decoder import Decoded, Decoder
from tests.core.data.pictures import images, noise, picture
from tests.core.data.test_images import CASES

ROOT: Final = Path(__file__).parents[3]
PLAIN = images(labels=())
IMAGE = picture(noise(PLAIN, 1)[0])
PIXELS = noise(PLAIN, 1)[0].tobytes()
TAKEN = Decoded(PIXELS, "taken")
END_SECONDS = 60.0

# A child that does what some contents tell it, in the place where the library would be brought to do it.
ACTIONS: Final = """
        if content == b"end": os._exit(1)
        if content == b"spin":
            while True: pass
        if content == b"eat": bytearray(1 << 30)
        if content == b"sleep":
            while True: os.read(0, 1)
        return _really_decoded(content, **shape)
"""


def decoder() -> Decoder:
    return Decoder(height=PLAIN.height, width=PLAIN.width, channels=PLAIN.channels)


@pytest.fixture
def obedient(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Decoders of this test start a child that can be told to misbehave; it is confined like any."""
    source = Path(image_child.__file__).read_text()
    source = source.replace("def decoded(", "def _really_decoded(", 1)
    source = source.replace("IMAGE_CPU_SECONDS: Final = 5.0", "IMAGE_CPU_SECONDS: Final = 0.3")
    actions = f"\ndef decoded(content, **shape):\n    if True:{ACTIONS}\n"
    child = tmp_path / "child.py"
    child.write_text(source.replace("\ndef _opened(", actions + "\ndef _opened(", 1))
    monkeypatch.setattr(image_child, "__file__", str(child))


# Each must fail, though the process runs as whoever runs the tests, perhaps as root.
FORBIDDEN: Final = {
    "a file is opened": "os.open('/etc/passwd', os.O_RDONLY)",
    "a file is made": "os.open('/tmp/from-the-decoder', os.O_CREAT | os.O_WRONLY)",
    "a socket": "socket.socket()",
    "a local socket": "socket.socketpair()",
    "a process": "os.fork()",
    "another program": "os.execv('/bin/true', ['true'])",
    "a look at the parent": "os.listdir('/proc')",
    "a signal": "os.kill(os.getppid(), 0)",
    "another limit": "resource.setrlimit(resource.RLIMIT_AS, (-1, -1))",
    "much memory": "bytearray(1 << 30)",
}
_TRIAL: Final = """
import os, resource, socket, sys
from core.data.intake.image_child import confine
confine(int(sys.argv[1]))
for action in sys.argv[2:]:
    try:
        exec(action)
    except (OSError, ValueError, MemoryError):
        os.write(1, b"refused\\n")
    else:
        os.write(1, b"DONE\\n")
os._exit(0)
"""


def test_a_confined_process_can_do_nothing_but_count() -> None:
    actions = list(FORBIDDEN.values())
    done = subprocess.run(
        [sys.executable, "-c", _TRIAL, str(os.getpid()), *actions],
        capture_output=True,
        check=True,
        cwd=ROOT,
        text=True,
    )
    assert dict(zip(FORBIDDEN, done.stdout.split(), strict=True)) == dict.fromkeys(FORBIDDEN, "refused")


def test_the_process_has_no_secret_in_its_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNDERSTUDY_MASTER_KEY", "secret7391")
    with decoder() as decoding:
        assert decoding.decode([IMAGE]) == [TAKEN]
        place = Path(f"/proc/{decoding.process_id}")
        assert (place / "comm").read_text().startswith("python"), "it is there"
        try:
            told = (place / "environ").read_bytes()
        except PermissionError:  # it is not even to be looked at, unless by root
            assert os.geteuid() != 0
            return
        assert b"secret7391" not in told
        assert set(told.split(b"\0")) <= {b"", b"LD_LIBRARY_PATH=" + os.environb.get(b"LD_LIBRARY_PATH", b"")}


_PARENT: Final = """
import sys, time
from core.data.intake.image_decoder import Decoder
decoder = Decoder(height=4, width=4, channels=1)
decoder.decode([b"no image"])
sys.stdout.write(f"{decoder.process_id}\\n")
sys.stdout.flush()
time.sleep(600)
"""


def _is_there(process_id: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{process_id}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def _waited(process_id: int) -> bool:
    until = time.monotonic() + END_SECONDS
    while _is_there(process_id) and time.monotonic() < until:
        time.sleep(0.02)
    return not _is_there(process_id)


def test_the_process_dies_with_its_parent() -> None:
    with subprocess.Popen([sys.executable, "-c", _PARENT], stdout=subprocess.PIPE, cwd=ROOT) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert _is_there(child)
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    assert _waited(child)


def test_the_process_ends_with_its_use() -> None:
    with decoder() as decoding:
        assert decoding.process_id is None, "nothing is started before the first image"
        assert decoding.decode([]) == []
        decoding.decode([IMAGE])
        process_id = decoding.process_id
        assert process_id is not None
    assert not _is_there(process_id)


def test_a_killed_process_is_replaced() -> None:
    with decoder() as decoding:
        decoding.decode([IMAGE])
        first = decoding.process_id
        assert first is not None
        os.kill(first, signal.SIGKILL)
        assert decoding.decode([IMAGE] * 3) == [TAKEN] * 3
        assert decoding.process_id != first


def test_a_process_is_replaced_after_so_many_images(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image_decoder, "IMAGES_PER_CHILD", 2)
    with decoder() as decoding:
        decoding.decode([IMAGE] * 2)
        first = decoding.process_id
        assert decoding.decode([IMAGE]) == [TAKEN]
        assert decoding.process_id != first


@pytest.mark.usefixtures("obedient")
def test_an_image_that_ends_the_process_is_refused_and_no_other() -> None:
    files = [IMAGE, b"end", IMAGE, b"spin", b"eat", b"text", IMAGE]
    with decoder() as decoding:
        words = [found.word for found in decoding.decode(files)]
    assert words == [
        "taken",
        "damaged-image",
        "taken",
        "decoding-limit",
        "decoding-limit",
        "not-an-image",
        "taken",
    ]


@pytest.mark.usefixtures("obedient")
def test_an_image_is_refused_alone_where_it_comes_first() -> None:
    with decoder() as decoding:
        assert [found.word for found in decoding.decode([b"end", IMAGE])] == ["damaged-image", "taken"]


@pytest.mark.usefixtures("obedient")
def test_a_process_that_is_killed_says_nothing_about_its_image() -> None:
    """As when the machine is out of memory: the upload may be tried again."""

    def kill() -> None:
        while decoding.process_id is None:
            time.sleep(0.01)
        time.sleep(0.5)
        os.kill(decoding.process_id, signal.SIGKILL)

    with decoder() as decoding:
        killer = threading.Thread(target=kill)
        killer.start()
        with pytest.raises(DecoderUnavailable):
            decoding.decode([b"sleep"])
        killer.join()


@pytest.mark.usefixtures("obedient")
def test_too_many_images_that_end_the_process_refuse_the_upload(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image_decoder, "MOST_CRASHES", 1)
    with decoder() as decoding:
        decoding.decode([b"end"])
        with pytest.raises(DamagedUpload):
            decoding.decode([b"end"])


@pytest.mark.usefixtures("obedient")
def test_a_process_that_says_nothing_is_the_machines_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    with decoder() as decoding:
        decoding.decode([IMAGE])
        # private: the real patience is longer than a test
        monkeypatch.setattr(image_decoder, "_PATIENCE_SECONDS", 0.2)
        with pytest.raises(DecoderUnavailable):
            decoding.decode([b"sleep"])
        monkeypatch.undo()
        assert decoding.process_id is None


def test_a_process_that_cannot_start_is_the_machines_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "child.py"
    broken.write_text("raise ImportError\n")
    monkeypatch.setattr(image_child, "__file__", str(broken))
    with decoder() as decoding, pytest.raises(DecoderUnavailable):
        decoding.decode([IMAGE])
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with decoder() as decoding, pytest.raises(DecoderUnavailable):
        decoding.decode([IMAGE])


FILES: Final = {name: make(PLAIN) for name, (make, _) in list(CASES.items())[::2]}


@pytest.fixture(scope="module")
def alone() -> dict[str, Decoded]:
    """What becomes of each file by itself."""
    found = {}
    for name, content in FILES.items():
        with decoder() as decoding:
            (found[name],) = decoding.decode([content])
    return found


@settings(max_examples=5, derandomize=True, deadline=None)
@given(names=st.lists(st.sampled_from(sorted(FILES)), max_size=30))
def test_every_image_is_judged_by_itself(alone: dict[str, Decoded], names: list[str]) -> None:
    with decoder() as decoding:
        assert decoding.decode([FILES[name] for name in names]) == [alone[name] for name in names]
