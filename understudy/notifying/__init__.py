"""Notifications, from the client's side."""
