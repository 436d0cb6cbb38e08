"""Labels of the pages: states, actions, refusals and names for human readers."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from core.plan.split import Split
from core.plan.training_quote import IMAGES, NO_ANCHOR
from service.federations.schemas import FederationView, MemberCertificate
from service.releases.precision import UNKNOWN_PLAN
from service.wording.amounts import count, short

_NAMED: Final = 3

DONE: Final[Mapping[str, str]] = {
    "signed-out": "You have signed out.",
    "frozen": "The dataset is frozen: no orders, grants or starts are possible.",
    "unfrozen": "The dataset is unfrozen and accepts orders again.",
    "budget-set": "The cap is set.",
    "approved": "The request is approved and the grant is created.",
    "denied": "The request is denied. The analyst can read the reason.",
    "filed": "Your request is submitted. The owner of the dataset or an admin will decide.",
    "withdrawn": "Your request is withdrawn.",
    "revoked": "The grant is revoked.",
    "member-added": "The analyst is now a member.",
    "member-removed": "The analyst is no longer a member.",
    "cancelled": "The job is cancelled or will stop at its next step.",
    "ordered": "The job is ordered and its budget is reserved.",
    "report-ordered": "The owner report is ordered. It takes at least a minute and will appear here, visible only to you.",
    "report-deleted": "The owner report is deleted.",
    "named": "The principal's name is changed.",
    "enrolment-cancelled": "The enrolment is cancelled. Keys created with it are revoked.",
    "key-revoked": "The key is revoked and its sessions have ended.",
    "code-sent": "A code was sent to the address. Enter it here to confirm.",
    "address-confirmed": "The address is confirmed and receives notifications from now on.",
    "test-sent": "A test message was sent. The list below shows the result within half a minute.",
    "resumed": "Notifications are resumed. Events missed while paused are not sent.",
    "endpoint-removed": "The endpoint and its address are removed.",
    "deleted": "The dataset is deleted. Its rows cannot be recovered.",
    "declared": "The dataset is declared. You can now upload its rows.",
    "uploaded": "The upload is complete. Its intake report is on this page; an admin sets the cap under Budget.",
    "rows-accepted": "The rows are accepted into the dataset.",
    "rows-discarded": "The rows are discarded. You can upload rows again.",
    "federation-ended": "The federation is ended. The members' jobs stop at their next round.",
}
"""Confirmations shown at the top of a page, by the code in its URL. No other part of the URL is ever shown."""

REPORT_STATES: Final[Mapping[str, str]] = {
    "queued": "Waiting for a worker",
    "running": "In progress",
    "made": "Ready",
    "failed": "Failed",
}

STATES: Final[Mapping[str, tuple[str, str]]] = {
    "declared": ("awaiting rows", "wait"),
    "ready": ("ready", "good"),
    "deleted": ("deleted", "over"),
    "accepted": ("accepted", "good"),
    "queued": ("queued", "wait"),
    "running": ("running", "live"),
    "succeeded": ("succeeded", "good"),
    "failed": ("failed", "bad"),
    "cancelled": ("cancelled", "over"),
    "open": ("open", "wait"),
    "in-force": ("open", "good"),
    "approved": ("approved", "good"),
    "denied": ("denied", "bad"),
    "withdrawn": ("withdrawn", "over"),
    "expired": ("expired", "over"),
    "revoked": ("revoked", "over"),
    "replaced": ("replaced", "over"),
    "alive": ("alive", "good"),
    "unconfirmed": ("not confirmed", "wait"),
    "active": ("active", "good"),
    "paused": ("paused", "bad"),
    "waiting": ("waiting", "wait"),
    "delivered": ("delivered", "good"),
    "dropped": ("dropped", "over"),
    "well": ("healthy", "good"),
    "silent": ("silent", "bad"),
    "problem": ("problem", "bad"),
    "warning": ("warning", "wait"),
    "note": ("note", "over"),
    "federation-open": ("open", "live"),
    "done": ("finished", "good"),
    "ended": ("ended", "over"),
    "not-joined": ("not joined", "wait"),
    "waited-for": ("waited for", "wait"),
    "handed-in": ("handed in", "live"),
    "missed": ("missed the deadline", "bad"),
    "stopped": ("stopped", "over"),
}
"""Label and CSS class of every state."""

STAGES: Final[Mapping[str, str]] = {
    "measure": "Measuring the data under noise",
    "pretrain": "Learning from the noisy measurements",
    "train": "Training under noise",
    "export": "Exporting the generator",
}


def stage(name: str, kind: str) -> str:
    """A stage of a job in words; a private model has no generator to export."""
    return "Exporting the model" if (name, kind) == ("export", "model") else STAGES[name]


CHORES: Final[Mapping[str, str]] = {
    "witness": "Compares ledgers with their heads recorded outside the database, and records decisions there.",
    "devices": "Moves jobs to another kind of device where no live worker serves theirs.",
    "resend": "Sends jobs again that no live worker holds.",
    "rounds": "Finds rounds of federations that a restored database has forgotten.",
    "resend-reports": "Sends owner reports again that no live worker holds.",
    "expire": "Closes requests and grants whose time is over.",
    "sweep": "Removes what ended jobs left behind in the object store.",
    "link": "Gives new events their place in the hash chain of the audit log.",
    "notify": "Sends notifications.",
    "forget": "Deletes old notifications.",
    "orphans": "Removes stored objects that belong to nothing.",
    "uploads": "Ends uploads whose time is over.",
    "erase": "Finishes deletions that were interrupted.",
    "audit": "Verifies every ledger.",
    "audit-log": "Verifies the hash chain of the audit log.",
}
"""Description of each maintenance task."""

JOB_KINDS: Final[Mapping[str, str]] = {
    "training": "generator",
    "selection": "selection of a generator",
    "report": "utility report",
    "model": "private model",
}
"""Result of each kind of job."""

ENTRIES: Final[Mapping[str, str]] = {
    "RESERVED": "reserved for a job",
    "SPENT": "spent: job started",
    "VOIDED": "released: job never started",
    "SETTLED": "settled: job finished",
    "CAP_SET": "cap set",
    "GRANTED": "grant created",
    "GRANT_CLOSED": "grant closed",
    "FROZEN": "frozen",
    "UNFROZEN": "unfrozen",
}

NO_EXPECTATION: Final[Mapping[str, str]] = {
    IMAGES: "Not known in advance for images.",
    NO_ANCHOR: "Not known in advance: training with a critic alone counts nothing.",
    UNKNOWN_PLAN: "Not known: the plan in the certificate is of another format or another declaration.",
}
"""Why a quote states no expected error."""

REFUSALS: Final[Mapping[str, str]] = {
    "budget-refused": "It would exceed the cap.",
    "grant-refused": "It would exceed what is left of your grant.",
    "budget-not-set": "No cap is set yet.",
    "dataset-frozen": "The dataset is frozen.",
    "no-grant": "You have no open grant on this dataset; request one first.",
    "grant-ambiguous": "You have several grants; choose the one to charge.",
    "grant-closed": "That grant is closed.",
}

ROLES: Final[Mapping[str, str]] = {
    "owner": "declares and uploads datasets, decides on requests",
    "analyst": "orders generators within a grant, downloads synthetic data",
    "admin": "sets caps, creates people, monitors the system; sees no private facts",
    "auditor": "reads budgets, ledgers and the audit log; changes nothing",
}

ACTIONS: Final[Mapping[str, str]] = {
    "dataset.declare": "declared the dataset",
    "dataset.rows": "stored the rows",
    "dataset.delete": "deleted the dataset",
    "dossier.export": "exported the dossier",
    "budget.set": "set the cap",
    "budget.freeze": "froze the dataset",
    "budget.unfreeze": "unfroze the dataset",
    "ledger.accept": "accepted the ledger head",
    "member.add": "added a member",
    "member.remove": "removed a member",
    "budget-request.file": "requested budget",
    "budget-request.approve": "approved a request",
    "budget-request.deny": "denied a request",
    "budget-request.withdraw": "withdrew a request",
    "grant.revoke": "revoked a grant",
    "session.open-by-link": "signed in with a link",
    "session.open-by-account": "signed in at the identity provider",
    "sign-in-link.make": "made a sign-in link",
    "two-person-rule.waive": "decided on their own request, as the one person of this machine",
    "job.order": "ordered a job",
    "job.cancel": "cancelled a job",
    "job.failure-note": "looked for a failure note",
    "upload.open": "started an upload",
    "upload.abort": "aborted an upload",
    "audit.export": "exported the audit log",
    "audit.verify": "found the audit log broken",
    "budget-request.expire": "closed a request whose time is over",
    "enrolment.accept": "enrolled with a link",
    "enrolment.cancel": "cancelled an enrolment",
    "enrolment.create": "created an enrolment",
    "federation.create": "created a federation",
    "federation.end": "ended a federation",
    "grant.expire": "closed a grant whose time is over",
    "key.create": "created a key",
    "key.revoke": "revoked a key",
    "key.rotate": "rotated a key",
    "ledger.verify": "found a ledger broken",
    "notification.confirm": "confirmed an address",
    "notification.create": "added an endpoint",
    "notification.pause": "paused an endpoint",
    "notification.remove": "removed an endpoint",
    "notification.resume": "resumed an endpoint",
    "notification.rotate": "changed an endpoint's secret",
    "notification.test": "sent a test message",
    "person.create": "created a person",
    "principal.name": "named a principal",
    "recovery.accept": "recovered access with a link",
    "recovery.cancel": "cancelled a recovery",
    "recovery.create": "created a recovery",
    "refusals.left-out": "left refusals of anonymous callers out, as many as the object says",
    "session.close": "signed out",
    "session.open": "signed in with a key",
    "sealed-report.order": "ordered an owner report",
    "sealed-report.read": "read an owner report",
    "sealed-report.delete": "deleted an owner report",
}
"""Actions of the audit log. A refused action is logged under the name of its operation."""

ATTEMPTS: Final[Mapping[str, str]] = {
    "accept": "tried to store the waiting rows",
    "add_endpoint": "tried to add an endpoint",
    "admit": "tried to add a member",
    "ask_for_budget": "tried to request budget",
    "call_principal": "tried to name a principal",
    "cancel": "tried to cancel a job",
    "change_cap": "tried to set the cap",
    "confirm_address": "tried to confirm an address",
    "decide": "tried to decide on a request",
    "declare": "tried to declare a dataset",
    "delete": "tried to delete the dataset",
    "discard": "tried to discard the waiting rows",
    "dismiss": "tried to remove a member",
    "end": "tried to end a federation",
    "end_enrolment": "tried to cancel an enrolment",
    "end_grant": "tried to revoke a grant",
    "end_key": "tried to revoke a key",
    "enrol": "tried to enrol with a link",
    "enrol_again": "tried to create an enrolment",
    "freeze": "tried to freeze the dataset",
    "have_tested": "tried to send a test message",
    "make_key": "tried to create a key",
    "make_person": "tried to create a person",
    "order_report": "tried to order an owner report",
    "place": "tried to place an order",
    "quote": "tried to price an order",
    "remove": "tried to remove an endpoint",
    "remove_report": "tried to delete an owner report",
    "replace_key": "tried to rotate a key",
    "replace_secret": "tried to change an endpoint's secret",
    "resume": "tried to resume an endpoint",
    "review": "tried to review a declaration",
    "edit": "tried to edit a declaration",
    "take_edits": "tried to edit a declaration",
    "send": "tried to upload rows",
    "sign_in": "tried to sign in",
    "sign_out": "tried to sign out",
    "declare_again": "tried to go back to a declaration",
    "take_link": "tried to sign in with a link",
    "unfreeze": "tried to unfreeze the dataset",
    "what_if": "tried to price an order",
    "withdraw": "tried to withdraw a request",
}
"""Refused actions of pages, which are logged under the names of the pages' functions."""

