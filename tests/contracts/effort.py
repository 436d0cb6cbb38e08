"""How long the contract tests look, and where."""

import os

# Read at import, because tests run without the caller's environment.
EXAMPLES = int(os.environ.get("UNDERSTUDY_CONTRACT_EXAMPLES", "1"))
SEED = os.environ.get("UNDERSTUDY_CONTRACT_SEED")
