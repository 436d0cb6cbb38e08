"""Requests to the service without input or output: what both clients share.

In reading order, each file after those that it imports:

* `calls`: one request as a value.
* `exchange`: answers are read, and whether a request is repeated is decided.
* `uploads`: files of rows before they are sent, and the note that lets an upload go on.
"""
