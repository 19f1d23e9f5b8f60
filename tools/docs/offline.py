"""Does a built site load anything from another host? `python -m tools.docs.offline FOLDER` names each such place.

Links that a reader may follow are no loads; pictures, scripts, styles, fonts and frames are.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

_HOST = r"""["']?\s*((?:https?:)?//[^"'\s)>]+)"""
_ELEMENTS = rf"<(?:script|img|iframe|source|video|audio|embed|object)\b[^>]*?\s(?:src|data)={_HOST}"
_STYLES = rf"url\({_HOST}|@import\s+{_HOST}"
_CALLS = rf"(?:\bfetch|\bimport|importScripts|\.open)\(\s*{_HOST}|\bfrom\s+{_HOST}|\.src\s*=\s*{_HOST}"

LOADS = {
    ".html": re.compile(rf"{_ELEMENTS}|<link\b[^>]*?\shref={_HOST}|{_STYLES}"),
    ".css": re.compile(_STYLES),
    ".js": re.compile(_CALLS),
}


def loads(folder: Path) -> Iterator[tuple[Path, str]]:
    """(file, address) of everything that a page of the folder fetches from a host when it is shown."""
    for file in sorted(folder.rglob("*")):
        if file.suffix in LOADS:
            for found in LOADS[file.suffix].finditer(file.read_text(errors="replace")):
                yield file, next(filter(None, found.groups()))


def main(folder: Path) -> int:
    found = list(loads(folder))
    for file, address in found:
        print(f"{file.relative_to(folder)} loads {address}", file=sys.stderr)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
