"""Write the files that are made from others: `python -m docs.generate`, or `make docs`.

Pages and plots of measured results, pictures of the code, the synchronous client and the schemas are not in git; building the site or the
package makes them too. Two pages written by hand hold lines that are made, and are in git; a test compares them.
What the site says of the code alone is never a file: `docs.reference`.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from docs.ablation_page import ablation_plots, ablations_page
from docs.architecture_picture import architecture_plots, with_ways
from docs.cost_figures import cost_plots
from docs.default_orders_page import default_orders_page
from docs.federated_page import federated_page
from docs.figures import benchmarks_page
from docs.image_figures import image_plots
from docs.large_tables_page import large_tables_page, unit_records_page
from docs.long_proofs_page import long_proofs_page
from docs.order_life_picture import order_life_plots
from docs.package_files import package_files, write_files
from docs.peer_figures import peers_page
from docs.private_models_page import private_models_page
from docs.relevance_page import relevance_page
from docs.reuse_page import reuse_page
from docs.source_lines import PAGE, true_page
from docs.wide_tables_page import wide_tables_page
from tests.audits.page import audit_plots, audits_page
from tests.mutants.page import kill_matrix_page
from tests.privacy.leaks.page import leak_channels_page

ROOT = Path(__file__).parents[1]
ARCHITECTURE = "docs/architecture.md"
_NOTICE = "<!-- Made by `make docs`. Do not edit. -->\n\n"
PAGES = {
    "docs/audits.md": audits_page,
    "docs/kill-matrix.md": kill_matrix_page,
    "docs/leak-channels.md": leak_channels_page,
    "docs/long-proofs.md": long_proofs_page,
    "docs/benchmarks.md": benchmarks_page,
    "docs/ablations.md": ablations_page,
    "docs/large-tables.md": large_tables_page,
    "docs/unit-records.md": unit_records_page,
    "docs/private-models.md": private_models_page,
    "docs/federated.md": federated_page,
    "docs/default-orders.md": default_orders_page,
    "docs/reuse.md": reuse_page,
    "docs/relevance-weights.md": relevance_page,
    "docs/wide-tables.md": wide_tables_page,
    "docs/tables-beside-peers.md": peers_page,
}
"""The pages that are made, and what makes each."""


def pages_with_lines() -> Mapping[str, str]:
    """Return the pages that are written by hand and hold lines that are made, as these lines should be."""
    return {PAGE: true_page(), ARCHITECTURE: with_ways((ROOT / ARCHITECTURE).read_text())}


def made_files() -> Iterator[tuple[str, str]]:
    """Yield every file that is made and not in git: its path from the root, and its text."""
    yield from package_files().items()
    for name, render in PAGES.items():
        yield name, _NOTICE + render()
    for name, plot in (image_plots() | cost_plots() | ablation_plots()).items():
        yield f"docs/benchmarks/{name}", plot
    for name, picture in (architecture_plots() | order_life_plots()).items():
        yield f"docs/architecture/{name}", picture
    for name, plot in audit_plots().items():
        yield f"docs/audits/{name}", plot


def main() -> None:
    """Write all of them."""
    write_files({**dict(made_files()), **pages_with_lines()})


if __name__ == "__main__":
    main()
