"""What others do with the same budget, small and with the same care, to compare with."""
