"""The graphical model of AIM and MST: fitted as the product fits it, and drawn from as mbi draws."""

import jax
import numpy as np

from benchmarks.tables.peers.marginals import Codes
from models.graphical.model import Fitted, fit

__all__ = ["Fitted", "draw", "fit"]

# methods.py sets JAX_ENABLE_X64.
assert jax.config.jax_enable_x64, "the peers count in float64"


def draw(fitted: Fitted, rows: int, seed: int) -> Codes:
    """Rows of the model by randomised rounding, as mbi draws them; (rows, columns)."""
    np.random.seed(seed)  # noqa: NPY002 (mbi draws from the global generator)
    made = fitted.model.synthetic_data(rows).to_dict()
    return np.column_stack([made[column] for column in range(len(made))]).astype(np.int64)
