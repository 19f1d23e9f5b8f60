"""Every test that tests/README.md names exists."""

from __future__ import annotations

import re

from tests import PROJECT

PAGE = (PROJECT / "tests" / "README.md").read_text()
_FORMATS = "tests/unit/trace/test_formats.py"
_NAMED = re.compile(r"`(?:(tests/[\w/]+\.py)(?:::(\w+))?|(test_\w+))`")


def test_named_tests_are_there() -> None:
    section = PAGE[PAGE.index("## Formats and findings") : PAGE.index("## Trying it")]
    named = [(file or _FORMATS, name or alone) for file, name, alone in _NAMED.findall(section)]
    assert len(named) > 30
    missing = [
        (file, name)
        for file, name in named
        if not (PROJECT / file).is_file() or not re.search(rf"(?:def|class) {name}\b", (PROJECT / file).read_text())
    ]
    assert missing == []
