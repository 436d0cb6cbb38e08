"""A new sign-in link for a stack that runs."""

import json

from understudy.embedded.errors import FolderInUse
from understudy.embedded.folder import DataFolder
from understudy.embedded.roles import link_address, provision_words
from understudy.embedded.tasks import run
from understudy.errors import NoService


def new_link(folder: DataFolder) -> str:
    """Make a sign-in link valid, for one use within ten minutes, and return its address.

    Args:
        folder: the data folder of the stack.

    Raises:
        NoService: no stack runs on the folder.
        ServerFailed: the link could not be registered; the message says why.
    """
    if not _is_running(folder):
        message = f"no stack runs on {folder.path}; start it with `understudy up`, which prints a link"
        raise NoService(message)
    url: str = json.loads(folder.connection_file.read_text())["url"]
    with folder.new_link() as token:
        run(folder, "sign-in", "service.provision", *provision_words(folder))
    return link_address(url, token)


def _is_running(folder: DataFolder) -> bool:
    """Whether a supervisor holds the folder and its API has an address; a killed one leaves its connection file."""
    try:
        folder.lock().release()
    except FolderInUse:
        return folder.connection_file.exists()
    return False
