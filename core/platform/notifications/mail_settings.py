"""The mail server from the settings."""

from core.platform.notifications.mail import MailServer
from core.platform.settings import Settings


def mail_server(settings: Settings) -> MailServer | None:
    """The configured mail server, if any."""
    if settings.smtp_host is None or settings.smtp_sender is None:
        return None
    password = settings.smtp_password
    return MailServer(
        host=settings.smtp_host,
        port=settings.smtp_port,
        security=settings.smtp_security,
        sender=settings.smtp_sender,
        user=settings.smtp_user,
        password=None if password is None else password.get_secret_value(),
    )
