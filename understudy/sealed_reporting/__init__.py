"""Sealed reports: what the owner of rows asks for about a release, and nobody else may see."""
