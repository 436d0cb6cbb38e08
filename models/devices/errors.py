"""Errors about devices. Their messages hold public facts only, kinds of machines and sizes, never a row."""

from core.errors import Unavailable, UnderstudyError


class DeviceAbsent(Unavailable):
    """The settings require a GPU that torch does not see, or the GPUs are of different models."""

    code = "device-absent"
    title = "The device that the settings ask for is not there"

    def __init__(self, wish: str) -> None:
        super().__init__(
            f"The device {wish!r} is not there, or not usable.",
            remedy="Set UNDERSTUDY_TRAINING_DEVICE to auto or cpu, or run the worker where torch sees the GPU.",
        )


class OtherDevice(Unavailable):
    """A checkpoint was made on another kind of device, whose sums round differently.

    A step replayed here would release a second version of the same sum under the same noise.
    """

    code = "other-device"
    title = "The job began on another kind of device"
    default_detail = "The job's checkpoint was made on another kind of device; it is not resumed on this one."
    default_remedy = "Let a worker with the same kind of device, CUDA, cuDNN and torch take the job."


class DeviceDiffers(UnderstudyError):
    """A device does not give the keystream of the cipher, or two devices of a job give different sums of equal records.

    Detected with public numbers before a row is read.
    """

    code = "device-differs"
    title = "A device does not compute what the others do"
    default_detail = (
        "A device did not compute the same public numbers as the others; nothing was trained on it."
    )
    default_remedy = "Run the worker on the CPU, or on GPUs of one model; check the device for faults."


class DeviceMemoryShort(UnderstudyError):
    """Not even one microbatch fits into the device's memory."""

    code = "device-memory-short"
    title = "The device has too little free memory"
    default_detail = "Not even the smallest piece of a batch fits into the device's memory."
    default_remedy = "Free the device's memory, use one with more, or choose a smaller network."
