"""Exact counts of private rows, in whatever way the rows are held: the anchor's only sight of them."""
