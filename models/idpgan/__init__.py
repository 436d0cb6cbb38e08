"""The synthesizer "idpgan". `loop` is the whole training on one page.

In reading order, each part after those that it imports:

* `labels`: labels of generated batches, by a noisy law.
* `checkpoint`: tensors and facts of an interrupted training.
* `column_laws`: shares of every column, from all counts that include it.
* `second_round`: what the second round counts.
* `implied`: what counted pairs say of other pairs.
* `shrinkage`: how much of a residual the noise does not explain.
* `zeros`: cells that declared rules leave empty.
* `shrunk_pairs`: shares of pairs.
* `targets`: all counts, made consistent.
* `combinations`: the same where all combinations of codes were counted.
* `reuse`: counts of earlier releases, combined with the own ones.
* `measurement`: the stage "measure": the noisy releases.
* `count_rounds`: rounds of a federation's noisy counts.
* `counts`: noisy counts as tables for the bundle.
* `moment_loss`: how far a batch is from the targets.
* `variety`: how much draws must vary.
* `prepared_counts`: all that the generator uses of the counts.
* `grouped_logits`: a logit for every group of codes.
* `generator`: the network.
* `generator_onnx`: the network as ONNX.
* `adam`: the optimiser.
* `learner`: training of a generator.
* `mixture`: a generator without a network.
* `mixture_onnx`: the same as ONNX.
* `refinement`: steps against counts, then against counts and critic.
* `mixture_refinement`: the same of a mixture.
* `pace`: critic steps for each generator step.
* `loop`: measure, pre-train, train, export.
* `training`: the loop on tables.
* `image_measurement`: the stage "measure" on images.
* `label_warm_up`: a critic of labels learns before it sees an image.
* `image_refinement`: the generator's steps on images.
* `image_training`: the loop on images.
* `synthesizer`: the synthesizer, as the registry names it.
"""
