"""Parts of plans that only images have.

In reading order:

* `anchor`: what is counted of images.
* `defaults`: their defaults, by public rules.
"""
