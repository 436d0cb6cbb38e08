"""Shared parts of the samplers: opening a network, drawing labels, ordered work on several threads."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from core.artifacts.errors import BundleInvalid

Drawn = TypeVar("Drawn")


class Network:
    """A generator's network. Safe to use from several threads at once; each call works on the caller's thread.

    Args:
        content: The ONNX model, serialised.

    Raises:
        BundleInvalid: The ONNX runtime does not accept it.
    """

    def __init__(self, content: bytes, *, output: str) -> None:
        # Most processes that can sample never do.
        import onnxruntime

        self._output = output
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 4
        try:
            self._session = onnxruntime.InferenceSession(
                content, options, providers=["CPUExecutionProvider"], enable_fallback=0
            )
        except Exception:  # noqa: BLE001 - the runtime raises classes it does not export
            raise BundleInvalid("The bundle's network cannot be loaded.") from None

    def __call__(self, latent: NDArray[np.float32], label: NDArray[np.float32]) -> NDArray[np.float32]:
        """The output for latent vectors (rows, latent dimension) and one-hot labels (rows, classes)."""
        (output,) = self._session.run([self._output], {"latent": latent, "label": label})
        return np.asarray(output)

    def tables(
        self, names: Sequence[str], *, latent_dimension: int, classes: int
    ) -> list[NDArray[Any]] | None:
        """The outputs of these names, which do not depend on the input; None unless all of them exist."""
        if not set(names) <= {output.name for output in self._session.get_outputs()}:
            return None
        return [
            np.asarray(output)
            for output in self._session.run(list(names), _nothing(latent_dimension, classes))
        ]

    def require_output(self, *, latent_dimension: int, classes: int, shape: Sequence[int]) -> None:
        """Run it once, and refuse it unless a row's output is finite and of this shape.

        Raises:
            BundleInvalid: It is not the network that the manifest describes.
        """
        try:
            output = self(**_nothing(latent_dimension, classes))
        except Exception:  # noqa: BLE001 - as above
            raise BundleInvalid("The bundle's network does not take what its manifest says.") from None
        if output.shape != (1, *shape) or output.dtype != np.float32 or not np.isfinite(output).all():
            raise BundleInvalid("The bundle's network does not give what its manifest says.")


def _nothing(latent_dimension: int, classes: int) -> dict[str, NDArray[np.float32]]:
    """One row of zeros as input."""
    return {
        "latent": np.zeros((1, latent_dimension), np.float32),
        "label": np.zeros((1, classes), np.float32),
    }


def draw_labels(distribution: Sequence[float], uniforms: NDArray[np.float64]) -> NDArray[np.int16]:
    """Draw labels, each an index into the distribution, by inversion of uniforms in [0, 1)."""
    return np.searchsorted(np.cumsum(distribution)[:-1], uniforms, side="right").astype(np.int16)


def in_order(tasks: Iterable[Callable[[], Drawn]], *, threads: int) -> Iterator[Drawn]:
    """Yield the results of tasks in order, while several threads compute ahead.

    At most ``threads + 1`` results are in flight, so memory does not depend on the number of tasks, which are consumed
    one by one. Abandoning the iterator stops the threads.
    """
    with ThreadPoolExecutor(max_workers=threads, thread_name_prefix="sampler") as pool:
        waiting: deque[Future[Drawn]] = deque()
        try:
            for task in tasks:
                waiting.append(pool.submit(task))
                if len(waiting) > threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
