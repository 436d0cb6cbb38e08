"""The figures of the service and the ledger under load, for docs/benchmarks.md."""

from collections.abc import Mapping
from typing import Any

from docs.tables import machine, table


def reservations(result: dict[str, Any]) -> list[str]:
    """Reservations per second beside a bare loop, and the cost of long ledgers."""
    rows = [
        [str(contest["datasets"]), _spread(contest["understudy"]["per_second"]), _spread(contest["bare"]["per_second"]),
         _spread(contest["understudy_over_bare"]), _spread(contest["understudy"]["p99_milliseconds"]),
         _spread(contest["bare"]["p99_milliseconds"])]
        for contest in result["contests"]
    ]  # fmt: skip
    medians = result["entries"]["median_milliseconds"]
    lengths = ", ".join(f"{value} ms with {int(entries):,}" for entries, value in medians.items())
    return [
        (
            f"`make bench-reservations`: {result['clients']} clients in {result['processes']} processes, beside a bare psycopg loop with the "
            f"same lock, read and insert, in {result['rounds']} rounds of {result['seconds_per_round']:g} s in turns; median (lowest to "
            "highest). Bar: 0.4 on one dataset, 0.6 on 32. One reservation without company: "
            f"{lengths} entries before it, {result['entries']['longest_over_shortest']} times at most; bar: 1.5. "
            f"Load before: {result['load_before']}.\n"
        ),
        *table(["datasets", "per second", "bare loop", "ratio", "p99 ms", "bare p99 ms"], rows),
        "",
        machine(result),
    ]


def polling(result: dict[str, Any]) -> list[str]:
    """Polls per second beside a bare endpoint."""
    rows = [
        [name, _spread(each["requests_per_second"]), _spread(each["p50_milliseconds"]), _spread(each["p99_milliseconds"]),
         str(each["failed"])]
        for name, each in (("understudy", result["understudy"]), ("bare FastAPI", result["bare"]))
    ]  # fmt: skip
    return [
        (
            f"`make bench-polling`: `GET /v1/jobs/{{job_id}}` of {result['jobs']:,} jobs over {result['connections']} connections, "
            f"{result['workers']} uvicorn workers each, load generator and Postgres on the same cores; {result['rounds']} rounds of "
            f"{result['seconds_per_round']:g} s in turns, median (lowest to highest). understudy over bare: "
            f"{_spread(result['understudy_over_bare'])}; bar: 0.5, 400 a second, p99 under 100 ms. Load before: {result['load_before']}.\n"
        ),
        *table(["served by", "requests per second", "p50 ms", "p99 ms", "failed"], rows),
        "",
        machine(result),
    ]


def streams(result: dict[str, Any]) -> list[str]:
    """What open event streams cost."""
    delay = result["delay_seconds"]
    rows = [
        [name, str(each["resident_megabytes"]), str(each["threads"]), str(each["database_connections"])]
        for name, each in (("none", result["before"]), (str(result["streams"]), result["with_streams"]))
    ]
    return [
        (
            f"`make bench-streams`: {result['streams']} streams, each of its own job, on one uvicorn worker; bar: under 1 GB, no thread and no "
            f"database connection for each. All jobs changed at once, {result['rounds']} times: reported after {delay['median']} s (median), "
            f"{delay['p99']} s (p99), {delay['longest']} s (longest); the server used {result['server_core_share']} of a core. Load before: "
            f"{result['load_before']}.\n"
        ),
        *table(["streams", "MB", "threads", "database connections"], rows),
        "",
        machine(result),
    ]


def pages(result: dict[str, Any]) -> list[str]:
    """What a person waits for, page by page."""
    keys = (
        "first_milliseconds",
        "median_milliseconds",
        "slowest_milliseconds",
        "processor_milliseconds",
        "kilobytes",
    )
    rows = [
        [name.replace("-", " "), *(f"{each[key]:g}" for key in keys)]
        for name, each in result["pages"].items()
    ]  # fmt: skip
    computed = ", ".join(
        f"{name.replace('-', ' ')} {each['median_milliseconds']:,.0f} ms"
        for name, each in result["computed_afterwards"].items()
    )
    counts = ", ".join(f"{number:,} {name.replace('_', ' ')}" for name, number in result["counts"].items())
    return [
        (
            f"`make bench-pages`: every page of the dashboard, from one process of uvicorn over Postgres with {result['entries']:,} ledger "
            f"entries on one dataset and at least {counts}. One visitor at a time, each page {result['times']} times after a first "
            f"request; bar: {result['bar_milliseconds']} ms. Pages do not wait for what is computed over everything and shown in them "
            f"afterwards: {computed} (median). Load before: {result['load_before']}, after: {result['load_after']}; above the number of "
            "cores, milliseconds include the wait for other programs, and those of the processor are what a page costs.\n"
        ),
        *table(["page", "first ms", "median ms", "slowest ms", "processor ms", "KB"], rows),
        "",
        machine(result),
    ]


def recovery(result: dict[str, Any]) -> list[str]:
    """How soon a job runs again after everything was killed."""
    rows = [
        [str(number), *(str(run[name]) for name in ("claimed_seconds", "answers_seconds", "running_seconds"))]
        for number, run in enumerate(result["runs"], start=1)
    ]
    return [
        (
            "`make bench-recovery`: kill -9 of the supervisor and every process under it in the middle of a training, then "
            "`understudy up`; seconds until the job is claimed, until the API answers, and until the training goes on from its "
            f"checkpoint. Bar: {result['bar_seconds']:g} s. Load before: {result['load_average_before']}.\n"
        ),
        *table(["kill", "claimed", "API answers", "training goes on"], rows),
        "",
        machine(result),
    ]


def _spread(values: Mapping[str, float]) -> str:
    return f"{values['median']:g} ({values['lowest']:g} to {values['highest']:g})"
