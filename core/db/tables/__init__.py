"""All tables, one per file; importing this package registers every one of them on `Base.metadata`."""

from core.db.tables.api_key import ApiKey
from core.db.tables.audit_event import AuditEvent
from core.db.tables.audit_link import AuditLink
from core.db.tables.audit_unlinked import AuditUnlinked
from core.db.tables.browser_session import BrowserSession
from core.db.tables.budget import Budget
from core.db.tables.budget_request import BudgetRequest
from core.db.tables.chore_run import ChoreRun
from core.db.tables.dataset import Dataset
from core.db.tables.dataset_member import DatasetMember
from core.db.tables.enrolment import Enrolment
from core.db.tables.federation import Federation
from core.db.tables.federation_member import FederationMember
from core.db.tables.federation_state import FederationState
from core.db.tables.grant import Grant
from core.db.tables.idempotency_key import IdempotencyKey
from core.db.tables.job import Job
from core.db.tables.job_member import JobMember
from core.db.tables.ledger_entry import LedgerEntry
from core.db.tables.login_throttle import LoginThrottle
from core.db.tables.notification_delivery import NotificationDelivery
from core.db.tables.notification_endpoint import NotificationEndpoint
from core.db.tables.notification_event import NotificationEvent
from core.db.tables.owner_report import OwnerReport
from core.db.tables.person import Person
from core.db.tables.principal_name import PrincipalName
from core.db.tables.release import Release
from core.db.tables.service_secret import ServiceSecret
from core.db.tables.sign_in_link import SignInLink
from core.db.tables.signing_key import SigningKey
from core.db.tables.upload import Upload
from core.db.tables.upload_part import UploadPart
from core.db.tables.utility_report import UtilityReport
from core.db.tables.waiting_rows import WaitingRows
from core.db.tables.worker_sign import WorkerSign

__all__ = [
    "ApiKey",
    "AuditEvent",
    "AuditLink",
    "AuditUnlinked",
    "BrowserSession",
    "Budget",
    "BudgetRequest",
    "ChoreRun",
    "Dataset",
    "DatasetMember",
    "Enrolment",
    "Federation",
    "FederationMember",
    "FederationState",
    "Grant",
    "IdempotencyKey",
    "Job",
    "JobMember",
    "LedgerEntry",
    "LoginThrottle",
    "NotificationDelivery",
    "NotificationEndpoint",
    "NotificationEvent",
    "OwnerReport",
    "Person",
    "PrincipalName",
    "Release",
    "ServiceSecret",
    "SignInLink",
    "SigningKey",
    "Upload",
    "UploadPart",
    "UtilityReport",
    "WaitingRows",
    "WorkerSign",
]
