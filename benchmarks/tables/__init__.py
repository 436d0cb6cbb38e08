"""Synthetic tables beside those of other methods, on the same codes, splits and budgets. `python -m benchmarks.tables` runs the comparison."""
