"""The sandboxed image decoder: a separate process that decodes PNG and JPEG files to pixels, one after the other.

`python -I image_child.py HEIGHT WIDTH CHANNELS PARENT`. It imports none of our modules and gets only the
declared shape: no settings, keys or names. Before it reads untrusted bytes it drops its privileges: it dies
with its parent, leaves no core dump, has limits on memory and processor time, opens no file and starts no
process. A seccomp filter allows only reading, writing and memory management, and no network.

Frames on standard input: a count (4 bytes), that many lengths (4 bytes each), then the files. On standard output: one
byte when it is ready, then for each file one byte (an index of ``ANSWERS``), followed by the pixels where it is 0 or 1.
Integers are big-endian. docs/images.md says what is accepted.
"""

import ctypes
import io
import os
import platform
import resource
import signal
import struct
import sys
import warnings
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from PIL import Image

ANSWERS: Final = (
    "taken", "rotated",
    "not-an-image", "damaged-image", "wrong-size", "wrong-channels", "animated", "alpha", "palette", "cmyk", "sixteen-bit",
)  # fmt: skip
READY: Final = b"R"
OUT_OF_MEMORY: Final = 4
"""Exit status."""
_MEMORY_BYTES: Final = 512 << 20
_CHILD_CPU_SECONDS: Final = 600
IMAGE_CPU_SECONDS: Final = 5.0
"""Processor time for one image; a legitimate one takes milliseconds."""
_PNG: Final = b"\x89PNG\r\n\x1a\n"
_JPEG: Final = b"\xff\xd8\xff"
_PNG_DEPTH_AT: Final = 24
_DEEP: Final = 16
_ORIENTATION: Final = 0x0112
# The Pillow Transpose method that undoes each value of EXIF's orientation tag.
_UPRIGHT: Final = {2: 0, 3: 3, 4: 1, 5: 5, 6: 4, 7: 6, 8: 2}
_LYING: Final = frozenset({5, 6, 7, 8})
_REFUSED_MODES: Final = {
    "P": "palette", "PA": "alpha", "LA": "alpha", "La": "alpha", "RGBA": "alpha", "RGBa": "alpha",
    "CMYK": "cmyk", "YCCK": "cmyk", "I": "sixteen-bit", "F": "sixteen-bit",
}  # fmt: skip

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_DUMPABLE: Final = 4
_PR_SET_SECCOMP: Final = 22
_PR_SET_NO_NEW_PRIVS: Final = 38
_SECCOMP_MODE_FILTER: Final = 2
_RET_ALLOW: Final = 0x7FFF0000
_RET_KILL: Final = 0x80000000
_RET_REFUSE: Final = 0x00050001  # EPERM
# Audit numbers of the architecture, and its system call numbers of: read write close fstat lseek mmap
# mprotect munmap brk rt_sigaction
# rt_sigprocmask rt_sigreturn mremap madvise getpid exit setitimer sigaltstack futex clock_gettime exit_group getrandom gettid
_CALLS: Final = {
    "x86_64": (
        0xC000003E,
        (0, 1, 3, 5, 8, 9, 10, 11, 12, 13, 14, 15, 25, 28, 39, 60, 38, 131, 202, 228, 231, 318, 186),
    ),
    "aarch64": (
        0xC00000B7,
        (63, 64, 57, 80, 62, 222, 226, 215, 214, 134, 135, 139, 216, 233, 172, 93, 103, 132, 98, 113, 94, 278, 178),
    ),
}  # fmt: skip


class Refusal(Exception):
    """A refused image.

    Args:
        answer: One of ``ANSWERS``.
    """

    def __init__(self, answer: str) -> None:
        super().__init__(answer)
        self.answer = answer


def decoded(content: bytes, *, height: int, width: int, channels: int) -> tuple[bytes, str]:
    """The pixels of a file in (row, column, channel) order, and ``taken`` or ``rotated``.

    Raises:
        Refusal: It is not an image of the declared kind.
    """
    image = _opened(content)
    if sorted(image.size) != sorted(
        (height, width)
    ):  # checked first: the library may decode to find the orientation
        raise Refusal("wrong-size")
    turn = _orientation(image)
    expected = (height, width) if turn in _LYING else (width, height)
    if image.size != expected:
        raise Refusal("wrong-size")
    _check_colours(image, content, channels)
    try:
        image.load()
        if image.mode == "1":
            image = image.convert("L")
        if turn in _UPRIGHT:
            image = image.transpose(_UPRIGHT[turn])  # type: ignore[arg-type]
        pixels = image.tobytes()
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001 - any library error on an untrusted file means that it is damaged
        raise Refusal("damaged-image") from None
    if len(pixels) != height * width * channels:
        raise Refusal("damaged-image")
    return pixels, "rotated" if turn in _UPRIGHT else "taken"


def _opened(content: bytes) -> "Image.Image":
    from PIL import JpegImagePlugin, PngImagePlugin

    if not content.startswith((_PNG, _JPEG)):
        raise Refusal("not-an-image")
    try:
        if content.startswith(_PNG):
            image: Image.Image = PngImagePlugin.PngImageFile(io.BytesIO(content))
        else:
            image = JpegImagePlugin.JpegImageFile(io.BytesIO(content))
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001 - as below
        raise Refusal("damaged-image") from None
    if getattr(image, "is_animated", False):
        raise Refusal("animated")
    return image


