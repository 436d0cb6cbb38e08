"""A domain file of a command: held to the rules of the service, with refusals that name file, line and column."""

from pathlib import Path

from understudy.documents import Json
from understudy.errors import InvalidInput
from understudy.table_files import DECLARED_SIZE, line_in, place_in, read_domain


def require_rules(document: Json, file: Path) -> None:
    """Refuse a confirmed domain that the service would refuse; where the engine is not installed, only the service checks.

    Raises:
        InvalidInput: it breaks a rule; the message names file, line and column.
    """
    try:
        from understudy.local.ledger.accounts import require_domain
    except ModuleNotFoundError:
        return
    try:
        require_domain({key: value for key, value in document.items() if key != DECLARED_SIZE})
    except InvalidInput as refusal:
        raise placed(refusal, file) from None


def placed(refusal: InvalidInput, file: Path) -> InvalidInput:
    """Return the service's refusal of a domain with its line in the file and its column; any other as it is."""
    pointer = refusal.facts.get("pointer")
    if refusal.code != "domain-invalid" or not isinstance(pointer, str):
        return refusal
    line = line_in(file.read_text(), pointer)
    where = f"{file}{'' if line is None else f', line {line}'}, {place_in(read_domain(file), pointer)}"
    problem = {
        "code": refusal.code,
        "detail": f"{where}: {refusal.detail}",
        "remedy": refusal.remedy,
        "facts": refusal.facts,
    }
    return InvalidInput(refusal.status, problem)
