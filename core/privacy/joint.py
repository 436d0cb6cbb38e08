"""Several Gaussian releases on one sample are one Gaussian: 1/s^2 adds up."""

import math


def joint_noise_multiplier(
    noise_multiplier: float, *, histograms: int, histogram_noise_multiplier: float
) -> float:
    """Return the effective noise multiplier of a gradient and `histograms` histograms on the same sample.

    Stacked and whitened, the release is one Gaussian whose mu squared is the sum of the parts', because the
    histograms are over disjoint bins and each has sensitivity one. Choosing one query by another's output
    changes nothing, since each whitened sensitivity is a public constant. Source: 1/s_eff^2 = 1/s_t^2 + H/s_h^2.

    Args:
        noise_multiplier: s_t, of the clipped gradient sum.
        histograms: H, how many histograms are released with it; 0 on an ordinary step.
        histogram_noise_multiplier: s_h, noise standard deviation per bin.
    """
    if histograms == 0:
        return noise_multiplier
    return 1 / math.sqrt(noise_multiplier**-2 + histograms * histogram_noise_multiplier**-2)
