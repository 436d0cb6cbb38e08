"""How long the contract tests look, and where."""

import os

# Read now: tests run without the environment of whoever runs them.
EXAMPLES = int(os.environ.get("UNDERSTUDY_CONTRACT_EXAMPLES", "3"))
SEED = os.environ.get("UNDERSTUDY_CONTRACT_SEED")
