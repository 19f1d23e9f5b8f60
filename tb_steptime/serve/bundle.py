"""The built front end: the entry that TensorBoard imports, and the parts that it loads when a view is opened.

static/index.js                 the entry: all of the first picture
static/parts/NAME-HASH.js       the other views, related ones together, and what several parts share
static/parts/NAME-HASH.woff2    a font
"""

from __future__ import annotations

import functools
import re
from pathlib import Path

import msgspec

STATIC = Path(__file__).resolve().parents[1] / "static"
#: The folder of the parts, in addresses as on disk.
PARTS = "parts"
#: How names of fonts end.
FONT_SUFFIX = ".woff2"

#: Nothing else is served: no folder, no other file.
_PART_NAME = re.compile(r"[A-Za-z0-9_-]{1,100}\.(?:js|woff2)", re.ASCII)


def entry(opening: bytes | None) -> bytes:
    """Returns the script together with the JSON that it would request first, which it finds in `stepInsightsOpening`.

    Another site's page cannot read that JSON: it may not import a module from our origin, and as a plain script the
    file does not run, because of its `export`.
    """
    try:
        program = _program(STATIC, (STATIC / "index.js").stat().st_mtime_ns)
    except OSError:
        return _NOT_BUILT
    if opening is None:
        return program
    return b"%b\nglobalThis.stepInsightsOpening = %b;\n" % (program, msgspec.json.encode(opening.decode()))


@functools.lru_cache(1)
def _program(folder: Path, written_ns: int) -> bytes:
    """Reads the program. It is cached, because each file access may wait for the interpreter while another tab holds
    it. Raises OSError."""
    return (folder / "index.js").read_bytes()


def part(name: str) -> bytes | None:
    """Returns a part of the program; None where there is no such part: a page that was opened before an update requests
    parts of another release."""
    file = STATIC / PARTS / name
    return file.read_bytes() if _PART_NAME.fullmatch(name) and file.is_file() else None


def report_program() -> bytes | None:
    file = STATIC / "report.js"
    return file.read_bytes() if file.is_file() else None


#: What a source checkout shows before its front end was built.
_NOT_BUILT = b"""\
export function render() {
  const message = document.createElement("p");
  message.style.cssText = "font: 16px/1.5 system-ui, sans-serif; margin: 48px; max-width: 40em";
  message.textContent =
    "Step Insights is installed without its front end. In the source folder, run `make demo` or `pip install .`, " +
    "which build it, and reload this page.";
  document.body.append(message);
}
"""
