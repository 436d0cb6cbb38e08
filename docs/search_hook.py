"""A hook of the site's builder: the index of the search as a script, for pages that are opened from a disk.

A browser reads no JSON from a file. The theme then loads ``search/search_index.js``, and ``site/search-from-disk.js`` runs the
search, since no browser starts a worker from a file.
"""

from pathlib import Path
from typing import Any

from mkdocs.plugins import event_priority


@event_priority(-100)  # after the plugin that writes the index
def on_post_build(*, config: Any, **_facts: Any) -> None:  # noqa: ANN401 - of the builder, which has no types
    """Write the index beside its JSON."""
    folder = Path(config["site_dir"]) / "search"
    index = (folder / "search_index.json").read_text(encoding="utf-8")
    (folder / "search_index.js").write_text(f"var __index = {index};\n", encoding="utf-8")
