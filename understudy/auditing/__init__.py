"""The audit log, signed heads and verifications, from the client's side."""
