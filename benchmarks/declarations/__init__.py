"""The value of each declaration that a domain may contain, and of each that it may learn."""
