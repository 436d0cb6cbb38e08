"""Critics, and the clipped sums of their per-example gradients in closed form.

In reading order, each part after those that it imports:

* `microbatch`: records are processed a public number at a time.
* `network`: the critic of tables.
* `factors`: per-example gradients of a dense critic, as factors.
* `clipped_form`: the base of all closed forms.
* `closed_form`: norms and clipped sums for tables.
* `convolution`: convolutions as matrices.
* `conv_network`: the critic of images.
* `conv_factors`: per-example gradients of a convolutional critic, as factors.
* `layer_sums`: norms and clipped sums of one layer.
* `conv_form`: norms and clipped sums for images.
* `label_network`: a critic that classifies labels.
* `label_form`: clipped sums of a label network.
* `label_network_onnx`: the label network as ONNX.
* `placement_invariance`: this machine rounds a record alike at every place.
* `forms`: the closed form of each critic.
"""
