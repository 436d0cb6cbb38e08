"""The synthesizer "idpgan": generators fitted to noisy counts and to a private critic. `loop` is the whole training on one page.

In reading order, each part after those that it imports:

* `moment_loss`: the distance of a batch from the targets.
* `variety`: the least variation of draws.
* `prepared_counts`: the counts in the form that the generator uses.
* `grouped_logits`: a logit for every group of codes.
* `generator`: the network.
* `generator_onnx`: the network as ONNX.
* `adam`: the optimiser.
* `learner`: training of a generator.
* `mixture`: a generator without a network, a mixture of product distributions.
* `mixture_onnx`: the mixture as ONNX.
* `refinement`: steps against counts, then against counts and critic.
* `mixture_refinement`: the refinement of a mixture.
* `pace`: critic steps for each generator step.
* `loop`: measure, pre-train, train, export.
* `training`: the loop on tables.
* `image_measurement`: the stage "measure" on images.
* `label_warm_up`: a critic of labels learns before it sees an image.
* `image_refinement`: the generator's steps on images.
* `image_training`: the loop on images.
* `synthesizer`: the synthesizer, as the registry names it.
"""
