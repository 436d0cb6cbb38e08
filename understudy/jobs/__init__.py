"""Jobs: what a publication would cost, ordering one, and waiting for it."""
