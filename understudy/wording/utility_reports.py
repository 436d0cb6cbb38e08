"""Format a utility report, or a quote of one, for a terminal."""

from typing import Final

from understudy.documents import take
from understudy.results.jobs import Quote
from understudy.results.utility_reports import Measured, UtilityReport
from understudy.wording.quotes import room_lines

_BAR: Final = 20
_SHOWN_PAIRS: Final = 10
GRANT_MISSING: Final = frozenset({"no-grant", "grant-refused"})
"""Refusals that a new grant resolves: the cap admits the job."""
_KINDS: Final = {"columns": "errors of columns", "pairs": "errors of pairs", "score": "score"}


def quote_lines(quote: Quote, *, requests_grant: bool = False) -> list[str]:
    """Format the price and the precision of a report. If the caller requests a grant for it, a missing grant is no obstacle."""
    guarantee, epsilon, report, grant = take(quote.document, "guarantee", "epsilon", "report", "grant")
    lines = [
        (
            f"Quote of a utility report: epsilon {guarantee['epsilon']:g}, delta {guarantee['delta']:g} "
            f"(by PLD {epsilon['pld']:.4f}, by RDP {epsilon['rdp']:.4f})"
        )
    ]
    for kind, part in report["parts"].items():
        lines.append(
            f"  {_KINDS.get(kind, kind)}: {_numbers(part['terms'])} to within "
            f"{100 * part['half_width_95']:.1f} percentage points (95 %)"
        )
    if any(part["half_width_95"] > 0.5 for part in report["parts"].values()):  # noqa: PLR2004 - half of all there is
        lines.append("  too imprecise to be useful: measure fewer columns or spend more epsilon")
    if requests_grant and quote.refusal in GRANT_MISSING:
        return [*lines, "  fits under the cap: yes, with a grant of its own"]
    lines += room_lines(quote)
    if grant is None and quote.fits:
        lines.append("  none of your open grants covers it yet")
    return lines


def report_lines(report: UtilityReport) -> list[str]:
    """Format a report: the score, the means, every column, and the pairs with the largest errors."""
    lines = [
        f"Utility report {report.id} about release {report.release_id}",
        f"  differentially private: epsilon {report.epsilon:g}, delta {report.delta:g}, paid from the ledger",
    ]
    if (score := report.score) is not None:
        on_synthetic, most_frequent = take(score.document, "on_synthetic", "most_frequent")
        lines += [
            f"Score: {score.names[0]!r} predicted correctly for {_interval(score)} of the units",
            f"  on synthetic records {on_synthetic:.1%}; majority-class baseline: {most_frequent:.1%}",
        ]
    lines.append(f"Errors of columns (0 % is best): mean {_interval(report.mean_of_columns)}")
    lines += [_row(measured) for measured in report.columns]
    if report.mean_of_pairs is not None:
        lines.append(f"Errors of pairs: mean {_interval(report.mean_of_pairs)}; the largest:")
        worst = sorted(report.pairs, key=lambda pair: -pair.estimate)[:_SHOWN_PAIRS]
        lines += [_row(measured) for measured in worst]
    lines.append(
        "Errors compare listed values, bins of numbers and dates, and one word for all unlisted values; `understudy ask` "
        "gives the share of that word."
    )
    lines.append(
        "Each interval contains the noise-free value with 95 % probability; 'by chance' is the error of a perfect release."
    )
    return lines


def _numbers(count: int) -> str:
    return "one number," if count == 1 else f"{count} numbers, each"


def _row(measured: Measured) -> str:
    filled = round(_BAR * measured.estimate)
    chance = "" if measured.by_chance is None else f"  by chance {measured.by_chance:.1%}"
    bar = "#" * filled + "." * (_BAR - filled)
    return f"  {bar}  {_interval(measured)}  {' x '.join(measured.names)}{chance}"


def _interval(measured: Measured) -> str:
    return f"{measured.estimate:.1%} ({measured.low:.1%} to {measured.high:.1%})"
