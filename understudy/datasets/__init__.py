"""Datasets: declaring private tables, and sending their rows."""
