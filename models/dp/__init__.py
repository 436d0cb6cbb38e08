"""The private step, part by part: Poisson sampling, clipping, noise on a grid, and what follows the noise.

In reading order, each part after those that it imports:

* `errors`: errors of a private step.
* `poisson`: Poisson sampling over privacy units.
* `clipping`: groups of coordinates and their clipping factors.
* `discrete`: exact discrete Gaussian noise.
* `noise`: Gaussian noise on groups of coordinates.
* `count_noise`: Gaussian noise on counts.
* `noise_ahead`: a thread that draws noise early.
* `flat_adam`: Adam on the noisy gradient.
"""
