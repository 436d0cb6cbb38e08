"""The verifier for strangers, held against certificates that say something else."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from understudy.verifying.bundle_file import open_bundle
from understudy.verifying.verification import Outcome, verify_opened


def require_refused(bundle: Path, *changes: Mapping[str, Any]) -> None:
    """Each change of a bundle's certificate is refused, whoever has signed it: no key is trusted, so the signature decides nothing."""
    opened = open_bundle(bundle)
    assert verify_opened(opened).outcome is Outcome.SIGNER_UNKNOWN
    for change in changes:
        changed = replace(opened, certificate={**opened.certificate, **change})
        assert verify_opened(changed).outcome is Outcome.REFUSED, change
