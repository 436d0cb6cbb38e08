"""A piecewise-linear activation that is not homogeneous."""

from torch import Tensor, nn


class HardTanh:
    """`min(max(z, -1), 1)`: a piecewise-linear activation that is not homogeneous."""

    def apply_(self, z: Tensor) -> Tensor:
        """phi(z), written over z."""
        return nn.functional.hardtanh_(z)

    def chain_(self, cotangent: Tensor, value: Tensor) -> Tensor:
        """`cotangent * phi'(z)`."""
        return cotangent.mul_(value.abs() < 1.0)

    def __call__(self, z: Tensor) -> Tensor:
        """phi(z), differentiable."""
        return nn.functional.hardtanh(z)
