"""What plans of images have of their own.

In reading order:

* `anchor`: what is counted of images.
* `defaults`: their defaults, by public rules.
"""
