"""Parts of plans that only images have.

In reading order:

* `anchor`: the counts of images.
* `defaults`: defaults of the options for images, by public rules.
"""
