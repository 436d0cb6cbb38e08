"""Signature contexts: a signature made for one purpose does not verify for another, even over the same bytes."""

from typing import Final

LEDGER_HEAD: Final = "understudy.ledger-head/1"
LEDGER_ACCEPTANCE: Final = "understudy.ledger-acceptance/1"
PUBLICATION: Final = "understudy.publication/1"
AUDIT_HEAD: Final = "understudy.audit-head/1"
AUDIT_EXPORT: Final = "understudy.audit-export/1"
CERTIFICATE: Final = "understudy.certificate/2"
CHARGED_REPORT: Final = "understudy.charged-report/1"
DOSSIER: Final = "understudy.dossier/1"
