"""Budgets: the cap of a population, and the ledger of what was spent."""