REFUSED_FOR: Final[Mapping[str, str]] = {
    "budget-refused": "it would exceed the cap",
    "grant-refused": "it would exceed the grant",
    "budget-not-set": "no cap is set",
    "no-grant": "no open grant on the dataset",
    "grant-ambiguous": "several grants, and none chosen",
    "role-missing": "the role is missing",
}
"""Why an attempt was refused, by its code, where the code says it less well."""

OUTCOMES: Final[Mapping[str, tuple[str, str]]] = {
    "done": ("done", "good"),
    "broken": ("broken", "bad"),
    "not-logged": ("not logged", "over"),
}
"""Label and CSS class of outcomes in the audit log; every other outcome is the code of a refusal."""

OBJECT_TYPES: Final[Mapping[str, str]] = {
    "charged-report": "utility report",
    "sealed-report": "owner report",
}
"""Objects of the audit log whose label is not their name."""


def federation_member(federation: FederationView, member: MemberCertificate) -> str:
    """Key of `STATES` for a member of a federation."""
    if federation.state == "done":
        return "done"
    if federation.state == "failed" and member.name in (federation.vanished or "").split(", "):
        return "missed"
    if federation.state != "open":
        return "stopped"
    if member.name not in federation.waits_for:
        return "handed-in"
    return "waited-for" if member.rounds_handed_in else "not-joined"


