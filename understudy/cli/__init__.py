"""The ``understudy`` command."""

import signal
import sys
from types import FrameType
from typing import Annotated

import typer

import understudy
from understudy.cli import demo, jobs, publish, sample, stack
from understudy.cli.audit import app as audit_app
from understudy.cli.budget import app as budget_app
from understudy.cli.bundles import ask, check_rules, verify
from understudy.cli.domain import app as domain_app
from understudy.cli.dummy import dummy
from understudy.cli.jobs import order
from understudy.cli.keys import app as keys_app
from understudy.cli.ledger import app as ledger_app
from understudy.cli.member import member
from understudy.cli.members import app as members_app
from understudy.cli.notify import app as notify_app
from understudy.cli.oversight import doctor, dossier, overview, signing_keys
from understudy.cli.people import app as people_app
from understudy.cli.quality import app as quality_app
from understudy.cli.releases import figures, known, precision, report
from understudy.cli.sections import Sections
from understudy.cli.service import Commands
from understudy.errors import UnderstudyError
from understudy.plain_text import plain

app = Commands(
    name="understudy",
    help="Publish an understudy of the data, never the data: differentially private synthetic tables and images. Begin with your own "
    "table: `domain draft`, `domain confirm`, `publish` (docs/start.md).",
    cls=Sections,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _say_version(wanted: bool) -> None:
    if wanted:
        print(f"understudy {understudy.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and exit.", callback=_say_version, is_eager=True),
    ] = False,
) -> None:
    pass


app.command("up")(stack.up)
app.command("sign-in")(stack.sign_in)
app.command("backup")(stack.backup)
app.command("restore")(stack.restore)
app.command("publish")(publish.publish)
app.command("quote")(jobs.quote)
app.command("order")(order)
app.command("member")(member)
app.command("known")(known)
app.command("status")(jobs.status)
app.command("overview")(overview)
app.command("sample")(sample.sample)
app.command("ask")(ask)
app.command("check-rules")(check_rules)
app.command("precision")(precision)
app.command("figures")(figures)
app.command("report")(report)
app.command("dummy")(dummy)
app.command("verify")(verify)
app.command("signing-keys")(signing_keys)
app.command("dossier")(dossier)
app.command("demo")(demo.demo)
app.command("doctor")(doctor)
app.add_typer(audit_app, name="audit")
app.add_typer(ledger_app, name="ledger")
app.add_typer(domain_app, name="domain")
app.add_typer(budget_app, name="budget")
app.add_typer(members_app, name="members")
app.add_typer(people_app, name="people")
app.add_typer(keys_app, name="keys")
app.add_typer(quality_app, name="quality")
app.add_typer(notify_app, name="notify")

INTERRUPTED = 130


def main() -> None:
    """Run the command; an error becomes one line on standard error and exit status 1, Ctrl-C status 130."""
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        app()
    except UnderstudyError as error:
        print(f"understudy: {plain(str(error))}", file=sys.stderr)
        sys.exit(1)
    except OSError as error:
        if error.filename is None:
            raise
        print(f"understudy: {error.filename}: {error.strerror}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("understudy: interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    """Handle SIGTERM as Ctrl-C, so that a job is cancelled and a private stack stopped."""
    raise KeyboardInterrupt
