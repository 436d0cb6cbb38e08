"""Exact counts of private rows, in memory or in storage: the anchor's only access to them."""
