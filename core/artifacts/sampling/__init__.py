"""Synthetic records drawn from a bundle, without torch. Post-processing, free of privacy cost.

In reading order, each part after those that it imports:

* `alias_tables`: draws from many discrete distributions at once.
* `inversion`: codes from the softmax of logits.
* `balanced_sampling`: codes whose counts are near their expectation.
* `codes_in_groups`: codes of wide tables, within groups.
* `drawing`: the base of all samplers.
* `network_rows`: codes from the network of a bundle.
* `mixture_rows`: codes from a mixture of product distributions.
* `row_source`: the source of coded rows for given labels.
* `condition_values`: values of conditions as programs write them.
* `conditions`: columns fixed to values.
* `value_conditions`: conditions by values, sets and ranges.
* `sampler`: synthetic rows.
* `image_sampler`: synthetic images.
* `generator_check`: whether the draws of a new generator vary.
* `json_lines`: rows as lines of JSON.
* `formats`: rows as files.
* `png`: PNG files.
* `image_formats`: images as files.
* `samples`: records of a release of any kind as files.
* `sampler_script`: the script inside every bundle.
"""
