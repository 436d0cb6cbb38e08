"""Networks and private training. Whatever leaves private rows passes through `releases`.

In reading order, each part after those that it imports:

* `releases`: the seam that every noisy release passes.
* `randomness`: all noise and coins: one keyed stream, addressed by purpose and step.
* `encoding`: private rows in coded form.
* `counting`: exact counts of rows, in memory or in storage.
* `coding`: stored rows to coded rows.
* `dp`: sampling, clipping and noise.
* `exchange`: messages between members of a federation.
* `synthesizer`: the interface of synthesizers, their host and their generators.
* `simplex`: noisy counts as distributions.
* `labels`: labels of generated batches, by a noisy distribution.
* `checkpoint`: tensors and facts of an interrupted training.
* `learnt_domains`: bounds, bins, categories and records per unit, from noisy counts.
* `tables`: noisy counts of tables, and estimates from them.
* `onnx_graph`: ONNX models, written operation by operation.
* `critic`: critics, and clipped sums of their gradients in closed form.
* `acts`: clipping thresholds from noisy histograms.
* `weight_clusters`: blocks that are clipped as one group.
* `devices`: CPU and GPUs.
* `private_step`: one step of DP-SGD on the critic.
* `images`: generators of images and the anchor of images.
* `release_recorder`: the record of releases, for the certificate.
* `grids`: public grids of sums and noise.
* `idpgan`: the synthesizer "idpgan".
* `graphical`: the synthesizers "aim" and "mst".
* `registry`: the synthesizers by name.
* `sampled`: records drawn inside a job.
* `generator_check`: a check for mode collapse.
* `selection`: selecting among trainings.
* `reports`: measuring utility reports.
* `software`: versions and hashes of the software of a training.
* `bundle`: writing a generator into a bundle.
* `classifier`: private classifiers.
* `model_check`: a check for classifiers that answer one class.
"""
