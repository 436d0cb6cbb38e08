"""The kinds of domains, distinguished by the schema that their document names."""

from typing import Final

from core.plan.domain import images, table
from core.plan.domain.images import ImageDomain
from core.plan.domain.reading import Node
from core.plan.domain.table import TableDomain

Domain = TableDomain | ImageDomain

_KINDS: Final[dict[str, type[TableDomain] | type[ImageDomain]]] = {
    table.SCHEMA: TableDomain,
    images.SCHEMA: ImageDomain,
}


def domain_from_json(document: object) -> Domain:
    """Read and check a domain document of any kind.

    Raises:
        DomainUnconfirmed: it is a draft that still contains marks.
        DomainInvalid: it breaks a rule; the error points at the place.
    """
    return _KINDS[Node(document, "").take_choice("schema", _KINDS)].from_json(document)
