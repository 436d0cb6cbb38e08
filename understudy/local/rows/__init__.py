"""The caller's rows and images, taken in as the service takes them in, and given back as the caller wrote them.

In reading order, each file after those that it imports:

* `frames`: a data frame, cleaned by the declared policies.
* `images`: arrays of images, judged as the service judges them.
* `intake`: clean blocks become training data, within the limits of the service.
* `dtypes`: synthetic rows in the types of the frame that was fitted.
"""
