"""The synthesizers "aim" and "mst": noisy marginals, and a graphical model fitted to them.

In reading order, each part after those that it imports:

* `measuring`: the only code that reads rows: noisy scores and marginals.
* `choosing`: the choice of marginals to measure, from noisy scores.
* `model`: a graphical model fitted by mbi.
* `ancestral`: the model as a network, by ancestral sampling.
* `estimate`: noisy marginals made into a model.
* `ancestral_onnx`: the network as an ONNX model.
* `synthesizer`: the synthesizers "aim" and "mst".
"""
