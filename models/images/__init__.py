"""The anchor of images, the distribution that its noisy releases describe, and the generator that starts from it.

In reading order, each part after those that it imports:

* `exact`: integers that float64 adds exactly.
* `sums`: exact sums over private images.
* `moments`: the noisy statistics that are released.
* `basis`: class means and directions from them.
* `anchor`: the releases: the only code that reads private images.
* `texture`: high-frequency texture.
* `moves`: small linear maps and shifts.
* `mixture`: a Gaussian mixture per class.
* `moment_loss`: the distance of a batch from the statistics.
* `generator`: the mixture, and a decoder that adds nothing at first.
* `likelihood_rejection`: draws that a label critic accepts by a likelihood ratio.
* `label_rejection`: draws that a label critic assigns the wanted label.
* `generator_onnx`: a generator as an ONNX model.
"""
