"""The caller's rows and images, read as the service reads them, and synthetic rows in the caller's types.

In reading order, each file after those that it imports:

* `frames`: data frames, cleaned by the declared policies.
* `images`: arrays of images, validated as the service validates them.
* `intake`: clean blocks as training data, within the limits of the service.
* `dtypes`: synthetic rows in the types of the fitted frame.
"""
