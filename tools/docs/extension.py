"""A Sphinx extension: `<!-- generated: NAME -->` on a line of a page is replaced by what the code itself says.

    <!-- generated: metrics -->         every figure of the catalogue
    <!-- generated: cards host -->      the cards of a folder of rules, "except" some, or cards by name

So the reader of the Markdown sees where the text comes from, and no definition is written twice.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from tools import rooms
from tools.docs import figures, python_api, terminal
from tools.docs.cards import cards

if TYPE_CHECKING:
    from sphinx.application import Sphinx

#: What a page can ask for without further words.
GENERATED: Mapping[str, Callable[[], str]] = {
    "metrics": figures.metrics,
    "figures": figures.figures,
    "parts": figures.parts,
    "idle reasons": figures.idle_reasons,
    "missing figures": figures.missing,
    "phases": figures.phases,
    "bounds": figures.bounds,
    "commands": terminal.commands,
    "summarize json": terminal.summarize_schema,
    "kernels json": terminal.kernels_schema,
    "whatif json": terminal.whatif_schema,
    "fit json": terminal.fit_schema,
    "snapshot json": terminal.snapshot_schema,
    "hang json": terminal.hang_schema,
    "operators json": terminal.operators_schema,
    "lines json": terminal.lines_schema,
    "ranks json": terminal.ranks_schema,
    "explain json": terminal.explain_schema,
    "compare json": terminal.compare_schema,
    "export tables": terminal.export_tables,
    "mcp json": terminal.mcp_schema,
    "notebook tables": python_api.tables,
    "rooms": rooms.of_package,
}

MARKER = re.compile(r"^<!-- generated: (.+) -->$", re.MULTILINE)


def filled(page: str) -> str:
    """The page with all its markers replaced. KeyError for a name or a card that does not exist."""
    return MARKER.sub(lambda found: _generated(found[1]), page)


def _generated(name: str) -> str:
    if name.startswith("cards "):
        return cards(name.removeprefix("cards "))
    return GENERATED[name]()


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", _fill)
    return {"parallel_read_safe": True}


def _fill(app: Sphinx, page: str, source: list[str]) -> None:
    source[0] = filled(source[0])
