"""Other methods at the same budget, written with the same care, that the benchmarks compare with."""
