"""Measuring and estimating the counts of tables."""
