"""The help page: what each role does next, and the words of the pages."""

from fastapi import APIRouter, Response

from service.dashboard.rendering import page
from service.dashboard.visit import CurrentVisit

router = APIRouter(include_in_schema=False)


@router.get("/help")
def help_page(visit: CurrentVisit) -> Response:
    """Show the help, with the sections of the visitor's own roles first."""
    return page(visit, "help.html")
