"""Private steps on CPUs and GPUs: the same noise on every device, the same sum on any number of them.

In reading order, each part after those that it imports:

* `errors`: errors about devices.
* `placement`: where a training runs.
* `keystream_kernel`: the ChaCha20 keystream as a CUDA kernel.
* `cuda_graph`: kernels captured once and replayed.
* `cipher`: the ChaCha20 keystream in torch operations.
* `noise`: a step's Gaussian noise on a device.
* `exact_sum`: microbatches added exactly as integers.
* `static_buffers`: one microbatch on one device.
* `replicas`: copies of a critic on each device.
* `data_parallel`: the clipped sum of a batch over devices.
"""
