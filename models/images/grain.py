"""Grain: a little noise on every pixel of a made picture, from a few latent numbers. Free of charge.

The anchor knows low frequencies, so its pictures are smoother than real ones, and a classifier trained on them comes to
rely on that. Grain of a public standard deviation stands in for what is missing. A latent vector of one normal number per
pixel would be as long as a picture; instead pixel `p` gets `sin(z . phase_p)` of `GRAIN_DRAWS` normals `z`, with phase
vectors so long and so different that waves have variance one half and hardly hang together (below 1e-4 for 3,072 pixels).
"""

import numpy as np
from scipy.special import ndtri

from models.images.exact import Floats

GRAIN = 0.1
"""Standard deviation of the grain, of the range of a pixel."""
GRAIN_DRAWS = 8
"""Latent numbers of one picture's grain."""
_LENGTH = 12.0


def grain_phases(pixels: int) -> Floats:
    """Phase vectors of all pixels, public: normal quantiles of hashed places (SplitMix64, Steele and others 2014).

    Returns:
        (GRAIN_DRAWS, pixels); the same on every machine, for the hash is of integers.
    """
    places = np.arange(1, GRAIN_DRAWS * pixels + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    places = (places ^ (places >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    places = (places ^ (places >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    uniform = ((places ^ (places >> np.uint64(31))) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    phases: Floats = _LENGTH * ndtri(uniform + 2.0**-54).reshape(pixels, GRAIN_DRAWS).T
    return phases
