"""Short names for mechanisms in tests."""

from core.dp.mechanism import Gaussian, PoissonSampled, Repeated


def gaussian(noise_multiplier: float) -> Gaussian:
    return Gaussian(noise_multiplier=noise_multiplier)


def sampled(sampling_rate: float, noise_multiplier: float) -> PoissonSampled:
    return PoissonSampled(sampling_rate=sampling_rate, mechanism=gaussian(noise_multiplier))


def training(sampling_rate: float, noise_multiplier: float, steps: int) -> Repeated:
    return Repeated(mechanism=sampled(sampling_rate, noise_multiplier), count=steps)
