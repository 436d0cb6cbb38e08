"""Federations: this service as the board of owners that train in services of their own."""
