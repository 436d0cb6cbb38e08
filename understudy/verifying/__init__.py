"""Verifying a bundle offline: signature, hashes, plan and epsilon, without any code of the service."""
