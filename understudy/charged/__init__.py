"""Charged reports, as clients see them: what was measured, with noise and for a price, of a release."""
