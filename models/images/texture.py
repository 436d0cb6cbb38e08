"""High-frequency texture ("grain"): a little noise on the frequencies of a generated image. Post-processing, free of privacy cost.

The anchor measures only low frequencies, so its images are smoother than real ones, and a classifier trained on them learns to rely on that.
Texture fills the frequencies above the measured ones and continues their energies by a power law: the energy of photographs falls roughly
with the cube of the frequency (faces: within 8 % from the 7th ring to the 13th; docs/rules-study.md).

One normal number per frequency would make the latent vector as long as the image. Instead, frequency `p` gets `sin(z . phase_p)` with
`TEXTURE_DRAWS` normals `z`. The phase vectors are so long and so different that these waves have variance one half and are almost
uncorrelated (below 1e-4 for 3,072 of them).
"""

import numpy as np
from scipy.special import ndtri

from models.images.exact import Floats

DECAY = 3.0
"""Power of the frequency by which the energy of an image falls."""
TEXTURE_DRAWS = 8
"""Number of latent numbers for one image's texture."""
_LENGTH = 12.0


def texture_phases(pixels: int) -> Floats:
    """Phase vectors of all pixels, public: normal quantiles of hashed indices (SplitMix64, Steele and others 2014).

    Returns:
        (TEXTURE_DRAWS, pixels); the same on every machine, because the hash is integer arithmetic.
    """
    places = np.arange(1, TEXTURE_DRAWS * pixels + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    places = (places ^ (places >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    places = (places ^ (places >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    uniform = ((places ^ (places >> np.uint64(31))) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    phases: Floats = _LENGTH * ndtri(uniform + 2.0**-54).reshape(pixels, TEXTURE_DRAWS).T
    return phases


def power_law_texture(energies: Floats, height: int, width: int) -> Floats:
    """(height, width) standard deviations of the frequencies that the anchor does not measure; zero for measured ones.

    A ring contains the frequencies with larger index `k`. The upper half of the measured rings gives the level `mean of e_k k^DECAY`, weighted by
    the frequencies per ring; the power law continues from there.

    Args:
        energies: (frequencies,) noisy mean squares of each measured ring.
        height: height of the picture.
        width: width of the picture.
    """
    known = len(energies)
    used = np.arange(known // 2, known, dtype=np.float64)
    numbers = 2.0 * used + 1.0
    level = max(float((numbers * energies[known // 2 :] * used**DECAY).sum() / numbers.sum()), 0.0)
    ring = np.maximum(np.arange(height)[:, None], np.arange(width)[None, :]).astype(np.float64)
    made: Floats = np.where(ring < known, 0.0, np.sqrt(level) * np.maximum(ring, 1.0) ** (-DECAY / 2.0))
    return made
