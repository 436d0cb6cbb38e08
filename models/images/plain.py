"""Where a generator of images begins that knows nothing: grey, whatever the class. Public constants alone."""

import numpy as np

from models.images.mixture import Mixture
from models.images.moves import MOVES


def plain_mixture(shape: tuple[int, int, int], classes: int) -> Mixture:
    """A mixture of one cell a class without any freedom, all of it grey.

    Args:
        shape: height, width, channels.
        classes: declared labels, 0 where images have none.
    """
    laws, pixels = max(classes, 1), int(np.prod(shape))
    return Mixture(
        shape=shape,
        law=np.full(laws, 1.0 / laws),
        means=np.full((laws, pixels), 0.5),
        basis=np.zeros((pixels, 1)),
        weights=np.ones((laws, 1)),
        centres=np.zeros((laws, 1, 1)),
        factors=np.zeros((laws, 1, 1, 1)),
        tail=np.zeros(0),
        moves=np.zeros((laws, 1, MOVES, MOVES)),
        grain=np.zeros(shape[:2]),
    )
