"""A declared domain, held to the rules of the service before anything is started or sent."""

from core.plan.domain.declared import domain_from_json
from understudy.documents import Json
from understudy.local.accounts import answered


def require_domain(document: Json) -> None:
    """Refuse a domain document that the service would refuse.

    Args:
        document: of a table or of images, without `declared_size`.

    Raises:
        InvalidInput: it breaks a rule; the fact `pointer` is the place in the document.
    """
    with answered():
        domain_from_json(document)
