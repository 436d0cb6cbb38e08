"""Two tests that `test_isolation.py` runs in a process of its own; pytest does not collect them by itself."""

import gc
import socket


def test_that_fails_with_an_open_socket():
    opened = [socket.socket()]
    opened.append(opened)
    raise AssertionError


def test_after_it():
    gc.collect()