def _orientation(image: "Image.Image") -> int:
    try:
        turn = image.getexif().get(_ORIENTATION, 1)
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001 - as below
        raise Refusal("damaged-image") from None
    return turn if isinstance(turn, int) else 1


def _check_colours(image: "Image.Image", content: bytes, channels: int) -> None:
    """Require 8-bit grey or colour as declared; only 1-bit grey is converted."""
    mode = image.mode
    if (content.startswith(_PNG) and content[_PNG_DEPTH_AT] == _DEEP) or mode.startswith("I;"):
        raise Refusal("sixteen-bit")
    if mode in _REFUSED_MODES:
        raise Refusal(_REFUSED_MODES[mode])
    if "transparency" in image.info:
        raise Refusal("alpha")
    if mode not in ({"L", "1"} if channels == 1 else {"RGB"}):
        raise Refusal("wrong-channels")


def _warm_up() -> None:
    """Make the library load its lazy modules while files can still be opened."""
    from PIL import Image, TiffImagePlugin

    del TiffImagePlugin
    picture = Image.new("RGB", (8, 8))
    exif = Image.Exif()
    exif[_ORIENTATION] = 6
    for form in ("PNG", "JPEG"):
        target = io.BytesIO()
        picture.save(target, form, exif=exif)
        decoded(target.getvalue(), height=8, width=8, channels=3)
    target = io.BytesIO()
    Image.new("1", (8, 8)).save(target, "PNG")
    decoded(target.getvalue(), height=8, width=8, channels=1)
    _read_damaged(target.getvalue()[:-30])


def _read_damaged(content: bytes) -> None:
    try:
        decoded(content, height=8, width=8, channels=1)
    except Refusal:
        return


def confine(parent: int) -> None:
    """Irrevocably drop all privileges that decoding does not need; the death of the process `parent` kills this one.

    Raises:
        OSError: The system refused; nothing may be decoded then.
        SystemExit: The parent is gone.
    """
    library = ctypes.CDLL(None, use_errno=True)
    _prctl(library, _PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit(1)
    for kind, limit in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NPROC, 0),
        (resource.RLIMIT_NOFILE, 3),
        (resource.RLIMIT_CPU, _CHILD_CPU_SECONDS),
        (resource.RLIMIT_AS, _MEMORY_BYTES),
    ):
        _, hard = resource.getrlimit(kind)
        lower = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(kind, (lower, lower))
    _prctl(library, _PR_SET_DUMPABLE, 0)
    _prctl(library, _PR_SET_NO_NEW_PRIVS, 1)
    if platform.machine() in _CALLS:
        _filter_calls(library, *_CALLS[platform.machine()])


def _filter_calls(library: Any, machine: int, calls: tuple[int, ...]) -> None:  # noqa: ANN401 - ctypes has no names
    """Allow only a few system calls (seccomp with a BPF program; see seccomp(2))."""
    load, equal, at_least, give = 0x20, 0x15, 0x35, 0x06
    program = [
        (load, 0, 0, 4),
        (equal, 1, 0, machine),
        (give, 0, 0, _RET_KILL),
        (load, 0, 0, 0),
        (at_least, 0, 1, 0x40000000),  # the architecture's other system call numbering (x32)
        (give, 0, 0, _RET_KILL),
        *[(equal, len(calls) - index, 0, call) for index, call in enumerate(calls)],
        (give, 0, 0, _RET_REFUSE),
        (give, 0, 0, _RET_ALLOW),
    ]
    code = b"".join(struct.pack("=HBBI", *step) for step in program)
    buffer = ctypes.create_string_buffer(code, len(code))
    frame = struct.pack("@HP", len(program), ctypes.addressof(buffer))
    _prctl(library, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.create_string_buffer(frame, len(frame)))


def _prctl(library: Any, option: int, *values: Any) -> None:  # noqa: ANN401 - numbers and pointers
    rest = [ctypes.c_ulong(value) if isinstance(value, int) else value for value in values]
    rest += [ctypes.c_ulong(0)] * (4 - len(rest))
    if library.prctl(option, *rest) != 0:
        raise OSError(ctypes.get_errno(), "prctl failed")


def _read(length: int) -> bytes:
    parts = bytearray()
    while len(parts) < length:
        piece = os.read(0, length - len(parts))
        if not piece:
            os._exit(0)
        parts += piece
    return bytes(parts)


def _write(content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(1, view) :]


def _serve(height: int, width: int, channels: int) -> None:
    while True:
        (count,) = struct.unpack(">I", _read(4))
        lengths = struct.unpack(f">{count}I", _read(4 * count))
        for content in [_read(length) for length in lengths]:
            signal.setitimer(signal.ITIMER_PROF, IMAGE_CPU_SECONDS)
            try:
                pixels, answer = decoded(content, height=height, width=width, channels=channels)
            except Refusal as refusal:
                pixels, answer = b"", refusal.answer
            except MemoryError:
                os._exit(OUT_OF_MEMORY)
            _write(bytes([ANSWERS.index(answer)]) + pixels)


def main(words: list[str]) -> None:
    """Serve until standard input ends; the words are height, width, channels and the parent's process id."""
    height, width, channels, parent = map(int, words)
    warnings.simplefilter("ignore")
    _warm_up()
    confine(parent)
    _write(READY)
    _serve(height, width, channels)


if __name__ == "__main__":
    main(sys.argv[1:])
