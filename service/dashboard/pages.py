"""All page routers, installed after the API."""

from fastapi import FastAPI

from service.dashboard import (
    assets,
    dataset_pages,
    decisions,
    declaring_pages,
    documentation,
    federation_pages,
    grant_pages,
    job_pages,
    ledger_file,
    link_pages,
    notification_pages,
    overview,
    owner_report_pages,
    people_pages,
    plain_upload,
    provider_pages,
    release_pages,
    sign_in_pages,
    system_pages,
    utility_report_pages,
)
from service.dashboard.error_pages import install_error_pages
from service.dashboard.release_pictures import PictureCache

GROUPS = (
    assets,
    sign_in_pages,
    link_pages,
    provider_pages,
    overview,
    ledger_file,
    declaring_pages,  # before the pages of one dataset, which would parse “new” as an id
    dataset_pages,
    plain_upload,
    decisions,
    grant_pages,
    job_pages,
    federation_pages,
    release_pages,
    utility_report_pages,
    owner_report_pages,
    system_pages,
    people_pages,
    notification_pages,
    documentation,
)


def install_pages(app: FastAPI) -> None:
    """Install what the pages keep, and HTML error pages for browser requests."""
    app.state.pictures = PictureCache()
    install_error_pages(app)
