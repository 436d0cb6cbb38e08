"""Grain: a little noise on every frequency of a made picture, from a few latent numbers. Free of charge.

The anchor knows low frequencies, so its pictures are smoother than real ones, and a classifier trained on them comes to
rely on that. Grain stands in for what is missing: of one public standard deviation at all frequencies where the anchor is
alone; beside a critic of labels, above the frequencies that the anchor knows, as strong as what it knows leads to expect. The energy of photographs falls with the cube of the
frequency, about (faces: within 8 % from the 7th ring to the 13th; docs/rules-study.md).

A latent vector of one normal number per frequency would be as long as a picture; instead frequency `p` gets
`sin(z . phase_p)` of `TEXTURE_DRAWS` normals `z`, with phase vectors so long and so different that waves have variance one
half and hardly hang together (below 1e-4 for 3,072 of them).
"""

import numpy as np
from scipy.special import ndtri

from models.images.exact import Floats

WHITE_TEXTURE = 0.1
"""Standard deviation of grain that is the same at all frequencies, of the range of a pixel."""
FALL = 3.0
"""With this power of the frequency the energy of a picture falls."""
TEXTURE_DRAWS = 8
"""Latent numbers of one picture's grain."""
_LENGTH = 12.0


def texture_phases(pixels: int) -> Floats:
    """Phase vectors of all pixels, public: normal quantiles of hashed places (SplitMix64, Steele and others 2014).

    Returns:
        (TEXTURE_DRAWS, pixels); the same on every machine, for the hash is of integers.
    """
    places = np.arange(1, TEXTURE_DRAWS * pixels + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    places = (places ^ (places >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    places = (places ^ (places >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    uniform = ((places ^ (places >> np.uint64(31))) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    phases: Floats = _LENGTH * ndtri(uniform + 2.0**-54).reshape(pixels, TEXTURE_DRAWS).T
    return phases


def white_texture(height: int, width: int) -> Floats:
    """(height, width) standard deviations: `WHITE_TEXTURE` at every frequency, which is white noise on the pixels."""
    return np.full((height, width), WHITE_TEXTURE)


def power_law_texture(energies: Floats, height: int, width: int) -> Floats:
    """(height, width) standard deviations of the frequencies that the anchor does not know; zero for those that it does.

    A ring holds the frequencies whose larger index is `k`. The rings from the middle of what is known on give the level
    `mean of e_k k^FALL`, a ring of more numbers counting more; the law is continued from there.

    Args:
        energies: (frequencies,) noisy mean squares of the numbers of every known ring.
        height: of the picture.
        width: of the picture.
    """
    known = len(energies)
    used = np.arange(known // 2, known, dtype=np.float64)
    numbers = 2.0 * used + 1.0
    level = max(float((numbers * energies[known // 2 :] * used**FALL).sum() / numbers.sum()), 0.0)
    ring = np.maximum(np.arange(height)[:, None], np.arange(width)[None, :]).astype(np.float64)
    made: Floats = np.where(ring < known, 0.0, np.sqrt(level) * np.maximum(ring, 1.0) ** (-FALL / 2.0))
    return made
