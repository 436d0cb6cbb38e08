"""Pictures of key pages as they should look, kept small, and how a page is held against its picture.

Everything that differs from run to run is made alike before a picture is taken: the clock, ids and hashes (their digits
become noughts), and the fonts (the ones that come with matplotlib, on every machine). What is left are the edges of
letters, so pictures are compared in blocks, by the mean colour of each.
"""

import io
from pathlib import Path
from typing import Any, Final

import numpy as np
from matplotlib import get_data_path
from numpy.typing import NDArray
from PIL import Image
from starlette.staticfiles import StaticFiles

FOLDER: Final = Path(__file__).parent / "golden"
TAKEN_WITH: Final = FOLDER / "chromium.txt"
REDUCTION: Final = 3
"""Pictures are kept at a third of their width and height."""
BLOCK: Final = 8
"""Pixels of a kept picture to a side: 24 of the page."""
MOST_DIFFERENCE: Final = 20.0
"""Of the mean colour of a block, from 0 to 255. Other edges of the same letters come to about 5."""
MOST_ROWS: Final = 4
"""How much longer or shorter a page may be, in pixels of a kept picture."""
_COLOURS: Final = 64
_FONTS: Final = {
    "DejaVuSans.ttf": ("golden", "400"),
    "DejaVuSans-Bold.ttf": ("golden", "600"),
    "DejaVuSansMono.ttf": ("golden-mono", "400"),
}
_STYLE: Final = (
    "".join(
        f"@font-face {{ font-family: {family}; font-weight: {weight}; src: url(/golden/{file}); }}"
        for file, (family, weight) in _FONTS.items()
    )
    + "*, *::before, *::after { font-family: golden !important; caret-color: transparent !important; }"
    + "code, code *, pre, pre *, textarea.code { font-family: golden-mono !important; }"
)
_NOUGHTS: Final = """() => {
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) walk.currentNode.data =
    walk.currentNode.data.replace(/[0-9a-f]{8}-[0-9a-f-]{27}|\\b(?=[0-9a-f]*[0-9])[0-9a-f]{8,64}\\b|\\b[a-f]{8}\\b/g, (id) => id.replace(/[0-9a-f]/g, "0"));
}"""


def serve_fonts(app: Any) -> None:
    """Let an application serve the fonts to pages whose context bypasses the content policy."""
    app.mount("/golden", StaticFiles(directory=Path(get_data_path()) / "fonts" / "ttf"))


def make_alike(tab: Any) -> None:
    """Take from the open page what differs from run to run."""
    tab.add_style_tag(content=_STYLE)
    tab.evaluate(_NOUGHTS)
    tab.evaluate("document.fonts.ready")


def picture(tab: Any, viewport: Any) -> Image.Image:
    """The whole page that is open, at a size of the window, reduced."""
    tab.set_viewport_size(viewport)
    # The curve draws itself anew when its place has another width.
    tab.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    shot = Image.open(io.BytesIO(tab.screenshot(full_page=True, animations="disabled"))).convert("RGB")
    return shot.reduce(REDUCTION)


def write(shot: Image.Image, path: Path) -> None:
    """Keep a picture."""
    few = shot.quantize(_COLOURS, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    few.save(path, "PNG", optimize=True)


def difference(found: Image.Image, golden: Image.Image) -> str | None:
    """What tells a picture from the kept one, in words; None where nothing does."""
    if found.width != golden.width or abs(found.height - golden.height) > MOST_ROWS:
        return f"is {found.width} x {found.height} pixels, and was {golden.width} x {golden.height}"
    rows = min(found.height, golden.height)
    apart = np.abs(_blocks(found, rows) - _blocks(golden, rows)).max(axis=2)
    worst = np.unravel_index(int(apart.argmax()), apart.shape)
    if apart[worst] <= MOST_DIFFERENCE:
        return None
    side = BLOCK * REDUCTION
    place = f"{int(worst[1]) * side} from the left and {int(worst[0]) * side} from the top"
    return f"looks different in {int((apart > MOST_DIFFERENCE).sum())} blocks, most {place} (by {apart[worst]:.0f} of 255)"


def _blocks(shot: Image.Image, rows: int) -> NDArray[np.float64]:
    """The mean colour of each block; what does not fill one at the right and the bottom is left out."""
    whole = np.asarray(shot.convert("RGB"), dtype=np.float64)[:rows]
    down, across = whole.shape[0] // BLOCK, whole.shape[1] // BLOCK
    cut = whole[: down * BLOCK, : across * BLOCK]
    means: NDArray[np.float64] = cut.reshape(down, BLOCK, across, BLOCK, 3).mean(axis=(1, 3))
    return means
