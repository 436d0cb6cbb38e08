"""Private classifiers: DP-SGD, alone or averaged over owners.

In reading order, each part after those that it imports:

* `networks`: linear, one hidden layer, or convolutions.
* `registered`: torch modules that an operator registered.
* `scattering`: the scattering transform of images.
* `features`: the features of a record.
* `components`: private principal components.
* `even_batches`: records in batches of a fixed size.
* `dense_form`: clipped sums of linear layers, without per-example gradients.
* `sampled_form`: clipped sums of any module, with them.
* `recorder`: the record of the releases.
* `private_training`: the training by DP-SGD.
* `averaging`: federated averaging.
* `classifier_onnx`: a classifier as an ONNX model.
* `model_writing`: a classifier as the files of a bundle.
"""
