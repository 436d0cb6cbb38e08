"""Releases, from the client's side."""
