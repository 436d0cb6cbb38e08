"""Decoding untrusted images in a sandboxed process (core.data.intake.image_child), restarted when an image crashes it.

Pillow and its libraries are large and old, and their input is untrusted. The decoding process holds no key,
no name and no other person's rows except those of the same batch.

Each image is judged on its own: one that crashes the process is retried first and alone in a fresh process,
and only that result counts. Messages of the libraries are dropped.
"""

import os
import select
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from core.data.errors import DamagedUpload, DecoderUnavailable
from core.data.intake import image_child

IMAGES_PER_CHILD: Final = 20_000
MOST_CRASHES: Final = 100
_PATIENCE_SECONDS: Final = 120.0
"""Wall-clock limit for one answer; the child's own limit of processor time is far below."""
_PIECE_BYTES: Final = 1 << 16
_END_SECONDS: Final = 10.0
# Signals from the system or a person; no image causes them.
_FROM_OUTSIDE: Final = frozenset({-signal.SIGKILL, -signal.SIGTERM, -signal.SIGINT, -signal.SIGHUP})
_LIMITS: Final = frozenset({-signal.SIGPROF, -signal.SIGXCPU, image_child.OUT_OF_MEMORY})


@dataclass(frozen=True, slots=True)
class Decoded:
    """The result for one file.

    Attributes:
        pixels: Its values in (row, column, channel) order; None if refused.
        word: ``taken``, ``rotated``, or the reason for the refusal.
    """

    pixels: bytes | None
    word: str


class _Crashed(Exception):
    """The process ended."""


class Decoder:
    """Decodes images of one shape. Use it only in the creating thread: the child dies with that thread.

    Args:
        channels: 1 or 3.
    """

    def __init__(self, *, height: int, width: int, channels: int) -> None:
        self._shape = (height, width, channels)
        self._child: subprocess.Popen[bytes] | None = None
        self._served = 0
        self._crashes = 0

    def __enter__(self) -> Self:
        """The process starts with the first image."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the process."""
        self._end()

    @property
    def process_id(self) -> int | None:
        """Process id of the child, if it runs."""
        return None if self._child is None else self._child.pid

    def decode(self, files: Sequence[bytes]) -> list[Decoded]:
        """Decode a batch of PNG or JPEG files, held in memory together with its pixels.

        Raises:
            DecoderUnavailable: No process can be started, or it does not answer.
            DamagedUpload: Too many images crash the process.
        """
        found: list[Decoded] = []
        while len(found) < len(files):
            fresh = self._ensure()
            rest = files[len(found) :]
            before = len(found)
            try:
                # Alone after a crash, to attribute the next crash to one image.
                self._exchange(rest[:1] if fresh else rest, found)
            except _Crashed:
                word = self._reap()
                if not fresh or len(found) > before:
                    continue
                if word is None:
                    raise DecoderUnavailable from None
                found.append(Decoded(None, word))
                self._crashes += 1
                if self._crashes > MOST_CRASHES:
                    raise DamagedUpload(
                        f"More than {MOST_CRASHES} images cannot be decoded within the limits of time and memory.",
                        remedy="Write the images again with another program.",
                    ) from None
        return found

    def _ensure(self) -> bool:
        """Start the process if needed; returns whether it is fresh."""
        if self._child is not None and self._served >= IMAGES_PER_CHILD:
            self._end()
        if self._child is None:
            self._start()
        return self._served == 0

    def _start(self) -> None:
        words = [sys.executable, "-I", "-B", str(Path(image_child.__file__)), *map(str, self._shape)]
        # The interpreter's library path; nothing else of the environment is passed on.
        kept = {key: os.environ[key] for key in ("LD_LIBRARY_PATH",) if key in os.environ}
        try:
            self._child = subprocess.Popen(
                [*words, str(os.getpid())],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                cwd="/", env=kept, bufsize=0, start_new_session=True,
            )  # fmt: skip
        except OSError:
            raise DecoderUnavailable from None
        self._served = 0
        assert self._child.stdin is not None
        os.set_blocking(self._child.stdin.fileno(), False)
        try:
            ready = self._read(1)
        except _Crashed:
            ready = b""
        if ready != image_child.READY:
            self._end()
            raise DecoderUnavailable

    def _exchange(self, files: Sequence[bytes], found: list[Decoded]) -> None:
        """Send files and append the answers, image by image."""
        lengths = [len(content) for content in files]
        self._write(struct.pack(f">I{len(files)}I", len(files), *lengths))
        for content in files:
            self._write(content)
        height, width, channels = self._shape
        for _ in files:
            word = image_child.ANSWERS[self._read(1)[0] % len(image_child.ANSWERS)]
            taken = word in {"taken", "rotated"}
            found.append(Decoded(self._read(height * width * channels) if taken else None, word))
            self._served += 1

    def _write(self, content: bytes) -> None:
        assert self._child is not None
        assert self._child.stdin is not None
        descriptor, view = self._child.stdin.fileno(), memoryview(content)
        until = time.monotonic() + _PATIENCE_SECONDS
        while view:
            self._wait(descriptor, select.POLLOUT, until)
            try:
                view = view[os.write(descriptor, view[:_PIECE_BYTES]) :]
            except BlockingIOError:
                continue
            except BrokenPipeError:
                raise _Crashed from None

    def _read(self, length: int) -> bytes:
        assert self._child is not None
        assert self._child.stdout is not None
        descriptor, parts = self._child.stdout.fileno(), bytearray()
        until = time.monotonic() + _PATIENCE_SECONDS
        while len(parts) < length:
            self._wait(descriptor, select.POLLIN, until)
            piece = os.read(descriptor, length - len(parts))
            if not piece:
                raise _Crashed
            parts += piece
        return bytes(parts)

    def _wait(self, descriptor: int, event: int, until: float) -> None:
        poll = select.poll()
        poll.register(descriptor, event)
        if not poll.poll(max(0.0, until - time.monotonic()) * 1000):
            self._end()
            raise DecoderUnavailable

    def _reap(self) -> str | None:
        """Reap a dead process. Returns the reason of its death; None if it was killed from outside."""
        assert self._child is not None
        child = self._child
        self._end()
        if child.returncode in _FROM_OUTSIDE:
            return None
        return "decoding-limit" if child.returncode in _LIMITS else "damaged-image"

    def _end(self) -> None:
        if self._child is None:
            return
        child, self._child = self._child, None
        if not _ends_itself(child):
            child.kill()
        child.wait()
        for pipe in (child.stdin, child.stdout):
            assert pipe is not None
            pipe.close()


def _ends_itself(child: "subprocess.Popen[bytes]") -> bool:
    """Whether the process is exiting: its pipes close a moment before it can be waited for."""
    assert child.stdout is not None
    poll = select.poll()
    poll.register(child.stdout.fileno(), select.POLLHUP)
    if not any(events & select.POLLHUP for _, events in poll.poll(0)):
        return False
    with suppress(subprocess.TimeoutExpired):
        child.wait(_END_SECONDS)
    return child.returncode is not None
