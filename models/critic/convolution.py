"""Convolutions as matrices: sizes, patches of images, and sums of patches, over images with their channels last.

A convolution is the matrix product of a (outputs, kernel * kernel * channels) matrix with the patches of an image; its
columns are ordered by row of the kernel, column of the kernel, channel, so that a row of a patch is contiguous in
the image.
"""

from dataclasses import dataclass

from torch import Tensor
from torch.nn.functional import conv2d, conv_transpose2d


@dataclass(frozen=True, slots=True, kw_only=True)
class Convolution:
    """Public constants of every convolution of a critic.

    Args:
        kernel: pixels of a side of a patch.
        stride: pixels from patch to patch.
        padding: rows of zeros around an image, fewer than the kernel has.

    Raises:
        ValueError: the sizes make no convolution.
    """

    kernel: int = 4
    stride: int = 2
    padding: int = 1

    def __post_init__(self) -> None:
        """Refuse sizes that make no convolution."""
        if self.kernel < 1 or self.stride < 1 or not 0 <= self.padding < self.kernel:
            raise ValueError("a convolution has a kernel, a stride, and less padding than kernel")

    def side(self, pixels: int) -> int:
        """Patches along a side of so many pixels; below one where the kernel does not fit."""
        return (pixels + 2 * self.padding - self.kernel) // self.stride + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Geometry:
    """Sizes of one convolution layer; public.

    Args:
        convolution: its constants.
        height, width, channels: of the image below.
        outputs: channels above.
    """

    convolution: Convolution
    height: int
    width: int
    channels: int
    outputs: int

    @property
    def rows(self) -> int:
        """Patches from top to bottom."""
        return self.convolution.side(self.height)

    @property
    def columns(self) -> int:
        """Patches from left to right."""
        return self.convolution.side(self.width)

    @property
    def positions(self) -> int:
        """Patches of one image."""
        return self.rows * self.columns

    @property
    def inputs(self) -> int:
        """Numbers of one patch: columns of the layer's matrix."""
        return self.convolution.kernel**2 * self.channels

    @property
    def padded(self) -> int:
        """Numbers of one image with its zeros around."""
        return self._padded_height * self._padded_width * self.channels

    @property
    def beyond(self) -> tuple[int, int]:
        """Rows and columns of pixels that no patch covers, for the transposed convolution."""
        kernel, stride = self.convolution.kernel, self.convolution.stride
        return (self._padded_height - kernel) % stride, (self._padded_width - kernel) % stride

    def kernels(self, weight: Tensor) -> Tensor:
        """The layer's matrix seen as torch's (outputs, channels, kernel, kernel), channels last in memory."""
        kernel = self.convolution.kernel
        return weight.view(self.outputs, kernel, kernel, self.channels).permute(0, 3, 1, 2)

    def convolved(self, images: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """Images (n, channels, height, width) to (n, outputs, rows, columns), by the layer's matrix."""
        constants = self.convolution
        kernels = self.kernels(weight)
        return conv2d(images, kernels, bias, stride=constants.stride, padding=constants.padding)

    def pulled_back(self, cotangents: Tensor, weight: Tensor) -> Tensor:
        """Cotangents (n, outputs, rows, columns) to those of the images below, (n, channels, height, width)."""
        return conv_transpose2d(
            cotangents,
            self.kernels(weight),
            stride=self.convolution.stride,
            padding=self.convolution.padding,
            output_padding=self.beyond,
        )

    def inside(self, padded: Tensor) -> Tensor:
        """The pixels (..., height, width, channels) of images (..., padded)."""
        zeros = self.convolution.padding
        whole = padded.view(*padded.shape[:-1], self._padded_height, self._padded_width, self.channels)
        return whole[..., zeros : zeros + self.height, zeros : zeros + self.width, :]

    def patches(self, padded: Tensor) -> Tensor:
        """The patches (..., rows, columns, kernel, kernel channels) of images (..., padded), a view of them."""
        kernel, stride, channels = self.convolution.kernel, self.convolution.stride, self.channels
        down = self._padded_width * channels
        return padded.as_strided(
            (*padded.shape[:-1], self.rows, self.columns, kernel, kernel * channels),
            (*padded.stride()[:-1], stride * down, stride * channels, down, 1),
        )

    def as_patches(self, products: Tensor) -> Tensor:
        """Rows (..., positions, inputs) of a matrix seen as `patches` are."""
        kernel = self.convolution.kernel
        return products.view(*products.shape[:-2], self.rows, self.columns, kernel, -1)

    def add_patches(self, products: Tensor, padded: Tensor) -> None:
        """Add patches (..., positions, inputs) to the pixels they came from, in a fixed order."""
        kernel, channels = self.convolution.kernel, self.channels
        into, patches = self.patches(padded), self.as_patches(products)
        for row in range(kernel):
            for column in range(kernel):
                piece = slice(column * channels, (column + 1) * channels)
                into[..., row, piece] += patches[..., row, piece]

    @property
    def _padded_height(self) -> int:
        return self.height + 2 * self.convolution.padding

    @property
    def _padded_width(self) -> int:
        return self.width + 2 * self.convolution.padding