def abridged(names: Sequence[str]) -> str:
    """The first few of several names, and how many more there are."""
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def newest(dataset_ids: Sequence[UUID]) -> Sequence[UUID]:
    """The datasets of a population that a page names: the newest three of a list that begins with the oldest."""
    return dataset_ids[-_NAMED:]


def disambiguated(names: Mapping[UUID, str]) -> Mapping[UUID, str]:
    """Names of datasets by id; where several have one name, as versions of a dataset do, each with the start of its id."""
    repeated = {name for name, times in Counter(names.values()).items() if times > 1}
    return {each: f"{name} ({short(each)})" if name in repeated else name for each, name in names.items()}


def refusal(code: str) -> str:
    """The reason why an order would be refused."""
    return REFUSALS.get(code, f"It would be refused ({code}).")


def action(name: str) -> str:
    """An action of the audit log, done or attempted."""
    return ACTIONS.get(name) or ATTEMPTS.get(name) or f"tried to {name.replace('_', ' ')}"


def refused_for(code: str) -> str:
    """Why an attempt was refused."""
    return REFUSED_FOR.get(code, code.replace("-", " "))


def principal_in(actor: str) -> UUID | None:
    """The principal of an actor; None for a process or an anonymous caller."""
    try:
        return UUID(actor.partition("/")[0])
    except ValueError:
        return None


def object_type(name: str) -> str:
    """The type of an object in the audit log."""
    return OBJECT_TYPES.get(name, name.replace("-", " "))


def split(document: Mapping[str, Any]) -> str:
    """The shares of a quote's split, in percent."""
    return Split.from_json(document).text


def network(options: Mapping[str, Any]) -> str:
    """Description of a private model's network, by all options of its plan."""
    kinds = {
        "linear": "a linear layer",
        "mlp": f"a network with {count(options['hidden'])} hidden units",
        "cnn": "a convolutional network",
        "module": f"the registered module {options['module']}",
    }
    features = {
        "plain": "",
        "scattering": " on scattering features",
        "pca": f" on {count(options['components'])} noisy principal components",
    }
    return kinds[options["network"]] + features[options["features"]]
